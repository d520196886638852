"""What happened to a patient: the events that a question can be built around.

Values drawn from anywhere hardly ever meet: of a random patient, drug and month nearly every
answer is empty. Drawn around one event that did happen, most questions have an answer.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ehrqa_cli.ehr.schema import BY_NAME
from ehrqa_cli.sets.own.working import Working
from ehrqa_cli.sets.pairs.vocabulary import COLUMNS, LOOKUPS, Vocabulary

_KEPT = 512  # patients held at a time
_EACH = 5_000  # events of one kind that a patient is represented by

# Tables of whose rows two may be alike, and count as one event.
_ONCE = frozenset(
    ("prescriptions", "labevents", "microbiologyevents", "inputevents", "outputevents",
     "chartevents")
)  # fmt: skip
KINDS = frozenset(COLUMNS)


def _events() -> Iterator[tuple[str, tuple[str, ...], str]]:
    """For each table the kinds of its columns, and the query for a patient's: the values of those
    columns, then time and hospital stay."""
    for table in dict.fromkeys(table for table, _ in COLUMNS.values()):
        kinds = tuple(kind for kind, place in COLUMNS.items() if place[0] == table)
        named, time = LOOKUPS.get(table), f"e.{BY_NAME[table].time}"
        columns = [f"d.{named.label}"] if named else [f"e.{COLUMNS[kind][1]}" for kind in kinds]
        joined = f" JOIN {named.table} AS d ON d.{named.key} = e.{named.key}" if named else ""
        shown = [c if table == "tb_cxr" else f"lower({c})" for c in columns]
        yield (
            table,
            kinds,
            (
                f"SELECT {'DISTINCT ' * (table in _ONCE)}{', '.join(shown)}, {time}, e.hadm_id "
                f"FROM {table} AS e{joined} WHERE e.subject_id = ? ORDER BY {time}, 1 LIMIT {_EACH}"
            ),
        )


_EVENTS = tuple(_events())


@dataclass(frozen=True)
class Event:
    """One thing that happened: values by kind, when, and in which hospital stay (None: in none)."""

    values: Mapping[str, str]
    time: str
    stay: int | None


@dataclass(frozen=True)
class Person:
    """A patient: events by kind in the order of time, completed hospital stays by admission, the
    present one, and ICU stays (hospital stay, from, to; an open one ends with "")."""

    id: int
    events: Mapping[str, Sequence[Event]]
    stays: tuple[int, ...] = ()
    present: int | None = None
    icu: tuple[tuple[int, str, str], ...] = ()
    studies: tuple[int, ...] = ()


class People:
    """Patients of one EHR, read when they are needed."""

    def __init__(self, working: Working, vocabulary: Vocabulary) -> None:
        self._working = working
        self._patients = vocabulary.patients
        self._known = {kind: frozenset(found) for kind, found in vocabulary.values.items()}
        self._tables = working.tables()
        self.of = lru_cache(maxsize=_KEPT)(self._read)
        self._holders: dict[str, frozenset[int]] = {}

    def draw(self, rng: random.Random, kinds: Iterable[str], present: str = "") -> Person:
        """A patient with rows in the tables of all of these kinds (and who is in the hospital,
        or the ICU, now), else of twelve drawn the one with the most kinds."""
        wanted = [kind for kind in kinds if kind in KINDS]
        pool = self._with(wanted)
        if present:
            pool = [patient for patient in pool if patient in self._there(present)] or pool
        if pool:
            return self.of(rng.choice(pool))
        found = [self.of(rng.choice(self._patients)) for _ in range(12)]
        return max(found, key=lambda p: sum(kind in p.events for kind in wanted))

    def _with(self, kinds: Sequence[str]) -> Sequence[int]:
        """Patients who have rows in all the tables of these kinds, in ascending order."""
        pool: set[int] | None = None
        for table, own, _ in _EVENTS:
            if table in self._tables and any(kind in own for kind in kinds):
                pool = set(self._having(table)) if pool is None else pool & self._having(table)
        return self._patients if pool is None else sorted(pool)

    def _having(self, table: str) -> frozenset[int]:
        if table not in self._holders:
            everybody = self._ids(f"SELECT DISTINCT subject_id FROM {table}")
            self._holders[table] = frozenset(everybody).intersection(self._patients)
        return self._holders[table]

    def _there(self, present: str) -> frozenset[int]:
        table, end = ("icustays", "outtime") if present == "icu" else ("admissions", "dischtime")
        if present not in self._holders:
            there = self._ids(f"SELECT subject_id FROM {table} WHERE {end} IS NULL")
            self._holders[present] = frozenset(there)
        return self._holders[present]

    def _ids(self, sql: str, *values: object) -> tuple[int, ...]:
        """The numbers in the first column of a query."""
        return tuple(int(str(row[0])) for row in self._working.fetch(sql, *values))

    def _read(self, patient: int) -> Person:
        events: dict[str, list[Event]] = {}
        for table, kinds, sql in _EVENTS:
            if table not in self._tables:
                continue
            for row in self._working.fetch(sql, patient):
                self._add(events, kinds, row)
        visits = "SELECT hadm_id FROM admissions WHERE subject_id = ? AND dischtime IS"
        present = self._ids(f"{visits} NULL", patient)
        icu = self._working.fetch(
            "SELECT hadm_id, intime, coalesce(outtime, '') FROM icustays WHERE subject_id = ? "
            "ORDER BY intime, stay_id", patient,
        )  # fmt: skip
        return Person(
            patient,
            events,
            self._ids(f"{visits} NOT NULL ORDER BY admittime, hadm_id", patient),
            present[0] if present else None,
            tuple((int(str(h)), str(a), str(b)) for h, a, b in icu),
            studies=tuple(int(e.values["study"]) for e in events.get("study", ())),
        )

    def _add(
        self, events: dict[str, list[Event]], kinds: tuple[str, ...], row: Sequence[object]
    ) -> None:
        *values, time, stay = row
        if time is None:
            return
        # A question can only speak of what the vocabulary holds.
        named = {
            kind: str(value)
            for kind, value in zip(kinds, values, strict=True)
            if value is not None and (kind not in self._known or value in self._known[kind])
        }
        event = Event(named, str(time), None if stay is None else int(str(stay)))
        for kind in named:
            events.setdefault(kind, []).append(event)
