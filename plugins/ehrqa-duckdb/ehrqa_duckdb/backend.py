"""An EHR in DuckDB, opened so that a query can read it and do nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import duckdb

from ehrqa_cli.contracts.backend import Backend
from ehrqa_cli.contracts.dialect import Dialect
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EhrqaError, LimitExceeded, Refused
from ehrqa_cli.contracts.loading import Loaded, LoadTable
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_cli.sqltext import check_size
from ehrqa_duckdb import files, settings
from ehrqa_duckdb.dialect import DuckDb
from ehrqa_duckdb.guard import Guard
from ehrqa_duckdb.load import load
from ehrqa_duckdb.source import DuckdbSource, open_source
from ehrqa_duckdb.values import plain

_CHUNK = 1000


class DuckDbDatabase(Backend[duckdb.DuckDBPyConnection]):
    """A read-only EHR in DuckDB. Safe to use from several threads: queries wait for each other."""

    contract_version: ClassVar[int] = 1
    dialect: ClassVar[str] = "duckdb"
    words: ClassVar[type[Dialect] | None] = DuckDb
    in_files: ClassVar[bool] = True
    settings: ClassVar[Mapping[str, str]] = settings.VARIABLES

    def __init__(self, source: DuckdbSource) -> None:
        """Use ``open``; this takes a source whose views are made and settings locked."""
        super().__init__()
        self._source = source
        self._guard = Guard(source.types)
        self._fingerprint: str | None = None
        self._meta: dict[str, str] = dict(source.meta)

    @classmethod
    def knows(cls, path: Path) -> bool:
        """Is it a DuckDB file, or a folder of Parquet or CSV files?"""
        return files.is_duckdb(path) or files.has_tables(path)

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
        super().close()
        self._source.connection.close()

    @classmethod
    def sample(cls, folder: Path, tables: Sequence[SampleTable]) -> str:
        """A DuckDB file of ``tables``."""
        made = str(folder / "sample.duckdb")
        load(made, [LoadTable(table.name, table.columns, table.rows) for table in tables])
        return made

    @classmethod
    def load(
        cls, target: str, tables: Iterable[LoadTable], *, replace: bool = False
    ) -> Loaded | None:
        """Write ``tables`` to a DuckDB file, or as Parquet into a folder: ``target`` ends in a
        slash."""
        return load(target, tables, replace=replace)

    # --- what Backend asks for

    def check(self, sql: str, limits: Limits) -> None:
        """Refuse what takes too long to read: DuckDB cannot be ended there."""
        check_size(sql, 3 * limits.seconds)  # it reads faster than that

    def ready(self, held: duckdb.DuckDBPyConnection | None) -> duckdb.DuckDBPyConnection:
        """The connection, or another in the place of one that is still busy."""
        return held if held is not None else self._source.again()

    def rows(
        self, held: duckdb.DuckDBPyConnection, sql: str, limits: Limits
    ) -> tuple[Sequence[str], Iterable[Row]]:
        """The columns and rows of one SELECT of DuckDB's."""
        self._guard.check(sql, held, time.monotonic() + limits.seconds)
        held.execute(sql)
        columns = [str(part[0]) for part in held.description or ()]
        return columns, _plain(held, limits)

    def interrupt(self, held: duckdb.DuckDBPyConnection) -> None:
        """End what runs."""
        held.interrupt()

    def release(self, held: duckdb.DuckDBPyConnection) -> None:
        """Close a connection."""
        held.close()

    def explained(
        self, error: BaseException, held: duckdb.DuckDBPyConnection | None, limits: Limits
    ) -> EhrqaError | None:
        """DuckDB's error in words."""
        del held, limits
        if not isinstance(error, duckdb.Error | MemoryError | RuntimeError):
            return None
        text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if isinstance(error, MemoryError | duckdb.OutOfMemoryException):
            return LimitExceeded(
                f"the query needs more than {settings.memory()} of memory",
                f"ask about fewer patients or a shorter time, or raise {settings.MEMORY}",
            )
        if isinstance(error, duckdb.InterruptException):  # Ctrl-C
            return Cancelled("the query was interrupted", "run it again when you like")
        if isinstance(error, duckdb.ConnectionException):
            return DatabaseError("the database is closed", "open it again")
        if isinstance(error, duckdb.PermissionException):
            return Refused("reading files is not allowed", "read the EHR's tables only")
        if isinstance(error, duckdb.IOException):
            hint = "the file may be damaged or gone; put it back, or make it anew"
            return DatabaseError(f"cannot read {self._source.path}: {text}", hint)
        return DatabaseError(f"SQL error: {text}", "`ehrqa db info` lists tables and columns")


def _plain(held: duckdb.DuckDBPyConnection, limits: Limits) -> Iterator[Row]:
    while chunk := held.fetchmany(min(_CHUNK, limits.rows + 1)):
        for raw in chunk:
            yield tuple(map(plain, raw))
