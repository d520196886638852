"""Synonyms and abbreviations of clinical language: what else a question's words may be called.

The list is data, in ``terms.txt``, whose head says how a line is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("terms.txt")
_WORD = re.compile(r"[^\W_]+")
_LONGEST = 6  # words of a phrase
SAME, KIND, AMBIGUOUS = (
    0.8,
    0.6,
    0.4,
)  # how much a line with another name counts (1: the word itself)


@dataclass(frozen=True)
class Concept:
    """``same`` are names of one thing, ``kinds`` names of what it may be; all in `words` form."""

    same: tuple[str, ...]
    kinds: tuple[str, ...]


def words(text: str) -> list[str]:
    """The words of ``text`` in lower case, without punctuation: "s/p" is "s", "p"."""
    return _WORD.findall(text.lower())


def singular(word: str) -> str:
    """``word`` without the ending of a plural, if it seems to have one."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def names_of(phrase: str) -> dict[str, float]:
    """What ``phrase`` (in `words` form) may be called, each with its weight; itself has 1."""
    found = {phrase: 1.0}
    concepts = _by_name().get(_key(phrase), ())
    for concept in concepts:
        sure = len(concepts) == 1
        for name in concept.same:
            unsure = not sure or len(_by_name()[_key(name)]) > 1
            found[name] = max(found.get(name, 0.0), AMBIGUOUS if unsure else SAME)
        for name in concept.kinds:
            found[name] = max(found.get(name, 0.0), KIND if sure else AMBIGUOUS)
    return found


def phrases(text: list[str]) -> Iterator[tuple[int, int]]:
    """The longest known phrases of ``text`` from the left, as (start, end); else single words."""
    at = 0
    while at < len(text):
        size = next(
            (n for n in range(min(_LONGEST, len(text) - at), 1, -1) if known(text[at : at + n])), 1
        )
        yield at, at + size
        at += size


def known(text: list[str]) -> bool:
    """Is this phrase in the list, whatever its plurals?"""
    return _key(" ".join(text)) in _by_name()


def _key(phrase: str) -> str:
    return " ".join(map(singular, phrase.split()))


@cache
def _by_name() -> dict[str, tuple[Concept, ...]]:
    found: dict[str, tuple[Concept, ...]] = {}
    for concept in concepts():
        for name in dict.fromkeys(map(_key, concept.same)):
            found[name] = (*found.get(name, ()), concept)
    return found


@cache
def concepts() -> tuple[Concept, ...]:
    """All lines of the list."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return tuple(_read(line) for line in lines if line and line[0] not in "#[")


def _read(line: str) -> Concept:
    left, _, right = line.partition(" > ")
    return Concept(_names(left), _names(right))


def _names(text: str) -> tuple[str, ...]:
    return tuple(" ".join(words(name)) for name in text.split(" | ") if words(name))
