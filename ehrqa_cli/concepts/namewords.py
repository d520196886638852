"""Which names a line of words means: the small language of procedures.tsv and places.tsv.

``chest tube & !remov*``: the words stand in the name in this order, ``*`` ends a word that may go
on, ``&`` joins what must be there, ``!`` is what must not, ``=`` stands before a whole name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+")
_START = 3  # letters that a word with "*" has at least


def plain(text: str) -> str:
    """The words of ``text`` in lower case, parted by single blanks: chest tube 1."""
    return " ".join(_WORD.findall(text.lower()))


class Words(NamedTuple):
    """Pieces of text that a name must have and must not have, blanks at both of its ends."""

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]

    def fit(self, name: str) -> bool:
        """Whether a name fits: plain, with a blank before and after it."""
        return all(w in name for w in self.wanted) and not any(w in name for w in self.unwanted)


@cache
def _words(line: str) -> Words | str:
    """What a line asks for; of a whole name just that, with blanks at its ends."""
    if line.startswith("="):
        return f" {line[1:]} "
    parts = [part.strip() for part in line.split("&")]
    wanted = [_piece(part) for part in parts if not part.startswith("!")]
    return Words(tuple(wanted), tuple(_piece(part[1:]) for part in parts if part[0] == "!"))


def _piece(part: str) -> str:
    return f" {part[:-1]}" if part.endswith("*") else f" {part} "


def names_fit(lines: Sequence[str], name: str) -> bool:
    """Whether any of ``lines`` fits ``name``, which is plain with a blank before and after it."""
    for line in lines:
        words = _words(line)
        if name == words if isinstance(words, str) else words.fit(name):
            return True
    return False


class NameIndex:
    """Many lines, of which only those are tried whose first word a name has."""

    def __init__(self, lines: Iterable[tuple[str, str]]) -> None:
        """``lines`` are pairs of an owner and what its names are made of."""
        self._by_word: dict[str, list[tuple[str, str]]] = {}
        for owner, line in lines:
            first, *more = line.lstrip("=").split(" & ")[0].split()
            start = first[:_START] + "*" if first.endswith("*") and not more else first
            self._by_word.setdefault(start, []).append((owner, line))

    def owners(self, text: str) -> set[str]:
        """The owners of the lines that a name fits."""
        name = plain(text)
        words = set(name.split())
        keys = words | {f"{word[:_START]}*" for word in words}
        return {
            owner
            for key in keys & self._by_word.keys()
            for owner, line in self._by_word[key]
            if names_fit((line,), f" {name} ")
        }
