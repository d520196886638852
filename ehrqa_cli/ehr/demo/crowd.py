"""The demo's patients as arrays, as many as are wanted, for a folder of Parquet.

The first POOL patients are those of the SQLite file, row by row. Each further one is one of them
again, under ids of its own and moved in time by some whole days: what can happen to a patient is
written down in one place (``events``), and a million admissions still take minutes. Times are
seconds since 1970; NEVER is no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from ehrqa_cli.ehr.demo.make import DEMO_TABLES, Row, rows_of
from ehrqa_cli.ehr.demo.people import AS_OF, YEAR_START, Person, people
from ehrqa_cli.ehr.demo.vocabulary import vocabulary
from ehrqa_cli.ehr.schema import TIME_TYPE, EhrTable

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
NEVER = int(np.iinfo(np.int64).min)
MINUTE, DAY = 60, 86_400
POOL = 2_000
_MOVED = 30  # days, at most
_AT_ONCE = 50_000  # rows that are turned into arrays together
# How far apart the ids of two patients are, who follow each other.
_STEPS = {"subject_id": 1, "hadm_id": 10, "stay_id": 10, "transfer_id": 100}
# What is observed again and again, and may be thinned.
_REPEATED = ("labevents", "chartevents", "inputevents", "outputevents")
_ON_ARRIVAL = 40 * MINUTE  # when blood is taken first


@dataclass(frozen=True)
class Coded:
    """A column of texts: ``codes`` into ``names``, -1 for NULL."""

    codes: npt.NDArray[np.int32]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, at: Array) -> Coded:
        return Coded(self.codes[at], self.names)


Column = Array | Coded
Rows = dict[str, Column]


@dataclass(frozen=True)
class Visits:
    """Arrays over visits, a patient's together and in order. ``story`` is an index into the
    vocabulary's; ``until`` is the end, or now."""

    subject_id: Ints
    hadm_id: Ints
    story: Ints
    start: Ints
    until: Ints
    male: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.story)


class Pool:
    """The patients that all others are made of; ``tables`` are the rows of their tables."""

    def __init__(self, seed: int, patients: int) -> None:
        self.seed = seed
        self.people = people(seed, min(patients, POOL))
        made = rows_of(seed, self.people, vocabulary())
        self.tables = {name: _arrays(DEMO_TABLES[name], rows) for name, rows in made}
        self.spans = {name: self._spans(rows["subject_id"]) for name, rows in self.tables.items()}
        moves = np.array([_moves(person) for person in self.people], dtype=np.int64)
        self.earliest, self.latest = moves.T

    def _spans(self, subject_id: Column) -> tuple[Ints, Ints]:
        """(where each patient's rows begin, how many they are)"""
        assert isinstance(subject_id, np.ndarray)
        count = np.bincount(subject_id - self.people[0].subject_id, minlength=len(self.people))
        return np.cumsum(count) - count, count

    @cached_property
    def visits(self) -> Visits:
        """The visits of the pool."""
        stories = vocabulary().stories
        rows = [
            (
                *(p.subject_id, v.hadm_id, stories.index(v.story), seconds(v.start)),
                *(seconds(v.until), p.gender == "m"),
            )
            for p in self.people
            for v in p.visits
        ]
        subject, hadm, story, start, until, male = np.array(rows, dtype=np.int64).T
        return Visits(subject, hadm, story, start, until, male.astype(np.bool_))

    @cached_property
    def kept(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Of the tables that may be thinned, the rows that stay: what is taken once a visit."""
        out = {name: np.zeros(len(self.tables[name]["hadm_id"]), np.bool_) for name in _REPEATED}
        labs, visits = self.tables["labevents"], self.visits
        start = visits.start[np.searchsorted(visits.hadm_id, _numbers(labs["hadm_id"]))]
        out["labevents"] = _numbers(labs["charttime"]) == start + _ON_ARRIVAL
        height = [v.itemid for v in vocabulary().vitals if v.label == "height (cm)"]
        out["chartevents"] = np.isin(_numbers(self.tables["chartevents"]["itemid"]), height)
        return out


class Crowd:
    """The patients of one part: ``first`` is the number of its first one."""

    def __init__(self, pool: Pool, part: int, first: int, count: int, share: float = 1.0) -> None:
        self.pool, self.part, self.share = pool, part, share
        random, size = self.chance(0), len(pool.people)
        number = first + np.arange(count)
        drawn = (random(count) * size).astype(np.int64)
        self._like = np.where(number < size, number, drawn)
        self._further = number - self._like  # than the one in the pool
        low, high = pool.earliest[self._like], pool.latest[self._like]
        days = low + (random(count) * (high - low + 1)).astype(np.int64)
        self._moved = np.where(number < size, 0, days) * DAY

    def chance(self, purpose: int) -> Any:
        """A stream of chance of this part for one purpose: numbers from 0 to 1, the same on every
        machine."""
        key = [self.pool.seed & (2**64 - 1), self.part << 16 | purpose]
        return np.random.Generator(np.random.Philox(key=key)).random

    def tables(self) -> Iterator[tuple[str, Rows]]:
        """The rows of each table, without ``row_id``."""
        for purpose, name in enumerate(self.pool.tables, 1):
            yield name, self._table(name, purpose)

    @property
    def visits(self) -> Visits:
        """The visits of the part."""
        which, at = self._rows("admissions")
        pool, moved, further = self.pool.visits, self._moved[which], self._further[which]
        return Visits(
            pool.subject_id[at] + further * _STEPS["subject_id"],
            pool.hadm_id[at] + further * _STEPS["hadm_id"],
            pool.story[at],
            pool.start[at] + moved,
            pool.until[at] + moved,
            pool.male[at],
        )

    def _rows(self, name: str) -> tuple[Ints, Ints]:
        """(patient of the part, row of the pool) of each row of a table, in order."""
        first, counts = (values[self._like] for values in self.pool.spans[name])
        which = np.repeat(np.arange(len(counts)), counts)
        begin = np.repeat(np.cumsum(counts) - counts, counts)
        return which, first[which] + np.arange(len(which)) - begin

    def _table(self, name: str, purpose: int) -> Rows:
        which, at = self._rows(name)
        if name in _REPEATED and self.share < 1.0:
            kept = self._seen(name, which, at, purpose)
            which, at = which[kept], at[kept]
        made: Rows = {}
        for column in DEMO_TABLES[name].columns[1:]:
            values = self.pool.tables[name][column.name][at]
            if column.name in _STEPS:
                values = _numbers(values) + self._further[which] * _STEPS[column.name]
            elif column.type == TIME_TYPE and column.name != "dob":
                seen = _numbers(values)
                values = np.where(seen == NEVER, NEVER, seen + self._moved[which])
            made[column.name] = values
        return made

    def _seen(self, name: str, which: Ints, at: Ints, purpose: int) -> npt.NDArray[np.bool_]:
        """A share of the times at which something was observed, and what is taken once."""
        when = _numbers(self.pool.tables[name][DEMO_TABLES[name].time or ""])[at]
        other = (when[1:] != when[:-1]) | (which[1:] != which[:-1])
        time = np.concatenate([[0], np.cumsum(other)])[: len(at)]
        seen = self.chance(purpose)(len(at))[time] < self.share
        kept: npt.NDArray[np.bool_] = seen | self.pool.kept[name][at]
        return kept


def seconds(when: Any) -> int:
    """A time as seconds since 1970."""
    return int(np.datetime64(when, "s").astype(np.int64))


def _moves(person: Person) -> tuple[int, int]:
    """By how many days this patient may be moved, back and on, within the demo's year; by none who
    is in hospital now."""
    last = person.visits[-1]
    if last.end is None:
        return 0, 0
    back = (person.visits[0].start - YEAR_START).days
    on = (AS_OF - max(last.end, person.died or last.end)).days
    return -min(_MOVED, back), min(_MOVED, on)


def _numbers(column: Column) -> Ints:
    assert isinstance(column, np.ndarray)
    return column


def _arrays(table: EhrTable, rows: Iterable[Row]) -> Rows:
    """Rows without ``row_id`` as columns."""
    columns = table.columns[1:]
    names: list[dict[object, int]] = [{} for _ in columns]
    parts: list[list[Array]] = [[] for _ in columns]
    rest = iter(rows)
    while some := list(islice(rest, _AT_ONCE)):
        for column, known, part, values in zip(
            columns, names, parts, zip(*some, strict=True), strict=True
        ):
            part.append(_array(column.type, values, known))
    made: Rows = {}
    for column, known, part in zip(columns, names, parts, strict=True):
        whole: Array = np.concatenate(part) if part else np.zeros(0, np.int32)
        text = column.type.startswith("VARCHAR")
        made[column.name] = Coded(whole, tuple(map(str, known))) if text else whole
    return made


def _array(kind: str, values: tuple[object, ...], known: dict[object, int]) -> Array:
    """One column of some rows; a text's number in ``known``, to which new ones are added."""
    if kind == TIME_TYPE:
        times = np.array(["NaT" if v is None else v for v in values], dtype="datetime64[s]")
        return times.astype(np.int64)  # no time is NEVER
    if kind.startswith("VARCHAR"):
        codes = [-1 if v is None else known.setdefault(v, len(known)) for v in values]
        return np.array(codes, np.int32)
    if kind == "INT":
        return np.array(values, np.int64)
    return np.array(values, np.float64) + 0.0  # SQLite knows no -0.0 either
