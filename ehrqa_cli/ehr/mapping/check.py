"""Is a mapping right for a database? Every table is asked, and its rows are looked at.

Faults make wrong answers or none: a statement that the database refuses, times that are no times,
numbers that are text, ids without a row they refer to. Notices are things to know. What is looked
at are the first rows of a table; keys are counted over the whole of it where it is not too large.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_cli.ehr.mapping.fit import (
    Fitted,
    FittedTable,
    column_words,
    is_essential,
    kind,
    table_words,
    tables_of,
)
from ehrqa_cli.ehr.mapping.mapped import Mapped
from ehrqa_cli.ehr.schema import Column

SAMPLE = 1000
WHOLE = 1_000_000  # rows of a table whose keys are all counted
JOINED = 100_000  # rows of which it is counted how many refer to nothing
_LIMITS = Limits(seconds=600.0, rows=SAMPLE, length=10_000_000)
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")

Progress = Callable[[str], None]


@dataclass(frozen=True)
class TableCheck:
    """One of our tables: its rows (None where it has none or cannot be asked), the tables that it
    comes from, the columns without data and why, what is wrong and what is worth knowing."""

    table: str
    rows: int | None
    sources: tuple[str, ...]
    missing: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """A mapping over a database. ``declined``: what questions cannot be about, in words."""

    mapping: str
    sha256: str
    tables: tuple[TableCheck, ...]
    declined: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        """All that is wrong, with its table."""
        return tuple(f"{t.table}: {fault}" for t in self.tables for fault in t.faults)

    @property
    def usable(self) -> bool:
        """Can questions be answered through it?"""
        return not self.faults


def check(inner: Database, fitted: Fitted, progress: Progress = lambda table: None) -> Report:
    """Look at every table of ``fitted`` over ``inner``. Raises Cancelled."""
    mapped = Mapped(inner, fitted)
    found: list[TableCheck] = []
    for name, table in fitted.tables.items():
        progress(name)
        found.append(_Look(mapped, table).taken())
    unused = sorted(t for t in inner.schema() if t.lower() not in fitted.sources)
    return Report(
        fitted.mapping.name,
        fitted.mapping.sha256,
        tuple(found),
        tuple(_declined(fitted)),
        tuple(unused),
    )


def _declined(fitted: Fitted) -> Iterator[str]:
    for name, table in fitted.tables.items():
        if not table.parts:
            why = table.lacking[""]
            yield f"{table_words(name)} ({why})" if why else table_words(name)
        else:
            extra = {c.name for c in table.table.columns if c.extra}
            for column, why in table.lacking.items():
                if column in extra and not why:
                    continue  # nobody asks about it
                words = f"{column_words(column)} of {table_words(name)}"
                yield f"{words} ({why})" if why else words


class _Look:
    """One table looked at."""

    def __init__(self, mapped: Mapped, fitted: FittedTable) -> None:
        self.mapped = mapped
        self.fitted = fitted
        self.name = fitted.table.name
        self.columns = [c for c in fitted.table.columns if c.name not in fitted.lacking]
        self.faults: list[str] = []
        self.notices: list[str] = []

    def taken(self) -> TableCheck:
        """What it is like."""
        table = self.fitted.table
        if not self.fitted.parts:
            why = self.fitted.lacking[""] or "it is not in the mapping"
            needed = (f"not mapped: {why}",) if self.name in ("patients", "admissions") else ()
            return TableCheck(self.name, None, (), {"": why}, {}, needed)
        sources = tuple(dict.fromkeys(t for part in self.fitted.parts for t in tables_of(part)))
        rows = self._rows()
        kinds = {c.name: kind(c) for c in self.columns}
        if rows is not None:
            self._sampled(self._sample())
            self._keys(rows)
            self._joins()
            if rows == 0:
                self.notices.append("it has no rows")
            if self.name in ("patients", "admissions") and rows == 0:
                self.faults.append("it has no rows")
        for column in table.columns:
            if column.name in self.fitted.lacking and is_essential(table, column.name):
                self.faults.append(f"{column.name} is not mapped, and nothing works without it")
        missing = {c: why or "it is not in the mapping" for c, why in self.fitted.lacking.items()}
        return TableCheck(
            self.name, rows, sources, missing, kinds, tuple(self.faults), tuple(self.notices)
        )

    def _rows(self) -> int | None:
        """How many; None, with what is wrong, where a column cannot be asked for."""
        for column in self.columns:
            self._ask(f"SELECT {column.name} FROM {self.name} LIMIT 1", f"{column.name}: ")
        if self.faults:
            return None
        found = self._ask(f"SELECT count(*) FROM {self.name}")
        return None if found is None else int(str(found[0][0]))

    def _ask(self, sql: str, what: str = "") -> Sequence[Row] | None:
        try:
            return self.mapped.execute(sql, _LIMITS).rows
        except Cancelled:
            raise
        except DatabaseError as error:
            self.faults.append(f"{what}{error.message}")
            return None

    def _sample(self) -> Sequence[Row]:
        listed = ", ".join(c.name for c in self.columns)
        return self._ask(f"SELECT {listed} FROM {self.name} LIMIT {SAMPLE}") or ()

    def _sampled(self, rows: Sequence[Row]) -> None:
        for i, column in enumerate(self.columns):
            values = [row[i] for row in rows]
            present = [value for value in values if value is not None]
            if len(present) < len(values) and is_essential(self.fitted.table, column.name):
                lost = len(values) - len(present)
                self.faults.append(f"{column.name} is NULL in {lost} of {len(values)} rows")
            wrong = [value for value in present if not _right(column, value)]
            if wrong:
                self.faults.append(
                    f"{column.name} should be {_WANTED[_kind(column)]}; {len(wrong)} of "
                    f"{len(present)} rows are not, such as {_short(wrong[0])}"
                )
            elif rows and not present:
                self.notices.append(f"{column.name} is NULL in the first {len(values)} rows")
            elif _kind(column) == "text":
                odd = [v for v in present if isinstance(v, str) and v != v.lower().strip()]
                if odd:
                    self.faults.append(
                        f"{column.name} should be trimmed and in lower case; {len(odd)} of "
                        f"{len(present)} rows are not, such as {_short(odd[0])}"
                    )

    def _keys(self, rows: int) -> None:
        """The key that other tables refer to must be unique; row_id should be."""
        names = {"row_id": self.notices.append}
        if self.fitted.table.unique:
            names[self.fitted.table.unique] = self.faults.append
        for name, say in names.items():
            if rows > WHOLE and name == "row_id":
                continue
            found = self._ask(f"SELECT count({name}) - count(DISTINCT {name}) FROM {self.name}")
            if found and found[0][0]:
                say(f"{name} is not unique: {found[0][0]} rows too many")

    def _joins(self) -> None:
        """Rows that refer to nothing."""
        for column, other, key in self.fitted.table.foreign_keys:
            referred = self.mapped.fitted.tables.get(other)
            if column in self.fitted.lacking or referred is None or not referred.parts:
                continue
            found = self._ask(
                f"SELECT count(*), sum(CASE WHEN x.{column} NOT IN (SELECT {other}.{key} FROM "
                f"{other} WHERE {other}.{key} IS NOT NULL) THEN 1 ELSE 0 END) FROM (SELECT "
                f"{column} FROM {self.name} WHERE {column} IS NOT NULL LIMIT {JOINED}) AS x"
            )
            if found and found[0][1]:
                every, lost = int(str(found[0][0])), int(str(found[0][1]))
                say = self.faults.append if 2 * lost > every else self.notices.append
                say(f"{column} is none of {other}'s in {lost:,} of {every:,} rows")


_WANTED = {
    "integer": "a whole number",
    "real": "a number",
    "text": "text",
    "timestamp": "a time YYYY-MM-DD HH:MM:SS",
    "any": "a value",
}


def _kind(column: Column) -> str:
    # Names of rows and items may be text where the layout has no numbers for them.
    return "any" if column.name in ("row_id", "itemid", "icd_code") else kind(column)


def _right(column: Column, value: object) -> bool:
    wanted = _kind(column)
    if wanted == "any":
        return isinstance(value, int | str)
    if wanted == "timestamp":
        return isinstance(value, str) and _TIME.fullmatch(value) is not None
    if wanted == "integer":
        return isinstance(value, int)
    return isinstance(value, int | float) if wanted == "real" else isinstance(value, str)


def _short(value: object) -> str:
    return repr(value)[:60]
