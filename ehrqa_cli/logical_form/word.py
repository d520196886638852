"""What is known of a word of the logical form, and how the tables in words/ are read.

Everything about a word stands in its one entry there: where it may stand, its English, its rule of
normalise.py and what writes its SQL.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

_FOLDER = Path(__file__).parent / "words"
# Fields that hold several names, and those of them that hold kinds or classes of kinds.
_LISTS = frozenset({"args", "slots", "counts"})
_OF_KINDS = frozenset({"kinds", "columns", "groups", "inner"})


@dataclass(frozen=True)
class Word:
    """What every word may have; words/filters.toml says what each field means."""

    says: str = ""
    sql: str = ""
    part: str = ""
    of_kind: str = ""


@dataclass(frozen=True)
class EventKind(Word):
    """A kind of event: the type of its item (None: it has none) and whether one must be given."""

    item: str | None = None
    required: bool = False
    noun: str = ""
    several: str = ""
    named: str = "name of"
    sentence: str = ""


@dataclass(frozen=True)
class Head(Word):
    """What is asked: kinds it goes with, slots of its arguments, and what may follow it."""

    kinds: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    order: bool = False
    extreme: bool = False
    per: str = ""
    hours: bool = False
    nth: bool = False
    column: str = ""
    columns: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    shown: str = ""
    measure: str = ""
    how: str = ""
    normal: str = ""
    of_item: bool = False
    evidence: bool = True
    impersonal: bool = False


@dataclass(frozen=True)
class FilterSpec(Word):
    """A filter: kinds that may have it, slots of its arguments, and what may follow it."""

    kinds: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()
    event: bool = False
    inner: tuple[str, ...] = ()
    window: str = ""
    query: bool = False
    other: bool = False
    which: bool = False
    finding: bool = False
    at: bool = False
    many: bool = False
    having: bool = False
    fixes: str = ""


@dataclass(frozen=True)
class Particle(Word):
    """Any other word; its ``sql`` is SQL itself."""

    by_group: str = ""
    column: str = ""
    groups: tuple[str, ...] = ()
    shown: str = ""
    offset: int = 0
    way: str = "ASC"
    answers: tuple[int, ...] = ()


W = TypeVar("W", bound=Word)


def read(name: str) -> dict[str, Any]:
    """The table of this name as it stands in its file."""
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def expand(text: str, classes: Mapping[str, str]) -> tuple[str, ...]:
    """The kinds of a list of kinds and classes of kinds."""
    kinds: list[str] = []
    for name in text.split():
        kinds += expand(classes[name], classes) if name in classes else [name]
    return tuple(kinds)


def entries(kind: type[W], raw: Mapping[str, Any], classes: Mapping[str, str]) -> dict[str, W]:
    """The entries of a table, in its order; ``like`` takes over the fields of another entry."""

    def value(field: str, given: Any) -> Any:
        if field in _OF_KINDS:
            return expand(given, classes)
        return tuple(given.split()) if field in _LISTS else given

    found = {}
    for name, own in raw.items():
        fields = {**raw.get(own.get("like", ""), {}), **own}
        fields.pop("like", None)
        if isinstance(fields.get("answers"), list):
            fields["answers"] = tuple(fields["answers"])
        found[name] = kind(**{field: value(field, given) for field, given in fields.items()})
    return found
