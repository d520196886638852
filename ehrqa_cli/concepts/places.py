"""Places and what an admission says of a person: discharged home, any ICU, left against advice.

A concept is a line of data/places.tsv and the values of its column that the line's words fit. A
value that no line has to itself is a concept of its own, by its own name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ehrqa_cli.concepts.names import lists, table
from ehrqa_cli.concepts.namewords import names_fit, plain
from ehrqa_cli.contracts.concepts import Concept, Item

COLUMNS = {
    "discharge_location": "dischloc",
    "admission_location": "admloc",
    "admission_type": "admtype",
    "careunit": "careunit",
    "first_careunit": "careunit",
    "last_careunit": "careunit",
    "curr_service": "service",
    "prev_service": "service",
    "insurance": "insurance",
    "marital_status": "marital",
    "language": "language",
    "race": "race",
    "route": "route",
    "ethnicity": "race",
}
_DATA = "places.tsv"
_FIELDS = 4
_SHOWN = 6  # values that a definition tells
_BRACKETS = re.compile(r"\(([^)]*)\)")
_PARTS = re.compile(r" - |/")  # of a race: HISPANIC/LATINO - CUBAN


class Rule(NamedTuple):
    """A line of the table."""

    kind: str
    name: str
    phrases: tuple[str, ...]
    values: tuple[str, ...]


def resolve(items: Sequence[Item]) -> list[Concept]:
    """The places and the like that people ask for, and every value that occurs by its own name."""
    by_kind: dict[str, list[Item]] = {}
    for item in items:
        if item.column in COLUMNS:
            by_kind.setdefault(COLUMNS[item.column], []).append(item)
    ruled = [_concept(rule, by_kind.get(rule.kind, ())) for rule in _rules()]
    return ruled + [own for kind in by_kind for own in _values(kind, by_kind[kind], ruled)]


def _concept(rule: Rule, items: Iterable[Item]) -> Concept:
    members = [item for item in items if names_fit(rule.values, f" {plain(_text(item))} ")]
    members.sort(key=lambda item: (-item.rows, item.column, str(item.code)))
    return Concept(
        kind=rule.kind,
        name=rule.name,
        phrases=(rule.name, *rule.phrases),
        items=tuple(members),
        about=_about(members),
        source=f"concepts/data/{_DATA}",
    )


def _text(item: Item) -> str:
    return item.name or str(item.code)


def _about(members: Iterable[Item]) -> str:
    texts = list(dict.fromkeys(_text(item) for item in members))
    more = f", and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _values(kind: str, items: Iterable[Item], ruled: Iterable[Concept]) -> Iterator[Concept]:
    """The values by names that no rule has; not by its whole name where a rule means it alone."""
    same_kind = [concept for concept in ruled if concept.kind == kind]
    known = {phrase for concept in same_kind for phrase in concept.phrases}
    alone = [{plain(_text(item)) for item in concept.items} for concept in same_kind]
    known |= {name for names in alone if len(names) == 1 for name in names}
    of_value: dict[str, list[Item]] = {}
    for item in items:
        of_value.setdefault(plain(_text(item)), []).append(item)
    for value, members in of_value.items():
        phrases = [name for name in _called(kind, _text(members[0])) if name not in known]
        if phrases:
            about = _about(members)
            yield Concept(kind, value, tuple(phrases), tuple(members), about, "this record")


def _called(kind: str, text: str) -> Iterator[str]:
    """A value's own names: all of it, its short form in brackets, the last part of a race."""
    names = [text, *_BRACKETS.findall(text)]
    if kind == "race" and _PARTS.search(text):
        names.append(_PARTS.split(text)[-1])
    return filter(None, map(plain, names))


@cache
def _rules() -> tuple[Rule, ...]:
    rows = table(_DATA, _FIELDS)
    return tuple(Rule(row[0], row[1], lists(row[2]), lists(row[3])) for row in rows)
