"""The columns of a table, made from those of its file as schema.toml says.

A column is a mapping from a field of the file to its value, which fills itself: ``map(getitem,
mappings, fields)`` then makes a row without a line of Python being run for a value seen before.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from operator import getitem
from pathlib import Path
from typing import Any

from ehrqa_cli.ehr.mimic.files import BadField, BadRow
from ehrqa_cli.ehr.mimic.files import Fields as Row
from ehrqa_cli.ehr.mimic.values import TIME, Dates, Filling, lower_text, moment, plain_text
from ehrqa_cli.ehr.schema import TIME_TYPE, Column, EhrTable

_NUMBER = re.compile(r"\s*(-?\d+(?:\.\d*)?|-?\.\d+)(?:\s*/\s*(\d+(?:\.\d*)?))?")
_LARGEST = 2**63
_DOSE = re.compile(r"\d*\.?\d+|\d+\.")
_OF = re.compile(r"(number|second number|unit|dose|label) of (\w+)")
_TWO = re.compile(r"(?:(code|least|most) of )?(\w+) (or|without|and) (\w+)")
_BOUNDS = {
    "least": re.compile(
        r"\s*(?:>=?|(?:greater|more) than(?: or equal to)?)\s*(\d+(?:\.\d+)?)", re.I
    ),
    "most": re.compile(r"\s*(?:<=?|less than(?: or equal to)?)\s*(\d+(?:\.\d+)?)", re.I),
}
_VISIT, _NOWHERE, _MADE = "admittime of the visit", ("none in MIMIC-IV", " of the parent"), "made "


@cache
def release() -> Mapping[str, Any]:
    """What release.toml says."""
    path = Path(__file__).with_name("release.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _whole(text: str) -> int | None:
    value = int(text) if text else None
    if value is not None and not -_LARGEST <= value < _LARGEST:
        raise ValueError(text)
    return value


def _real(text: str) -> float | None:
    return float(text) if text.strip() else None


def _nothing(text: str) -> None:
    del text


def _needed(make: Callable[[str], Any]) -> Callable[[str], Any]:
    def value(text: str) -> Any:
        made = make(text)
        if made is None:
            raise ValueError(text)
        return made

    return value


def number(text: str) -> float | None:
    """The number that a text begins with: 110 of "110/65", none of ">60"."""
    found = _NUMBER.match(text)
    return float(found[1]) if found else None


def second_number(text: str) -> float | None:
    """The number behind the slash: 65 of "110/65"."""
    found = _NUMBER.match(text)
    return float(found[2]) if found and found[2] else None


def bound(which: str, text: str) -> float | None:
    """The "most" that a result in words can be, 5 of "<5"; the "least", 300 of "> 300"."""
    found = _BOUNDS[which].match(text)
    return float(found[1]) if found else None


def dose_text(text: str) -> str | None:
    """A dose as EHRSQL writes it: ``5`` is "5.0", ``20,000`` is "20000.0"; ranges stay as is."""
    clean = text.strip().lower()
    plain = clean.replace(",", "")
    return str(float(plain)) if _DOSE.fullmatch(plain) else clean or None


def unit_of(text: str) -> str | None:
    """The unit of a result of omr, from its name: "lbs" of "Weight (Lbs)"."""
    name = text.strip().lower()
    for start, unit in release()["omr_units"].items():
        if name.startswith(start):
            return str(unit)
    found = re.search(r"\(([^()]+)\)$", name)
    return found[1] if found else None


def code_of(code: str, version: str) -> str:
    """``icd9|4019``: the code as the EHRSQL schema writes it, unique over both versions."""
    return f"icd{version}|{code.strip()}"


_JOINED: dict[str, Callable[[str, str], str]] = {
    "or": lambda one, other: one or other,
    "without": lambda one, other: "" if other else one,
    "and": code_of,
}


@dataclass
class Makers:
    """What columns are made with. ``now`` is the last time that is known; ``labels`` are the names
    of the items of the ICU, ``admitted`` the admissions' times by hadm_id."""

    lower: bool
    now: str
    labels: dict[str, str | None] = field(default_factory=dict)
    admitted: Callable[[str], str | None] = _nothing

    def mapping(self, column: Column, dates: Dates) -> Filling[Any]:
        """Of fields to the values of a column, for patients with ``dates``."""
        mapping = self._mapping(column, dates)
        made_here = not (column.source.startswith(_MADE) or column.source.endswith(_NOWHERE))
        if column.required and made_here and column.type != TIME_TYPE:
            return Filling(_needed(mapping.make), mapping.wanted)
        return mapping

    def _mapping(self, column: Column, dates: Dates) -> Filling[Any]:
        if column.source == _VISIT:
            return Filling(self.admitted)
        if column.source.startswith(_MADE) or column.source.endswith(_NOWHERE):
            return Filling(_nothing)
        two = _TWO.fullmatch(column.source)
        if two and two[1] in _BOUNDS:
            return Filling(partial(bound, two[1]))
        special = _OF.fullmatch(column.source)
        if special:
            of: dict[str, Callable[[str], Any]] = {
                "number": number, "second number": second_number, "unit": unit_of,
                "dose": dose_text, "label": self.labels.get,
            }  # fmt: skip
            return Filling(of[special[1]])
        if column.type == TIME_TYPE:
            return Filling(self._time(column.name, dates), TIME)
        if column.type == "INT":
            return Filling(_whole, "a whole number")
        if column.type.startswith("DOUBLE"):
            return Filling(_real, "a number")
        return Filling(lower_text if self.lower else plain_text)

    def _time(self, column: str, dates: Dates) -> Callable[[str], str | None]:
        def at(text: str) -> str | None:
            """None: not said, or not yet known."""
            time = moment(dates, text, column) if text else None
            return None if time is None or time > self.now else time

        return at


def of_parent(column: Column) -> bool:
    """Is a column the same as that of the table which this one's rows detail?"""
    return column.source.endswith(" of the parent")


def sources(column: Column) -> tuple[str, ...]:
    """The columns of MIMIC-IV's file that a column is made from."""
    told = column.source
    if column.name == "row_id" or told.endswith(_NOWHERE):
        return ()
    if told == _VISIT:
        return ("hadm_id",)
    if told.startswith(_MADE):
        plain = told.removeprefix(_MADE + "from ").partition(":")[0]
        return tuple(re.split(r", | and ", plain))
    two, of = _TWO.fullmatch(told), _OF.fullmatch(told)
    return (two[2], two[4]) if two else (of[2] if of else told,)


class Made:
    """A table's columns from those of one file.

    ``header`` are the file's columns, lower case. ``table`` is without the columns of ours that
    the file has nothing for. ``columns`` are those to read: one for each of the table but row_id,
    then what else ``values`` needs.
    """

    def __init__(self, table: EhrTable, header: Iterable[str], makers: Makers) -> None:
        have = set(header)
        whole = {c.name for c in table.columns if have.issuperset(sources(c))}
        self.table = table.only(whole)
        self.makers = makers
        self.made = self.table.columns[1:]
        first = next(s for c in self.made for s in sources(c))
        self.columns = tuple(next(iter(sources(c)), first) for c in self.made)
        self.joins: list[tuple[int, Callable[[str, str], str], int]] = []
        for i, column in enumerate(self.made):
            two = _TWO.fullmatch(column.source)
            if two and not column.source.startswith(_MADE):
                self.joins.append((i, _JOINED[two[3]], len(self.columns)))
                self.columns += (two[4],)
        self._fixed: list[Filling[Any]] | None = None
        self._by_days: dict[int, list[Filling[Any]]] = {}

    def at(self, column: str) -> int:
        """Where a column of the table is, in its rows without row_id."""
        return self.table.names().index(column) - 1

    def joined(self, row: Row) -> Sequence[str]:
        """The fields with those that are made of two."""
        fields = list(row)
        for at, join, other in self.joins:
            fields[at] = join(row[at], row[other])
        return fields

    def mappings(self, dates: Dates) -> list[Filling[Any]]:
        """Those of the columns, for patients with these dates; only times differ."""
        found = self._by_days.get(dates.days)
        if found is None:
            fixed = self._fixed or [self.makers.mapping(c, dates) for c in self.made]
            self._fixed = fixed
            found = self._by_days[dates.days] = [
                self.makers.mapping(c, dates) if c.type == TIME_TYPE else kept
                for c, kept in zip(self.made, fixed, strict=True)
            ]
        return found

    def values(self, row: Sequence[str], dates: Dates) -> tuple[Any, ...]:
        """A row of the table without row_id, from joined fields. Raises BadField."""
        try:
            return tuple(map(getitem, self.mappings(dates), row))
        except (ValueError, OverflowError):
            raise self.blame(row, dates) from None

    def blame(self, row: Sequence[str], dates: Dates) -> BadRow:
        """Which field is not what its column holds, after a ValueError."""
        for name, mapping, text in zip(self.columns, self.mappings(dates), row, strict=False):
            try:
                mapping[text]
            except (ValueError, OverflowError):
                if not text.strip():
                    return BadRow(name, "the field is empty")
                return BadField(name, text, mapping.wanted)
        raise AssertionError("no field is at fault")
