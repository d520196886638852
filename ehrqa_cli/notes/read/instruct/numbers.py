"""Which tokens may come next while the model cites: existing line numbers and nothing else.

The numbers as the model's own tokenizer writes them make a trie, so that a tokenizer that has
tokens of several digits is served as well as one that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field


@dataclass
class _Node:
    next: dict[int, _Node] = field(default_factory=dict)
    number: int | None = None


class Numbers:
    """The numbers that may be cited; `cited` ones may not be cited again."""

    def __init__(self, numbers: Iterable[int], tokenize: Callable[[str], list[int]]) -> None:
        self._root = _Node()
        self.ids = {number: tokenize(str(number)) for number in numbers}
        for number, ids in self.ids.items():
            node = self._root
            for token in ids:
                node = node.next.setdefault(token, _Node())
            node.number = number
        self._cited: set[int] = set()

    def cite(self, ids: Sequence[int]) -> int:
        """Take the number whose tokens are ``ids`` out, and return it."""
        number = self._at(ids).number
        assert number is not None, "only `allowed` tokens are written"
        self._cited.add(number)
        return number

    def allowed(self, ids: Sequence[int]) -> list[int]:
        """The tokens that may follow ``ids``, the beginning of a number."""
        return [token for token, node in self._at(ids).next.items() if self._leads(node)]

    def complete(self, ids: Sequence[int]) -> bool:
        """Are ``ids`` a number that may be cited?"""
        number = self._at(ids).number
        return number is not None and number not in self._cited

    def _at(self, ids: Sequence[int]) -> _Node:
        node = self._root
        for token in ids:
            node = node.next[token]
        return node

    def _leads(self, node: _Node) -> bool:
        """Does a number that may be cited begin so?"""
        fresh = node.number is not None and node.number not in self._cited
        return fresh or any(self._leads(child) for child in node.next.values())
