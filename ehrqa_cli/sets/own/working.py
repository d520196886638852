"""The EHR as the builder queries it: a copy in memory, with indexes and the labels of its images.

A set needs tens of thousands of queries. EHRSQL's files have no index, so each would read whole
tables; the copy answers them in a fraction of the time. An index can change which of several equal
rows comes first, so a query that takes the first few is run once more on the file as it is
(``confirm``): a question whose answer depends on that order has no answer, and is left out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.types import Row
from ehrqa_cli.neuralsql.rules.vitals import bind_vital_bounds
from ehrqa_cli.sqltext import quote

# A larger file is queried where it is.
COPIED = 1 << 30
_INDEXED = ("subject_id", "hadm_id", "itemid", "icd_code", "study_id", "event_id", "drug",
            "spec_type_desc", "test_name", "label", "long_title")  # fmt: skip
# SQLite's own count of work, not seconds: the same query ends at the same place everywhere.
_STEPS, _LOOKS = 100_000, 3_000
MOST_ROWS = 1000


class Working:
    """The databases that questions are run on. ``as_of`` stands for now."""

    def __init__(self, path: Path, as_of: str) -> None:
        """Opens ``path`` and copies it. Raises DatabaseError."""
        self.as_of = as_of
        self._now = quote(as_of)
        self._made = "\0"  # a table that the file does not have
        self._looks: int | None = None  # that a question's query has left; the builder's: no end
        try:
            uri = f"{path.resolve().as_uri()}?mode=ro"
            self._original = sqlite3.connect(uri, uri=True)
            self._copied = path.stat().st_size <= COPIED
            if self._copied:
                self.copy = sqlite3.connect(":memory:")
                self._original.backup(self.copy)
                self._index()
            else:
                self.copy = sqlite3.connect(uri, uri=True)
        except (OSError, sqlite3.Error) as error:
            raise DatabaseError(f"cannot read {path}: {error}", "check the file") from error
        for connection in (self.copy, self._original):
            connection.set_progress_handler(self._tick, _STEPS)
        self.failures = 0

    def close(self) -> None:
        """Close both."""
        self.copy.close()
        self._original.close()

    def tables(self) -> frozenset[str]:
        """Names of the tables, in lower case."""
        rows = self.copy.execute("SELECT lower(name) FROM sqlite_master WHERE type = 'table'")
        return frozenset(row[0] for row in rows)

    def bound(self, sql: str) -> str:
        """The SQL of a compiled form as it runs: now and the normal ranges of vital signs put in,
        byte for byte what ``neuralsql.bind`` makes of it (a test compares them)."""
        sql = sql.replace("current_time", self._now)
        return bind_vital_bounds(sql) if "_lower" in sql else sql

    def rows(self, sql: str, most: int = MOST_ROWS) -> tuple[Row, ...] | None:
        """The rows of bound SQL; None where it fails, takes too long or gives over ``most``."""
        return self._run(self.copy, sql, most)

    def confirm(self, sql: str, rows: tuple[Row, ...]) -> bool:
        """Does the file as it is give these rows too, in whatever order? Only asked where the
        order of equal rows could matter: of queries of the file's own tables with a LIMIT."""
        if not self._copied or " LIMIT " not in sql or self._made in sql:
            return True
        again = self._run(self._original, sql, MOST_ROWS)
        return again is not None and _sorted(again) == _sorted(rows)

    def fetch(self, sql: str, *values: object) -> list[Row]:
        """Rows of the builder's own query."""
        return self.copy.execute(sql, values).fetchall()

    def add_table(self, create: str, rows: Iterable[Row]) -> None:
        """A table of the builder's beside the EHR's; it is never written to the file."""
        self.add(create)
        self.copy.executemany(insertion(create), rows)

    def add(self, create: str) -> None:
        """A table, an index or a view of the builder's. A query that names the last of them is not
        one of the file's own tables alone."""
        _, kind, name, rest = create.split(" ", 3)
        # Temporary: the connection to a file that is not copied may write nothing else.
        where = f"INDEX temp.{name}" if kind == "INDEX" else f"TEMP {kind} {name}"
        self.copy.execute(f"CREATE {where} {rest}")
        self._made = name

    def _run(self, connection: sqlite3.Connection, sql: str, most: int) -> tuple[Row, ...] | None:
        self._looks = _LOOKS
        try:
            rows = connection.execute(sql).fetchmany(most + 1)
        except (sqlite3.Error, OverflowError):
            self.failures += 1
            return None
        finally:
            self._looks = None
        return None if len(rows) > most else tuple(rows)

    def _tick(self) -> bool:
        if self._looks is None:
            return False
        self._looks -= 1
        return self._looks < 0

    def _index(self) -> None:
        tables = self.copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if str(table).startswith(("sqlite_", "ehrqa_")):
                continue
            columns = {row[1].lower() for row in self.copy.execute(f'PRAGMA table_info("{table}")')}
            for column in _INDEXED:
                if column in columns:
                    self.copy.execute(
                        f'CREATE INDEX "built_{table}_{column}" ON "{table}" ({column})'
                    )


def insertion(create: str) -> str:
    """INSERT for all columns of a CREATE TABLE statement."""
    columns = create.partition("(")[2].partition("PRIMARY KEY (")[0]
    count = columns.count(",") + ("PRIMARY KEY (" not in create)
    return f"INSERT INTO {create.split()[2]} VALUES ({', '.join('?' * count)})"


def is_empty(rows: tuple[Row, ...]) -> bool:
    """Is there nothing in an answer? No row, or a cell without a value."""
    return not rows or any(cell is None for row in rows for cell in row)


def _sorted(rows: tuple[Row, ...]) -> list[tuple[str, ...]]:
    return sorted(tuple(map(_plain, row)) for row in rows)


def _plain(cell: object) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
