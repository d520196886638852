"""An EHR in one SQLite file, opened so that a query can read it and do nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ehrqa_cli.aside import settle
from ehrqa_cli.contracts.backend import Backend
from ehrqa_cli.contracts.errors import DatabaseError, EhrqaError, LimitExceeded
from ehrqa_cli.contracts.types import Limits, Row, Scalar
from ehrqa_cli.ehr import schema as ehr_schema
from ehrqa_cli.ehr.backend import file as sqlite_file
from ehrqa_cli.ehr.backend import guard
from ehrqa_cli.ehr.backend.connection import GuardedConnection, damaged
from ehrqa_cli.ehr.backend.now import end_of

MAGIC = b"SQLite format 3\x00"
_MARKING = Limits(seconds=600.0)  # that the fingerprint may take, where a view has to be counted
_MAKE_ONE = "make one with `ehrqa db import DIR --out FILE`, or try `make demo`"


class SqliteDatabase(Backend[GuardedConnection]):
    """A read-only SQLite EHR. Safe to use from several threads: queries wait for each other."""

    dialect: ClassVar[str] = "sqlite"
    in_files: ClassVar[bool] = True
    counts_steps: ClassVar[bool] = True

    def __init__(self, path: Path, connection: GuardedConnection) -> None:
        """Use ``open``."""
        super().__init__()
        self.path = path
        self._held = connection
        self._schema = connection.schema
        with connection.unguarded() as raw:
            self._meta = sqlite_file.read_meta(raw)
        self._fingerprint: str | None = None

    @classmethod
    def open(cls, target: str | Path) -> SqliteDatabase:
        """Open the file ``target`` for reading. Raises DatabaseError when it is no SQLite EHR."""
        path = Path(target)
        database = cls.open_any(path)
        lacking = ehr_schema.missing(database.schema())
        if lacking:
            database.close()
            shown = ", ".join(lacking[:6]) + (" ..." if len(lacking) > 6 else "")
            raise DatabaseError(f"{path} is not an EHR: it lacks {shown}", _MAKE_ONE)
        return database

    @classmethod
    def open_any(cls, path: Path) -> SqliteDatabase:
        """Open ``path`` for reading, whatever its tables (a benchmark's databases are no EHRs).
        Raises DatabaseError."""
        settle(1.0)
        try:
            connection = _connect(path)
            try:
                return cls(path, connection)
            except BaseException:
                connection.close()
                raise
        except (sqlite3.Error, MemoryError, UnicodeDecodeError) as error:
            raise DatabaseError(f"cannot read {path}: {error}", damaged(error)) from error

    def schema(self) -> Mapping[str, Sequence[str]]:
        """Table name to column names; internal, virtual and ``ehrqa_`` tables are left out."""
        return self._schema

    @property
    def tables(self) -> Mapping[str, ehr_schema.EhrTable]:
        """What is known of the EHR's tables (key, time column, sources) that are present."""
        present = {name.lower() for name in self._schema}
        return {n: t for n, t in ehr_schema.BY_NAME.items() if n in present}

    @property
    def meta(self) -> Mapping[str, str]:
        """What the importer or the demo wrote about this file (``ehrqa_meta``); may be empty."""
        return self._meta

    def key(self, table: str) -> str:
        """The column that names a row of ``table``, for evidence."""
        columns = {c.lower(): c for c in self._schema.get(table, ())}
        return columns.get("row_id", "rowid")

    # --- what Backend asks for

    def check(self, sql: str, limits: Limits) -> None:
        """Refuse what does not begin as a SELECT."""
        del limits
        guard.check_statement(sql)

    def ready(self, held: GuardedConnection | None) -> GuardedConnection:
        """The connection, or another in the place of one that is still busy."""
        if held is not None:
            return held
        try:
            return _connect(self.path)
        except (sqlite3.Error, MemoryError) as error:
            raise LimitExceeded("the last query has not ended yet", "try again") from error

    def rows(
        self, held: GuardedConnection, sql: str, limits: Limits
    ) -> tuple[Sequence[str], Iterable[Row]]:
        """The columns and rows of one SELECT of SQLite's; ``Limits.steps`` are held to here."""
        return held.rows(sql, limits)

    def interrupt(self, held: GuardedConnection) -> None:
        """End what runs."""
        held.interrupt()

    def abandon(self, held: GuardedConnection) -> None:
        """End what runs, and whatever it goes on with."""
        held.leave()

    def release(self, held: GuardedConnection) -> None:
        """Close the file."""
        held.close()

    def explained(
        self, error: BaseException, held: GuardedConnection | None, limits: Limits
    ) -> EhrqaError | None:
        """SQLite's error in words."""
        return held.explained(error, limits) if held is not None else None

    # --- what it says of itself

    def fingerprint(self) -> str:
        """``sqlite:`` and 16 hex digits: a hash of the tables, their last rows and some pages.

        Cheap on files of any size: SQLite's own change counter (in the file's header) changes
        with every committed write, so the pages, 64 spread over the file, need not be all.
        Raises DatabaseError when the file has gone since it was opened.
        """
        if self._fingerprint is None:
            last, _ = self.within(_MARKING, self._last_rows)
            try:
                hashed = sqlite_file.hashed(self.path, last)
            except OSError as error:
                what = f"cannot read {self.path}: {error.strerror}"
                raise DatabaseError(what, "put the file back where it was") from error
            self._fingerprint = "sqlite:" + hashed[:16]
        return self._fingerprint

    def default_as_of(self) -> str:
        """What ``current_time`` means when nobody says: ``as_of`` of ``ehrqa_meta``, else
        23:59:00 on 31 December of the year of the last event."""
        dated = ((t.name, t.time) for t in self.tables.values() if t.time is not None)
        return self._meta.get("as_of") or end_of(self, dated, str(self.path))

    def _last_rows(
        self, held: GuardedConnection, stopped: Callable[[], bool]
    ) -> list[tuple[str, Scalar]]:
        try:
            with held.unguarded() as raw:
                return [
                    (f"{name}({','.join(columns)})", _last(raw, name, columns[0]))
                    for name, columns in sorted(self._schema.items())
                ]
        except sqlite3.Error as error:
            if stopped():
                raise
            raise DatabaseError(f"cannot read {self.path}: {error}", damaged(error)) from error


def _last(connection: sqlite3.Connection, table: str, first: str) -> Scalar:
    """The greatest rowid, which SQLite finds at once; of a view, or a table without, the greatest
    value of its first column."""
    quoted = table.replace('"', '""')
    try:
        rows = connection.execute(f'SELECT max(rowid) FROM "{quoted}"').fetchall()
    except sqlite3.OperationalError:
        column = first.replace('"', '""')
        rows = connection.execute(f'SELECT max("{column}") FROM "{quoted}"').fetchall()
    last: Scalar = rows[0][0]
    return last


def _connect(path: Path) -> GuardedConnection:
    """Raises DatabaseError, sqlite3's errors and MemoryError."""
    _check_file(path)
    return GuardedConnection(path)


def _check_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise DatabaseError(f"{path} is a folder, not a database", _MAKE_ONE)
        if not path.is_file():
            raise DatabaseError(f"there is no database {path}", _MAKE_ONE)
        with path.open("rb") as file:
            head = file.read(16)
    except (OSError, ValueError) as error:
        raise DatabaseError(f"cannot read {path}: {error}", "check its permissions") from error
    if not head:
        raise DatabaseError(f"{path} is empty", _MAKE_ONE)
    if head != MAGIC:
        raise DatabaseError(f"{path} is not a SQLite database", _MAKE_ONE)
