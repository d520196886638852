"""The curated synonyms: concepts, what people call them and what databases may call them.

The files under ``synonyms/`` are read once; their README says how a line is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ehrqa_cli.text2sql.linking.aliases import words
from ehrqa_cli.words.lists import sections

_FOLDER = Path(__file__).with_name("synonyms")


@dataclass(frozen=True)
class Concept:
    """One line: ``phrases`` people use, and the names that a database may use.

    ``targets`` are alternatives in order of preference; each is a group of names that are equally
    meant. All names and phrases are words joined by single spaces; a name that ends with ``*``
    stands for every string that begins with it.
    """

    kind: str
    targets: tuple[tuple[str, ...], ...]
    phrases: tuple[str, ...]


@cache
def concepts() -> tuple[Concept, ...]:
    """All lines of all files."""
    return tuple(
        _read(kind, line)
        for path in sorted(_FOLDER.glob("*.txt"))
        if path.stem != "README"
        for kind, lines in sections(path).items()
        for line in lines
    )


def _read(kind: str, line: str) -> Concept:
    left, _, right = line.partition(" = ")
    targets = tuple(
        tuple(_name(part) for part in group.split(" && ")) for group in left.split(" | ")
    )
    return Concept(kind, targets, tuple(_name(phrase) for phrase in right.split(" | ")))


def _name(text: str) -> str:
    star = "*" if text.endswith("*") else ""
    return " ".join(words(text)) + star


@cache
def vocabulary() -> frozenset[str]:
    """Every name and phrase, and every word of them: none of these is a misspelling."""
    known: set[str] = set()
    for concept in concepts():
        names = [name for group in concept.targets for name in group]
        for name in (*names, *concept.phrases):
            known.add(name)
            known.update(name.rstrip("*").split(" "))
    return frozenset(known)
