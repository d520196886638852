"""What a drug, a test or a diagnosis may be called in a note, and where a line names it."""

from __future__ import annotations

import re
from functools import lru_cache

from ehrqa_cli.engine.mixed.types import ComparedKind, Mixed
from ehrqa_cli.notes.find import terms
from ehrqa_cli.text2sql.linking import synonyms
from ehrqa_cli.text2sql.linking.aliases import aliases, words

_TYPE = {ComparedKind.MEDICATION: "drug", ComparedKind.LAB: "lab", ComparedKind.DIAGNOSIS: "dx"}
_DEAREST = 2  # what a shorter name of the database's own may leave out
_SHORT = 4  # letters of a word that is only found as it is


def names_of(mixed: Mixed) -> tuple[str, ...]:
    """Its names as words joined by spaces: the question's, the database's and their synonyms."""
    return _names(mixed.kind, mixed.subject, mixed.value)


@lru_cache(maxsize=64)
def _names(kind: ComparedKind, subject: str, value: str | None) -> tuple[str, ...]:
    said = " ".join(words(subject))
    found = {said: None}
    if value is not None:
        for alias, cost in aliases(_TYPE[kind], value):
            if cost <= _DEAREST:
                found[alias] = None
    for concept in synonyms.concepts():
        if concept.kind == _TYPE[kind] and _means(concept, found, value):
            found.update(dict.fromkeys(concept.phrases))
    for name in list(found):
        same = terms.names_of(" ".join(terms.words(name)))
        found.update(dict.fromkeys(n for n, weight in same.items() if weight >= terms.SAME))
    return tuple(
        name for name in found if len(name) > 1 or name == said or kind is ComparedKind.LAB
    )


def _means(concept: synonyms.Concept, names: dict[str, None], value: str | None) -> bool:
    """Is this concept what is asked about?"""
    targets = {target for group in concept.targets for target in group}
    whole = {*names, " ".join(words(value or ""))}
    return bool(targets & whole)


def find_name(text: str, names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where ``text`` has one of ``names``, the longest at each place, from left to right."""
    found = [match.span() for match in _pattern(names).finditer(text)]
    # "K" is potassium, "k" is a thousand.
    return [(a, b) for a, b in found if b - a > 1 or text[a:b].isupper()]


def same_words(title: str, names: tuple[str, ...]) -> bool:
    """Has ``title`` (a string of the database) every word of one of ``names``, and no denial?"""
    own = set(words(title))
    if own & {"without", "no", "not", "family", "personal"}:
        return False
    told = [set(words(name)) for name in names if len(name) > _SHORT]
    return any(name and name <= own for name in told)


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    ordered = sorted(names, key=len, reverse=True)
    body = "|".join(r"[\W_]{1,3}".join(map(_word, name.split())) for name in ordered)
    return re.compile(rf"(?<![^\W_])(?:{body})(?![^\W_])", re.I)


def _word(word: str) -> str:
    return re.escape(word) + (r"(?:e?s)?" if len(word) > _SHORT else "")
