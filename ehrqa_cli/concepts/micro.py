"""Microbiology: specimens, tests, organisms, and the antibiotics they were tested against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ehrqa_cli.concepts.groups import Group, concepts, group, holds, with_labels
from ehrqa_cli.concepts.names import fold, table
from ehrqa_cli.contracts.concepts import Concept, Item

_SOURCE = "concepts/data/micro.tsv"
_COLUMNS = {
    "spec_type_desc": "specimen",
    "test_name": "mtest",
    "org_name": "organism",
    "ab_name": "antibiotic",
}


def resolve(items: Sequence[Item]) -> list[Concept]:
    """What microbiology has in a record, and what is known and does not occur there.

    A phrase for a specimen and for a test ("wound culture") stays with the first that occurs.
    """
    found: list[Concept] = []
    for kind in _COLUMNS.values():
        mine = [item for item in items if _kind(item) == kind]
        groups = _groups(kind)
        direct = {name: holds(group_, mine) for name, group_ in groups.items()}
        made = _narrowed(concepts(kind, groups, direct, _SOURCE))
        found += _shortened(with_labels(kind, made, mine))
    return [concept for concept in _told_apart(found) if concept.phrases]


def is_organism(name: str) -> bool:
    """Does ``name``, in the column of organisms, name one? "CANCELLED" and "POSITIVE" do not."""
    item = Item("microbiologyevents", "org_name", name, name)
    return not any(holds(group_, [item]) for group_ in _groups("status").values())


def _kind(item: Item) -> str:
    kind = _COLUMNS.get(item.column, "") if item.table == "microbiologyevents" else ""
    return kind if kind != "organism" or is_organism(item.name) else ""


@lru_cache(maxsize=8)
def _groups(kind: str) -> dict[str, Group]:
    return {fields[0]: group(*fields) for own, *fields in table("micro.tsv", 5) if own == kind}


def _narrowed(made: list[Concept]) -> list[Concept]:
    """Concepts without those phrases that are the whole name of some, but not all, of their items:
    "fusobacterium nucleatum" is not every fusobacterium."""
    found = []
    for concept in made:
        names = {fold(item.name) for item in concept.items}
        keep = [
            phrase
            for phrase in concept.phrases
            if phrase == concept.name or phrase not in names or len(names) == 1
        ]
        found.append(replace(concept, phrases=tuple(keep)))
    return found


def _shortened(made: list[Concept]) -> list[Concept]:
    """Organisms by their own names, with "p stuartii" for "providencia stuartii"."""
    claimed = {phrase for concept in made for phrase in concept.phrases}
    found = []
    for concept in made:
        words = concept.name.split()
        if concept.kind == "organism" and not concept.source and len(words) == 2:
            short = f"{words[0][0]} {words[1]}"
            if short not in claimed and not words[1].startswith("sp"):
                concept = replace(concept, phrases=(*concept.phrases, short))
        found.append(concept)
    return found


def _told_apart(found: list[Concept]) -> list[Concept]:
    """Concepts of which a specimen and a test share no phrase."""
    owners: dict[str, Concept] = {}
    for concept in sorted(found, key=lambda concept: not concept.items):
        if concept.kind in ("specimen", "mtest"):
            for phrase in concept.phrases:
                owners.setdefault(phrase, concept)
    return [
        replace(
            concept, phrases=tuple(p for p in concept.phrases if owners.get(p, concept) is concept)
        )
        if concept.kind in ("specimen", "mtest")
        else concept
        for concept in found
    ]
