"""The new database: the drawn patients' rows, shifted, cut off at now, one unit for each item."""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.contracts.types import Row
from ehrqa_cli.ehr.backend import bulk
from ehrqa_cli.ehr.mimic.costs import add_costs
from ehrqa_cli.ehr.mimic.values import Dates
from ehrqa_cli.ehr.schema import BY_NAME, IMAGE_TABLES, TABLES, TIME_TYPE, EhrTable
from ehrqa_cli.sets.making.shares import fraction
from ehrqa_cli.sets.prepare.cohort import Drawn
from ehrqa_cli.sets.prepare.options import Options
from ehrqa_cli.sets.prepare.source import EhrSource
from ehrqa_cli.sets.prepare.units import UNITS, key

LATER, NO_VISIT, NO_STAY = "after now", "of a visit that is not kept", "of an ICU stay not kept"
OTHER_UNIT, NO_TIME, NO_EVENT = "not in the commonest unit", "no time", "of an event not kept"
# Times that say when something ended: unknown, rather than left out, where that is after now.
_ENDS = frozenset({"dischtime", "stoptime", "outtime", "dod"})
_FIRST = ("patients", "admissions", "icustays")  # what other tables refer to
_LAST = ("cost",)
_PRICED = ("diagnoses_icd", "labevents", "procedures_icd", "prescriptions")
_ANYONES = frozenset(t.name for t in TABLES if "subject_id" not in t.names())
Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class TableCount:
    """Rows of one table: those of the drawn patients, kept, and dropped by reason."""

    table: str
    read: int
    kept: int
    dropped: Mapping[str, int]


@dataclass
class _Copy:
    """One database under way."""

    source: EhrSource
    drawn: Drawn
    options: Options
    units: Mapping[str, Mapping[str, str]]
    redraw_births: bool
    dates: dict[int, Dates] = field(default_factory=dict)
    visits: set[int] = field(default_factory=set)
    stays: set[int] = field(default_factory=set)
    kept: dict[str, array[int]] = field(default_factory=dict)
    earlier: int = 0  # rows before the frame
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        by_days = {days: Dates(-days) for days in set(self.drawn.shifts.values())}
        self.dates = {who: by_days[days] for who, days in self.drawn.shifts.items()}

    def table(self, connection: sqlite3.Connection, table: EhrTable) -> TableCount:
        """Copy one table. Raises BuildError for a value that is none of its column."""
        there = self.source.columns(table.name)
        names = [c.name for c in table.columns if c.name in there and c.name != table.key]
        ids = self.drawn.shifts.keys() if table.name not in _ANYONES else None
        dropped: Counter[str] = Counter()
        read = 0
        convert = _Converter(self, table, names)
        marks = self.kept.setdefault(table.name, array("q"))

        def rows() -> Iterator[Sequence[object]]:
            nonlocal read
            for row in self.source.rows(table.name, names, ids):
                read += 1
                try:
                    made = convert(list(row[1:]))
                except (ValueError, OverflowError) as error:
                    raise BuildError(
                        f"{table.name} has a row that cannot be read (row_id {row[0]}: {error})",
                        "times must be YYYY-MM-DD HH:MM:SS",
                    ) from None
                if isinstance(made, str):
                    dropped[made] += 1
                    continue
                if table.name in _PRICED:
                    marks.append(int(str(row[0])))
                yield made

        kept = bulk.insert(connection, table, rows(), names)
        return TableCount(table.name, read, kept, dict(sorted(dropped.items())))


class _Converter:
    """Values of one row to the new ones, or why the row is left out."""

    def __init__(self, copy: _Copy, table: EhrTable, names: Sequence[str]) -> None:
        at = {name: place for place, name in enumerate(names)}
        self.copy = copy
        self.name = table.name
        self.who = at.get("subject_id")
        self.visit, self.stay = at.get("hadm_id"), at.get("stay_id")
        self.event = (at.get("event_type"), at.get("event_id"))
        times = [c for c in table.columns if c.type == TIME_TYPE and c.name in at]
        self.times = [(at[c.name], c.name, c.required) for c in times]
        self.when = at.get(table.time) if table.time else None
        self.texts = [at[c.name] for c in table.columns if _is_text(c.type) and c.name in at]
        item, unit = UNITS.get(table.name, ("", ""))
        self.item, self.unit = at.get(item), at.get(unit)
        self.units = copy.units.get(table.name, {}) if copy.options.one_unit else {}
        self.at = at
        self.first = f"{copy.options.first_year:04d}"

    def __call__(self, row: list[object]) -> list[object] | str:
        copy = self.copy
        why = self._shifted(row) if self.who is not None else ""
        if why or (why := self._belongs(row)):
            return why
        if self.units and self.item is not None and self.unit is not None:
            best = self.units.get(key(row[self.item]))
            if best is not None and best != key(row[self.unit]):
                return OTHER_UNIT
        if copy.options.lower_case:
            for place in self.texts:
                value = row[place]
                if isinstance(value, str):
                    row[place] = self._lower(value)
        return row

    def _lower(self, text: str) -> str:
        found = self.copy.texts.get(text)
        if found is None:
            found = text.lower()
            if len(self.copy.texts) < 100_000:
                self.copy.texts[text] = found
        return found

    def _shifted(self, row: list[object]) -> str:
        """Move every time of the row; why it is left out, or ""."""
        copy = self.copy
        who = int(str(row[self.who or 0]))
        dates, now = copy.dates[who], copy.options.now
        for place, name, required in self.times:
            value = row[place]
            if value is None or value == "":
                if required:
                    return NO_TIME
                row[place] = None
                continue
            text = str(value)
            moved = dates[text[:10]] + (text[10:19] or " 00:00:00")
            if moved > now:
                if name not in _ENDS:
                    return LATER
                row[place] = None
                if name == "dischtime" and (went := self.at.get("discharge_location")) is not None:
                    row[went] = None
            else:
                row[place] = moved
        if self.when is not None and row[self.when] is not None:
            copy.earlier += str(row[self.when]) < self.first
        if self.name == "patients" and copy.redraw_births:
            row[self.at["dob"]] = _born(copy, who, str(row[self.at["dob"]]), dates)
        if self.name == "admissions" and row[self.at["age"]] is None:
            begun = int(str(row[self.at["hadm_id"]]))
            row[self.at["age"]] = _ages(copy.drawn)[begun]
        return ""

    def _belongs(self, row: list[object]) -> str:
        """Remember what others refer to; why the row is left out, or ""."""
        copy = self.copy
        visit = None if self.visit is None else row[self.visit]
        stay = None if self.stay is None else row[self.stay]
        if self.name == "admissions":
            copy.visits.add(int(str(visit)))
            return ""
        if visit is not None and int(str(visit)) not in copy.visits:
            return NO_VISIT
        if self.name == "icustays":
            copy.stays.add(int(str(stay)))
        elif stay is not None and int(str(stay)) not in copy.stays:
            return NO_STAY
        if self.name == "cost":
            kind, event = self.event
            new = self._event(str(row[kind or 0]).lower(), int(str(row[event or 0])))
            if new is None:
                return NO_EVENT
            row[event or 0] = new
        return ""

    def _event(self, table: str, row_id: int) -> int | None:
        """The new number of an event that has a price."""
        kept = self.copy.kept.get(table, array("q"))
        place = bisect_left(kept, row_id)
        return place if place < len(kept) and kept[place] == row_id else None


def _is_text(kind: str) -> bool:
    return kind.startswith("VARCHAR")


def _ages(drawn: Drawn) -> dict[int, int]:
    return {v.number: v.age for p in drawn.patients for v in p.visits}


def _born(copy: _Copy, who: int, moved: str, dates: Dates) -> str:
    """A random day of the year of birth: MIMIC-IV has none (EHRXQA, appendix C.1.1). The year is
    the source's, so that it is drawn before the shift."""
    days = timedelta(days=dates.days)
    year = (date.fromisoformat(moved[:10]) + days).year
    length = (date(year + 1, 1, 1) - date(year, 1, 1)).days
    drawn = int(fraction(copy.options.seed, "born", who) * length)
    return f"{date(year, 1, 1) + timedelta(days=drawn) - days} 00:00:00"


@dataclass(frozen=True)
class Copied:
    """A new database: the rows of its tables, and of how many the time lies before the frame."""

    tables: tuple[TableCount, ...]
    earlier: int


def write_database(
    source: EhrSource,
    drawn: Drawn,
    options: Options,
    units: Mapping[str, Mapping[str, str]],
    out: Path,
    *,
    redraw_births: bool,
    meta: Mapping[str, str],
    images: bool,
    report: Report,
) -> Copied:
    """Write the database of the drawn patients to ``out``, whole or not at all; the source is
    only read. ``images`` adds tb_cxr. Raises BuildError, ImportFailed, DatabaseError."""
    work = _Copy(source, drawn, options, units, redraw_births)
    counts: dict[str, TableCount] = {}
    order = sorted(TABLES, key=lambda t: (t.name not in _FIRST, t.name in _LAST))
    every = (*TABLES, *(IMAGE_TABLES if images else ()))
    out.parent.mkdir(parents=True, exist_ok=True)
    with bulk.new_database(out, force=True) as connection:
        for table in every:
            connection.execute(table.ddl())
        for done, table in enumerate(order):
            report(f"{drawn.name}: tables", done, len(order))
            if source.has(table.name):
                counts[table.name] = work.table(connection, table)
        report(f"{drawn.name}: tables", len(order), len(order))
        if options.synthetic_costs is not None and not counts["cost"].kept:
            made = add_costs(connection, options.synthetic_costs)
            counts["cost"] = TableCount("cost", made.read, made.kept, {})
        if images:
            counts["tb_cxr"] = _images(connection, work)
        bulk.index(connection, every, lambda done, of: report(f"{drawn.name}: indexes", done, of))
        bulk.write_meta(connection, meta)
    return Copied(tuple(counts[t.name] for t in every if t.name in counts), work.earlier)


def kept_studies(drawn: Drawn, now: str) -> dict[int, tuple[int, str]]:
    """Patient and new time of each study that does not lie after now."""
    found = {}
    for study in drawn.studies:
        moved = Dates(-drawn.shifts[study.patient])[study.time[:10]] + study.time[10:]
        if moved <= now:
            found[study.study] = (study.patient, moved)
    return found


def _images(connection: sqlite3.Connection, work: _Copy) -> TableCount:
    dropped: Counter[str] = Counter()
    times = kept_studies(work.drawn, work.options.now)

    def rows() -> Iterator[Row]:
        for study in work.drawn.studies:
            if study.study not in times:
                dropped[LATER] += 1
                continue
            patient, moved = times[study.study]
            work.earlier += moved < f"{work.options.first_year:04d}"
            visit = study.visit if study.visit in work.visits else None
            view = study.view.lower() if work.options.lower_case else study.view
            # An id names a file: it keeps its capitals.
            yield (patient, visit, study.study, study.image, moved, view)

    kept = bulk.insert(connection, BY_NAME["tb_cxr"], rows())
    return TableCount("tb_cxr", len(work.drawn.studies), kept, dict(dropped))
