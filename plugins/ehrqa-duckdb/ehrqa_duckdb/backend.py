"""An EHR in DuckDB, opened so that a query can read it and do nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import duckdb

from ehrqa_cli.aside import Aside, Left
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, LimitExceeded, Refused
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits, Result, Row
from ehrqa_cli.sqltext import check_size
from ehrqa_duckdb import settings
from ehrqa_duckdb.guard import Guard
from ehrqa_duckdb.source import DuckdbSource, open_source
from ehrqa_duckdb.values import plain
from ehrqa_duckdb.write import write

_CHUNK = 1000
_RESULT_FACTOR = 16  # a whole result may be this many times Limits.length
_GRACE = 0.5  # seconds that a query has to end by itself once its time is over


class DuckDbDatabase(Database):
    """A read-only EHR in DuckDB. Safe to use from several threads: queries wait for each other."""

    contract_version: ClassVar[int] = 1
    dialect: ClassVar[str] = "duckdb"

    def __init__(self, source: DuckdbSource) -> None:
        """Use ``open``; this takes a source whose views are made and settings locked."""
        self._source = source
        self._connection = source.connection
        self._aside = Aside()
        self._left = False  # is a query still running that nobody waits for?
        self._guard = Guard(source.types)
        self._lock = threading.Lock()
        self._cancelled = False
        self._timed_out = False
        self._given_up = 0.0  # when a query was asked to end, by time.monotonic()
        self._fingerprint: str | None = None
        self._meta: dict[str, str] = dict(source.meta)

    @classmethod
    def open(cls, target: str) -> DuckDbDatabase:
        """Open a DuckDB file or a folder of Parquet or CSV files. Raises DatabaseError."""
        return cls(open_source(Path(target)))

    @property
    def meta(self) -> Mapping[str, str]:
        """What the table ``ehrqa_meta`` says, if there is one."""
        return self._meta

    def schema(self) -> Mapping[str, Sequence[str]]:
        """Table name to column names; tables of ``ehrqa_`` are left out."""
        return {table: tuple(columns) for table, columns in self._source.types.items()}

    def types(self) -> Mapping[str, Mapping[str, str]]:
        """Table to column to what it holds."""
        return self._source.types

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        """Run one SELECT of DuckDB's within ``limits``.

        Raises Refused, LimitExceeded, Cancelled, or DatabaseError for SQL that is wrong.
        """
        limits = limits or Limits()
        if len(sql) > limits.length:
            raise LimitExceeded(
                f"the query is longer than {limits.length:,} characters", "ask for less at once"
            )
        check_size(sql, 3 * limits.seconds)  # DuckDB reads faster than that, and cannot be ended
        with self._lock:
            self._cancelled = self._timed_out = False
            try:
                self._renew()
                started = time.monotonic()
                columns, rows = self._run(sql, limits)
            except (duckdb.Error, MemoryError, RuntimeError, Left, KeyboardInterrupt) as error:
                raise self._explain(error, limits) from error
            elapsed = time.monotonic() - started
        return Result(columns, tuple(rows[: limits.rows]), len(rows) > limits.rows, elapsed)

    def cancel(self) -> None:
        """End the running query from another thread; the one who watches it sees to that."""
        self._cancelled = True

    def fingerprint(self) -> str:
        """``duckdb:`` and 16 hex digits, of the file's or files' sizes and some of their bytes."""
        if self._fingerprint is None:
            self._fingerprint = "duckdb:" + self._source.fingerprint()
        return self._fingerprint

    def default_as_of(self) -> str | None:
        """``as_of`` of ``ehrqa_meta``, if it has one."""
        return self._meta.get("as_of")

    def versions(self) -> Mapping[str, str]:
        """DuckDB's."""
        return {"duckdb": str(duckdb.__version__)}

    def close(self) -> None:
        """Close the database; a second call does nothing."""
        self._aside.close()
        if not self._left:  # else it is closed when its query has ended
            self._connection.close()

    @classmethod
    def sample(cls, folder: Path, tables: Sequence[SampleTable]) -> str:
        """A DuckDB file of ``tables``."""
        return str(write(folder / "sample.duckdb", tables))

    def _run(self, sql: str, limits: Limits) -> tuple[tuple[str, ...], list[Row]]:
        """Columns and rows. Raises Left when the query does not end by itself, having left it.

        DuckDB forgets an interrupt that comes before the query has begun, so it is repeated.
        """
        used = self._connection
        deadline = time.monotonic() + limits.seconds

        def work() -> tuple[tuple[str, ...], list[Row]]:
            self._guard.check(sql, used, deadline)
            return self._fetch(used, sql, limits)

        def over() -> bool:
            now = time.monotonic()
            self._timed_out = self._timed_out or now > deadline
            if self._timed_out or self._cancelled:
                used.interrupt()
                self._given_up = self._given_up or now
            return bool(self._given_up) and now > self._given_up + _GRACE

        self._given_up = 0.0
        try:
            return self._aside.run(work, over, used.close)
        except (Left, KeyboardInterrupt):
            self._left = True
            used.interrupt()
            raise

    def _renew(self) -> None:
        """Another connection in the place of one that is still busy."""
        if self._left:
            self._connection = self._source.again()
            self._left = False

    def _fetch(
        self, connection: duckdb.DuckDBPyConnection, sql: str, limits: Limits
    ) -> tuple[tuple[str, ...], list[Row]]:
        if self._timed_out or self._cancelled:
            raise duckdb.InterruptException("Interrupted")
        connection.execute(sql)
        columns = tuple(str(part[0]) for part in connection.description or ())
        rows: list[Row] = []
        size = 0
        while len(rows) <= limits.rows:
            chunk = connection.fetchmany(min(_CHUNK, limits.rows + 1 - len(rows)))
            if not chunk:
                break
            for raw in chunk:
                row = tuple(plain(value) for value in raw)
                size += sum(len(v) if isinstance(v, str) else 8 for v in row)
                rows.append(row)
                longest = max((len(v) for v in row if isinstance(v, str)), default=0)
                if size > limits.length * _RESULT_FACTOR or longest > limits.length:
                    raise LimitExceeded("the answer is too long", "select fewer rows or columns")
            if self._cancelled or self._timed_out:
                raise duckdb.InterruptException("Interrupted")
        return columns, rows

    def _explain(self, error: BaseException, limits: Limits) -> DatabaseError:
        if self._cancelled:
            return Cancelled("the query was cancelled", "run it again when you like")
        if self._timed_out:
            return LimitExceeded(
                f"the query took longer than {limits.seconds:g} s",
                "ask about fewer patients or a shorter time, or raise the time limit",
            )
        text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if isinstance(error, MemoryError | duckdb.OutOfMemoryException):
            return LimitExceeded(
                f"the query needs more than {settings.memory()} of memory",
                f"ask about fewer patients or a shorter time, or raise {settings.MEMORY}",
            )
        if isinstance(error, duckdb.InterruptException | KeyboardInterrupt):  # Ctrl-C
            return Cancelled("the query was interrupted", "run it again when you like")
        if isinstance(error, duckdb.ConnectionException):
            return DatabaseError("the database is closed", "open it again")
        if isinstance(error, duckdb.PermissionException):
            return Refused("reading files is not allowed", "read the EHR's tables only")
        if isinstance(error, duckdb.IOException):
            hint = "the file may be damaged or gone; put it back, or make it anew"
            return DatabaseError(f"cannot read {self._source.path}: {text}", hint)
        return DatabaseError(f"SQL error: {text}", "`ehrqa db info` lists tables and columns")
