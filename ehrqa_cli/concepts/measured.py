"""Vital signs and other charted values, outputs, and intake by kind of fluid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from ehrqa_cli.concepts.groups import PAREN, Group, concepts, group, holds, with_labels
from ehrqa_cli.concepts.lab_names import read
from ehrqa_cli.concepts.names import fold, key, table, unique
from ehrqa_cli.contracts.concepts import Concept, Item

_TABLES = {
    "chartevents": "vital",
    "omr": "vital",
    "outputevents": "output",
    "inputevents": "intake",
}
_FILES = {"vital": "vitals.tsv", "output": "outputs.tsv", "intake": "intake.tsv"}
_EVERYTHING = "total intake"  # drugs that are recorded in ml are in it, and in no other group


def resolve(items: Sequence[Item]) -> list[Concept]:
    """Vital signs, outputs and intake of a record; without items what does not occur there."""
    found: list[Concept] = []
    for kind, file in _FILES.items():
        mine = [item for item in items if _kind(item) == kind]
        groups = _groups(kind)
        taken = _named if kind == "vital" else holds
        direct = {name: taken(group_, mine) for name, group_ in groups.items()}
        made = concepts(kind, groups, direct, f"concepts/data/{file}")
        if kind == "intake":  # what is no fluid, blood or food is a drug
            mine = list(
                dict.fromkeys(
                    item for name, held in direct.items() if name != _EVERYTHING for item in held
                )
            )
        found += [_charted(concept) for concept in with_labels(kind, made, mine)]
    return found


def takes(item: Item) -> bool:
    """Is this item of the laboratory's table a vital sign, as OMOP's measurements can be?"""
    return item.table == "labevents" and _kind(item) == "vital"


def _charted(concept: Concept) -> Concept:
    """``concept``; if it is a laboratory's value in the chart, as such: "charted hemoglobin"."""
    labs = [item for item in concept.items if item.table == "chartevents" and _is_lab(item)]
    if concept.source or not labs:
        return concept
    name, *others = (f"charted {phrase}" for phrase in (concept.name, *concept.phrases))
    return replace(concept, name=name, phrases=unique(others))


def _is_lab(item: Item) -> bool:
    place = fold(item.category)
    return (not place or "lab" in place) and bool(read(item)[0])


def _kind(item: Item) -> str:
    if item.table == "labevents":
        bare = not item.specimen.strip() and not item.category.strip()
        return "vital" if bare and _group_of(item.name) else ""
    return _TABLES.get(item.table, "")


@lru_cache(maxsize=4)
def _groups(kind: str) -> dict[str, Group]:
    return {record[0]: group(*record) for record in table(_FILES[kind], 4)}


def _named(group_: Group, items: Iterable[Item]) -> list[Item]:
    return [item for item in items if _group_of(item.name) == group_.name]


def _group_of(name: str) -> str:
    """The vital sign that is called so: by the whole name, or else that without brackets."""
    keys = _vital_keys()
    return keys.get(key(name)) or keys.get(key(PAREN.sub(" ", name))) or ""


@lru_cache(maxsize=1)
def _vital_keys() -> dict[frozenset[str], str]:
    """Vital signs by the words of their labels, and of their phrases where those are no label."""
    groups = _groups("vital").values()
    labels = [(label, group_.name) for group_ in groups for label in group_.labels]
    labels += [(phrase, group_.name) for group_ in groups for phrase in group_.phrases]
    return {key(label): name for label, name in reversed(labels)}
