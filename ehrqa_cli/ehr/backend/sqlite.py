"""An EHR in one SQLite file, opened so that a query can read it and do nothing else."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from ehrqa_cli.aside import Aside, Left, settle
from ehrqa_cli.contracts.errors import (
    Cancelled,
    DatabaseError,
    DatabaseFault,
    EhrqaError,
    LimitExceeded,
    Refused,
)
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result, Row, Scalar
from ehrqa_cli.ehr import schema as ehr_schema
from ehrqa_cli.ehr.backend import file as sqlite_file
from ehrqa_cli.ehr.backend import guard
from ehrqa_cli.ehr.backend.clock import Timed, timed

_MAGIC = b"SQLite format 3\x00"
_STEPS = 1000  # virtual machine steps between two looks at the clock
_GRACE = 0.5  # seconds that a query has to end by itself once its time is over
_RESULT_FACTOR = 16  # a whole result may be this many times Limits.length
_TOO_MUCH = re.compile(
    "too (large|many (terms|columns|references)|complex)|stack overflow|too deep", re.I
)
# The file is damaged, gone, locked, or SQLite has no room to work in: no fault of the query.
_FAULTS = frozenset(
    {
        *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR),
        *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
        *(sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL),
    }
)
# What comes out of SQLite; a message with a scrambled name in it cannot be decoded.
_ERRORS = (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError, UnicodeDecodeError)
_NO_TABLE = re.compile(r"no such table: (?:main\.)?(.+)")
_MAKE_ONE = "make one with `ehrqa db import DIR --out FILE`, or try `make demo`"


class SqliteDatabase(Database):
    """A read-only SQLite EHR. Safe to use from several threads: queries wait for each other."""

    dialect: ClassVar[str] = "sqlite"
    counts_steps: ClassVar[bool] = True

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Use ``open``; this takes a connection that ``guard.prepare`` has seen."""
        self.path = path
        self._lock = threading.Lock()
        self._aside = Aside()
        self._cancelled = False
        self._timed_out = False
        self._deadline = 0.0
        self._looks = 0  # that are left before Limits.steps are over; below 0 for no such limit
        self._schema = sqlite_file.read_schema(connection)
        self._meta = sqlite_file.read_meta(connection)
        self._fingerprint: str | None = None
        self._use(connection)

    def _use(self, connection: sqlite3.Connection) -> None:
        """Guard ``connection``, which is prepared, and ask it from now on."""
        self._connection = connection
        self._left = False  # is a query still running that nobody waits for?
        self._authorizer = guard.Authorizer(
            self._schema, sqlite_file.modules(connection), sqlite_file.views(connection)
        )
        self._functions = guard.TextFunctions()
        self._functions.register(connection)
        connection.set_authorizer(self._authorizer)
        connection.set_progress_handler(
            lambda: self._tick() if connection is self._connection else 1, _STEPS
        )

    def _renew(self) -> None:
        """Another connection in the place of one that is still busy. Raises DatabaseError."""
        if self._left:
            try:
                self._use(_connect(self.path))
            except (sqlite3.Error, MemoryError) as error:
                raise LimitExceeded("the last query has not ended yet", "try again") from error

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
            raise DatabaseError(f"cannot read {path}: {error}", _damaged(error)) from error

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

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        """Run one SELECT within ``limits`` (one text or row and the statement: ``length`` bytes).

        Raises Refused, LimitExceeded, Cancelled, DatabaseError for SQL that is wrong, or
        DatabaseFault for a file that is damaged or gone.
        """
        limits = limits or Limits()
        if len(sql) > limits.length:
            raise LimitExceeded(
                f"the query is longer than {limits.length:,} characters", "ask for less at once"
            )
        guard.check_statement(sql)
        with self._lock:
            self._renew()
            bound = timed(sql, limits.now)
            self._begin(bound.sql, limits)
            started = time.monotonic()
            try:
                try:
                    columns, rows = self._run(bound, limits)
                except MemoryError:
                    if not settle(self._deadline - time.monotonic()):
                        raise
                    columns, rows = self._run(bound, limits)
            except (*_ERRORS, Left, KeyboardInterrupt) as error:
                raise self._explain(error, limits) from error
            finally:
                self._deadline = 0.0
            elapsed = time.monotonic() - started
        truncated = len(rows) > limits.rows
        return Result(columns, tuple(rows[: limits.rows]), truncated, elapsed)

    def cancel(self) -> None:
        """End the running query from another thread."""
        self._cancelled = True
        with suppress(sqlite3.ProgrammingError):  # closed: nothing is running
            self._connection.interrupt()

    def fingerprint(self) -> str:
        """``sqlite:`` and 16 hex digits: a hash of the tables, their last rows and some pages.

        Cheap on files of any size: SQLite's own change counter (in the file's header) changes
        with every committed write, so the pages, 64 spread over the file, need not be all.
        Raises DatabaseError when the file has gone since it was opened.
        """
        if self._fingerprint is None:
            with self._lock:
                self._renew()
                try:
                    hashed = sqlite_file.hashed(self.path, self._last_rows())
                except OSError as error:
                    what = f"cannot read {self.path}: {error.strerror}"
                    raise DatabaseError(what, "put the file back where it was") from error
                self._fingerprint = "sqlite:" + hashed[:16]
        return self._fingerprint

    def default_as_of(self) -> str:
        """What ``current_time`` means when nobody says: ``as_of`` of ``ehrqa_meta``, else
        23:59:00 on 31 December of the year of the last event."""
        stored = self._meta.get("as_of")
        if stored:
            return stored
        latest = ""
        for table in self.tables.values():
            if table.time is not None:
                rows = self.execute(
                    f"SELECT max({table.time}) FROM {table.name}", Limits(seconds=600.0)
                ).rows
                latest = max(latest, str(rows[0][0] or ""))
        if not latest[:4].isdigit():
            raise DatabaseError(
                f"{self.path} holds no dated event", "say what now means with --as-of TIME"
            )
        return f"{latest[:4]}-12-31 23:59:00"

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._aside.close()
        if not self._left:  # else it is closed when its query has ended
            self._connection.close()

    def _begin(self, sql: str, limits: Limits) -> None:
        self._cancelled = self._timed_out = False
        self._authorizer.denied = None
        try:
            length = guard.bound(self._connection, limits.length, sql)
        except sqlite3.ProgrammingError as error:
            raise DatabaseError("the database is closed", "open it again") from error
        self._functions.begin(length, limits.now)
        self._looks = -1 if limits.steps is None else limits.steps // _STEPS + 1
        self._deadline = time.monotonic() + limits.seconds

    def _tick(self) -> int:
        self._looks -= 1
        if self._looks == 0 or (self._deadline and time.monotonic() > self._deadline):
            self._timed_out = True
        return int(self._timed_out or self._cancelled)

    def _run(self, bound: Timed, limits: Limits) -> tuple[tuple[str, ...], list[Row]]:
        """Columns and rows. Raises Left when the query does not end by itself, having left it."""
        used = self._connection
        try:
            columns, rows = self._aside.run(
                lambda: self._fetch(used, bound.sql, limits), self._is_over, used.close
            )
        except (Left, KeyboardInterrupt):
            self._left = True
            with suppress(sqlite3.ProgrammingError):  # it has ended and is closed
                used.interrupt()
            raise
        return bound.columns(columns), rows

    def _is_over(self) -> bool:
        late = time.monotonic() > self._deadline + _GRACE
        self._timed_out = self._timed_out or late
        return late or self._cancelled

    def _fetch(
        self, connection: sqlite3.Connection, sql: str, limits: Limits
    ) -> tuple[tuple[str, ...], list[Row]]:
        cursor = connection.cursor()
        try:
            cursor.execute(sql)
            columns = tuple(d[0] for d in cursor.description or ())
            rows: list[Row] = []
            size = 0
            for raw in cursor:
                row = tuple(_scalar(v) for v in raw)
                size += sum(len(v) if isinstance(v, str) else 8 for v in row)
                if size > limits.length * _RESULT_FACTOR:
                    raise LimitExceeded("the answer is too long", "select fewer rows or columns")
                rows.append(row)
                if len(rows) > limits.rows:
                    break
            return columns, rows
        finally:
            cursor.close()

    def _explain(self, error: BaseException, limits: Limits) -> EhrqaError:
        code = getattr(error, "sqlite_errorcode", None)
        if self._cancelled:
            return Cancelled("the query was cancelled", "run it again when you like")
        if self._timed_out:
            took = f"{limits.seconds:g} s" if self._looks else f"{limits.steps:,} steps"
            return LimitExceeded(
                f"the query took longer than {took}",
                "ask about fewer patients or a shorter time, or raise the time limit",
            )
        if self._functions.refused is not None:
            return self._functions.refused
        if self._authorizer.denied is not None:
            what, hint = self._authorizer.denied
            return Refused(f"{what} is not allowed", hint)
        if isinstance(error, MemoryError):
            return LimitExceeded(
                f"the query needs more than {guard.HEAP_BYTES >> 20} MiB of memory",
                "ask about fewer patients or a shorter time",
            )
        if (
            self._functions.too_long
            or code == sqlite3.SQLITE_TOOBIG
            or isinstance(error, (sqlite3.DataError, OverflowError))
        ):
            return LimitExceeded(
                f"a text in the query is longer than {self._functions.length:,} bytes",
                "ask for less",
            )
        text = str(error)
        if code == sqlite3.SQLITE_INTERRUPT or isinstance(error, KeyboardInterrupt):  # Ctrl-C
            return Cancelled("the query was interrupted", "run it again when you like")
        if _TOO_MUCH.search(text):
            return LimitExceeded(f"the query is too large: {text}", "ask for less at once")
        if "one statement at a time" in text:
            return Refused("several statements", "send one SELECT at a time")
        if "bindings" in text or "SQL variables" in text or "variable number" in text:
            return Refused("the query has parameters", "write the values into it")
        missing = _NO_TABLE.match(text)
        damaged = (code or 0) & 0xFF in _FAULTS or isinstance(error, UnicodeDecodeError)
        if damaged or (missing and missing[1] in self._schema):
            return DatabaseFault(f"cannot read the database {self.path}: {text}", _damaged(error))
        return DatabaseError(f"SQL error: {text}", "`ehrqa db info` lists tables and columns")

    def _last_rows(self) -> list[tuple[str, Scalar]]:
        self._connection.set_authorizer(None)
        try:
            out: list[tuple[str, Scalar]] = []
            for name, columns in sorted(self._schema.items()):
                out.append((f"{name}({','.join(columns)})", self._last(name, columns[0])))
            return out
        except sqlite3.Error as error:
            raise DatabaseError(f"cannot read {self.path}: {error}", _damaged(error)) from error
        finally:
            self._connection.set_authorizer(self._authorizer)

    def _last(self, table: str, first: str) -> Scalar:
        """The greatest rowid, which SQLite finds at once; of a view, or a table without, the
        greatest value of its first column."""
        quoted = table.replace('"', '""')
        try:
            rows = self._connection.execute(f'SELECT max(rowid) FROM "{quoted}"').fetchall()
        except sqlite3.OperationalError:
            column = first.replace('"', '""')
            rows = self._connection.execute(f'SELECT max("{column}") FROM "{quoted}"').fetchall()
        last: Scalar = rows[0][0]
        return last


def _connect(path: Path) -> sqlite3.Connection:
    _check_file(path)
    try:
        connection = sqlite3.connect(
            sqlite_file.uri(path), uri=True, check_same_thread=False, isolation_level=None
        )
    except sqlite3.Error as error:
        raise DatabaseError(f"cannot open {path}: {error}", "check the file") from error
    connection.text_factory = sqlite_file.decode
    try:
        guard.prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


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
    if head != _MAGIC:
        raise DatabaseError(f"{path} is not a SQLite database", _MAKE_ONE)


def _scalar(value: object) -> Scalar:
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, (str, int, float)) else None


def _damaged(error: BaseException) -> str:
    if "lock" in str(error):
        return "another program is writing to it; try again later"
    if "full" in str(error):
        return "free some space for temporary files, and try again"
    return "the file may be damaged; put a copy in its place, or import the data again"
