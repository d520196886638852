"""Exact matching of whole values: any case, any spacing, a plural s, at word boundaries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ehrqa_cli.text2sql.linking.tokens import Token, key

# A database of wards and routes has no plurals: "medicines" is not the ward "medicine".
_NO_PLURAL = frozenset(
    {"careunit", "route", "admloc", "admtype", "dischloc", "insurance", "language", "marital"}
)
# No plural is looked for below this length: "as" is not two of "a".
_PLURAL_LETTERS = 4


@dataclass(frozen=True)
class Match:
    """Tokens ``[first, last)`` read as ``values``: type to the database's spelling."""

    first: int
    last: int
    values: dict[str, str]
    how: str = "exact"
    quality: float = 1.0


class StringMatcher:
    """All values, by their tokens; finds every occurrence of every length."""

    def __init__(self, entries: Iterable[tuple[str, str, str]]) -> None:
        """``entries`` are (type, text to find, value); the first value of a text and type stays."""
        self._values: dict[str, dict[str, str]] = {}
        lengths: dict[str, set[int]] = {}
        for kind, text, value in entries:
            joined = key(text)
            if not any(c.isalnum() for c in joined):
                continue
            tokens = joined.split(" ")
            self._values.setdefault(joined, {}).setdefault(kind, value)
            lengths.setdefault(tokens[0], set()).add(len(tokens))
        self._lengths = {first: tuple(sorted(found)) for first, found in lengths.items()}

    def __len__(self) -> int:
        return len(self._values)

    def lookup(self, text: str) -> dict[str, str]:
        """The values spelt exactly like ``text`` (type to value), empty where there are none."""
        return self._values.get(key(text), {})

    def find(self, tokens: list[Token]) -> list[Match]:
        """Every occurrence, overlapping ones too."""
        words = [token.text for token in tokens]
        found = []
        for first, word in enumerate(words):
            for length in self._lengths_from(word):
                last = first + length
                if last > len(words):
                    break
                values = self._at(words, first, last)
                if values:
                    found.append(Match(first, last, values))
        return found

    def _lengths_from(self, word: str) -> tuple[int, ...]:
        lengths = self._lengths.get(word, ())
        if not lengths:
            for stem in singulars(word):
                # a one-word value in the plural: only that length can follow from the stem
                if 1 in self._lengths.get(stem, ()):
                    return (1,)
        return lengths

    def _at(self, words: list[str], first: int, last: int) -> dict[str, str] | None:
        values = self._values.get(" ".join(words[first:last]))
        if values is None:
            head = words[first : last - 1]
            for stem in singulars(words[last - 1]):
                values = self._values.get(" ".join([*head, stem]))
                if values is not None:
                    return {k: v for k, v in values.items() if k not in _NO_PLURAL}
        return values


def singulars(word: str) -> tuple[str, ...]:
    """What a word may be the plural of."""
    if len(word) < _PLURAL_LETTERS or not word.endswith("s") or word.endswith("ss"):
        return ()
    if word.endswith("ies"):
        return (word[:-1], word[:-3] + "y")
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        return (word[:-1], word[:-2])
    return (word[:-1],)
