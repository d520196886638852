"""Groups of items by words of their names, from a table of this room."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ehrqa_cli.concepts.names import fold, key, lists, unique
from ehrqa_cli.contracts.concepts import Concept, Item

_ORDINALS = {"1": "first", "2": "second", "3": "third", "4": "fourth"}
_SIDES = {"r": "right", "l": "left"}
PAREN = re.compile(r"\([^()]*\)")
_STRENGTH = re.compile(r"\((?:full|\d/\d)\)", re.I)  # of a feed


@dataclass(frozen=True)
class Group:
    """A record of a table: what people call it, words of its members' names, and its parts."""

    name: str
    phrases: tuple[str, ...]
    labels: tuple[str, ...]
    parts: tuple[str, ...]
    several: bool = False  # its parts measure different things


def group(name: str, phrases: str, labels: str, made: str) -> Group:
    """The fields of a record, read."""
    how, _, parts = made.partition(":")
    return Group(name, (name, *lists(phrases)), lists(labels), lists(parts), how == "all")


def holds(group_: Group, items: Iterable[Item]) -> list[Item]:
    """The items that a label of the group takes."""
    tests = [_test(label) for label in group_.labels]
    return [item for item in items if any(test(item) for test in tests)]


def concepts(
    kind: str, groups: Mapping[str, Group], direct: Mapping[str, list[Item]], source: str
) -> list[Concept]:
    """A concept for each group, with the items that ``direct`` gives it and those of its parts."""
    return [
        Concept(
            kind,
            name,
            unique(group_.phrases),
            _members(name, groups, direct),
            " + ".join(group_.parts) or name,
            source,
            several=group_.several,
        )
        for name, group_ in groups.items()
    ]


def with_labels(kind: str, made: Sequence[Concept], items: Sequence[Item]) -> list[Concept]:
    """``made``, and a concept for each name of ``items`` that is a phrase of none of them.

    A name whose items are just those of a concept becomes a phrase of that one.
    """
    claimed = {phrase for concept in made for phrase in concept.phrases}
    names: dict[str, list[Item]] = {}
    for item in items:
        name = fold(_STRENGTH.sub(" ", item.name))
        if name and name not in claimed:
            names.setdefault(name, []).append(item)
    found = list(made)
    places = {frozenset(concept.items): place for place, concept in reversed(list(enumerate(made)))}
    for name, members in names.items():
        labels = [item.name for item in members if "/" not in item.name]
        phrases = unique([name, *labels, *_spellings(members[0].name)])
        mine = tuple(phrase for phrase in phrases if phrase not in claimed)
        place = places.get(frozenset(members))
        if place is None:
            found.append(Concept(kind, name, mine, tuple(members), "by its own name"))
        else:
            found[place] = replace(found[place], phrases=(*found[place].phrases, *mine))
    return found


def _members(
    name: str, groups: Mapping[str, Group], direct: Mapping[str, list[Item]]
) -> tuple[Item, ...]:
    items = list(direct[name])
    for part in groups[name].parts:
        items += _members(part, groups, direct)
    return tuple(dict.fromkeys(sorted(items, key=lambda item: (-item.rows, str(item.code)))))


@lru_cache(maxsize=2048)
def _test(label: str) -> Callable[[Item], bool]:
    unit = label.removeprefix("unit:")
    if label == "*":
        return lambda item: True
    if unit != label:
        return lambda item: fold(item.unit) in ("", unit)
    if label.startswith("="):
        whole = key(label[1:])
        return lambda item: key(item.name) == whole
    words = label.split()
    wanted = key(" ".join(word for word in words if not word.startswith("-")))
    barred = key(" ".join(word[1:] for word in words if word.startswith("-")))
    return lambda item: wanted <= key(item.name) and not barred & key(item.name)


def _spellings(label: str) -> list[str]:
    """Other ways to say a label: "first chest tube", "right nephrostomy", "jevity 1 5"."""
    words = fold(_STRENGTH.sub(" ", label)).split()
    said = [" ".join(words)]
    if len(words) > 1 and words[0] in _SIDES and len(words[1]) > 1:
        said.append(" ".join([_SIDES[words[0]], *words[1:]]))
    if words and "#" in label and words[-1] in _ORDINALS:
        said.append(" ".join([_ORDINALS[words[-1]], *words[:-1]]))
    return said
