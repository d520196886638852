"""An EHR in Parquet, opened in Spark so that a query can read it and do nothing else."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits, Result
from ehrqa_spark import engine as engines
from ehrqa_spark import guard, write
from ehrqa_spark.engine import Engine
from ehrqa_spark.running import Running, explained
from ehrqa_spark.source import META, SparkSource, find


class SparkDatabase(Database):
    """A read-only EHR in Parquet. Safe to use from several threads: queries wait for each other."""

    contract_version: ClassVar[int] = 1
    dialect: ClassVar[str] = "spark"

    def __init__(self, source: SparkSource) -> None:
        """Use ``open``; this starts Spark, and reads what the tables are."""
        self._source = source
        self._lock = threading.Lock()
        self._cancelled = False
        self._closed = False
        self._engine: Engine | None = None
        self._session: Any = None
        try:
            with engines.using(f"open-{id(self)}") as engine:
                self._attached(engine)
                self._spark = engine.version()
        except DatabaseError:
            raise
        except Exception as error:
            raise explained(error) from error
        self._types = source.types()
        self._meta = self._read_meta()

    @classmethod
    def open(cls, target: str) -> SparkDatabase:
        """Open ``spark:PLACE``, a folder of Parquet. Raises DatabaseError."""
        return cls(find(target))

    @property
    def meta(self) -> Mapping[str, str]:
        """What the table ``ehrqa_meta`` says, if there is one."""
        return self._meta

    def schema(self) -> Mapping[str, Sequence[str]]:
        """Table name to column names; tables of ``ehrqa_`` are left out."""
        return {table: tuple(columns) for table, columns in self._types.items()}

    def types(self) -> Mapping[str, Mapping[str, str]]:
        """Table to column to what it holds."""
        return self._types

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        """Run one SELECT of Spark's within ``limits``. If Spark ended since the last one, it is
        started again, for which the time limit does not count.

        Raises Refused, LimitExceeded, Cancelled, or DatabaseError for SQL that is wrong.
        """
        limits = limits or Limits()
        if len(sql) > limits.length:
            raise LimitExceeded(
                f"the query is longer than {limits.length:,} characters", "ask for less at once"
            )
        guard.check_text(sql)
        return self._run(sql, limits, list(self._types))

    def cancel(self) -> None:
        """End the running query from another thread; the one who waits for it sees to that."""
        self._cancelled = True

    def fingerprint(self) -> str:
        """``spark:`` and 16 hex digits, of the files' names, sizes and times of change."""
        return "spark:" + self._source.fingerprint()

    def default_as_of(self) -> str | None:
        """``as_of`` of ``ehrqa_meta``, if it has one."""
        return self._meta.get("as_of")

    def versions(self) -> Mapping[str, str]:
        """Spark's."""
        return {"spark": self._spark}

    def close(self) -> None:
        """Close the database; a second call does nothing. Spark itself ends with the program."""
        self._closed = True
        self._session = self._engine = None

    @classmethod
    def sample(cls, folder: Path, tables: Sequence[SampleTable]) -> str:
        """A folder of Parquet files of ``tables``."""
        return "spark:" + str(write.write(folder / "sample", tables))

    def _run(self, sql: str, limits: Limits, tables: list[str]) -> Result:
        with self._lock:
            if self._closed:
                raise DatabaseError("the database is closed", "open it again")
            self._cancelled = False
            running = Running(sql, limits, self._attached, tables)
            columns, rows, elapsed = running.wait(lambda: self._cancelled)
        cut = tuple(rows[: limits.rows])
        return Result(columns, cut, len(rows) > limits.rows, elapsed)

    def _attached(self, engine: Engine) -> Any:
        """Our session in ``engine``, begun anew where it is another than the last time."""
        if engine is not self._engine or self._session is None:
            self._session = self._source.session(engine)
            self._engine = engine
        return self._session

    def _read_meta(self) -> dict[str, str]:
        if META not in self._source.tables:
            return {}
        try:
            rows = self._run(f"SELECT key, value FROM {META}", Limits(seconds=60.0), [META]).rows
        except DatabaseError:
            return {}
        return {str(key): str(value) for key, value in rows}
