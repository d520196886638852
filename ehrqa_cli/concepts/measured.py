"""Vital signs and other charted values, outputs, and intake by kind of fluid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ehrqa_cli.concepts.names import fold, key, lists, table, unique
from ehrqa_cli.contracts.concepts import Concept, Item

_TABLES = {
    "chartevents": "vital",
    "omr": "vital",
    "outputevents": "output",
    "inputevents": "intake",
}
_FILES = {"vital": "vitals.tsv", "output": "outputs.tsv", "intake": "intake.tsv"}
_ORDINALS = {"1": "first", "2": "second", "3": "third", "4": "fourth"}
_SIDES = {"r": "right", "l": "left"}
_PAREN = re.compile(r"\([^()]*\)")


@dataclass(frozen=True)
class _Group:
    """A record of vitals.tsv, outputs.tsv or intake.tsv; see their heads."""

    name: str
    phrases: tuple[str, ...]
    labels: tuple[str, ...]
    parts: tuple[str, ...]


def resolve(items: Sequence[Item]) -> list[Concept]:
    """Vital signs, outputs and intake of a record, and those that are known and do not occur there."""
    found: list[Concept] = []
    for kind, holds in (("vital", _named), ("output", _has_words), ("intake", _has_words)):
        mine = [item for item in items if _kind(item) == kind]
        groups = _groups(kind)
        direct = {name: holds(group, mine) for name, group in groups.items()}
        concepts = [_concept(kind, group, _members(name, groups, direct), kind)
                    for name, group in groups.items()]  # fmt: skip
        claimed = {phrase for concept in concepts for phrase in concept.phrases}
        grouped = {item for members in direct.values() for item in members}
        if kind == "intake":  # what is no fluid, blood or food is a drug
            named = {item for concept in concepts[:-1] for item in concept.items}
            mine = [item for item in mine if item in grouped & named]
        found += concepts + _by_label(kind, mine, claimed)
    return found


def takes(item: Item) -> bool:
    """Is this item of the laboratory's table a vital sign, as OMOP's measurements can be?"""
    return item.table == "labevents" and _kind(item) == "vital"


def _kind(item: Item) -> str:
    if item.table == "labevents":
        bare = not item.specimen.strip() and not item.category.strip()
        return "vital" if bare and _keys_of(item.name) & _vital_keys().keys() else ""
    return _TABLES.get(item.table, "")


@lru_cache(maxsize=4)
def _groups(kind: str) -> dict[str, _Group]:
    return {
        name: _Group(name, (name, *lists(phrases)), lists(labels), lists(made.partition(":")[2]))
        for name, phrases, labels, made in table(_FILES[kind], 4)
    }


def _members(
    name: str, groups: dict[str, _Group], direct: dict[str, list[Item]]
) -> tuple[Item, ...]:
    items = list(direct[name])
    for part in groups[name].parts:
        items += _members(part, groups, direct)
    return tuple(dict.fromkeys(sorted(items, key=lambda item: (-item.rows, str(item.code)))))


def _concept(kind: str, group: _Group, items: tuple[Item, ...], file: str) -> Concept:
    about = " + ".join(group.parts) or group.name
    return Concept(
        kind, group.name, unique(group.phrases), items, about, f"concepts/data/{_FILES[file]}"
    )


@lru_cache(maxsize=1)
def _vital_keys() -> dict[frozenset[str], str]:
    found: dict[frozenset[str], str] = {}
    groups = _groups("vital").values()
    for names in ([group.labels for group in groups], [group.phrases for group in groups]):
        for group, labels in zip(groups, names, strict=True):
            for label in labels:
                found.setdefault(key(label), group.name)
    return found


def _keys_of(name: str) -> set[frozenset[str]]:
    return {key(name), key(_PAREN.sub(" ", name))}


def _named(group: _Group, items: Iterable[Item]) -> list[Item]:
    """Items that are called as the group is: the whole name, or else that without brackets."""
    keys = _vital_keys()
    return [
        item
        for item in items
        if (keys.get(key(item.name)) or keys.get(key(_PAREN.sub(" ", item.name)))) == group.name
    ]


def _has_words(group: _Group, items: Iterable[Item]) -> list[Item]:
    tests = [_test(label) for label in group.labels]
    return [item for item in items if any(test(item) for test in tests)]


@lru_cache(maxsize=512)
def _test(label: str) -> Callable[[Item], bool]:
    unit = label.removeprefix("unit:")
    if label == "*":
        return lambda item: True
    if unit != label:
        return lambda item: fold(item.unit) in ("", unit)
    words = label.split()
    wanted = key(" ".join(word for word in words if not word.startswith("-")))
    barred = key(" ".join(word[1:] for word in words if word.startswith("-")))
    return lambda item: wanted <= key(item.name) and not barred & key(item.name)


def _by_label(kind: str, items: Sequence[Item], claimed: set[str]) -> list[Concept]:
    """A concept for each name that none of the tables has as a phrase."""
    names: dict[str, list[Item]] = {}
    for item in items:
        if fold(item.name) not in claimed:
            names.setdefault(fold(item.name), []).append(item)
    found = []
    for name, members in names.items():
        phrases = [name, *_spellings(members[0].name)]
        mine = unique([phrase for phrase in phrases if fold(phrase) not in claimed])
        found.append(Concept(kind, name, mine, tuple(members), "by its own name"))
    return found


def _spellings(label: str) -> list[str]:
    """Other ways to say a label: "first chest tube", "right nephrostomy", "jevity 1.5"."""
    words = fold(_PAREN.sub(" ", label)).replace("# ", "").split()
    said = [" ".join(words)]
    if words and words[0] in _SIDES:
        said.append(" ".join([_SIDES[words[0]], *words[1:]]))
    if "#" in label and words[-1] in _ORDINALS:
        said.append(" ".join([_ORDINALS[words[-1]], *words[:-1]]))
    return said
