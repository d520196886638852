"""An EHR in Parquet, opened in Spark so that a query can read it and do nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.backend import Backend
from ehrqa_cli.contracts.dialect import Dialect
from ehrqa_cli.contracts.errors import DatabaseError, EhrqaError
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_spark import engine as engines
from ehrqa_spark import guard, settings, write
from ehrqa_spark.dialect import Spark
from ehrqa_spark.engine import Engine
from ehrqa_spark.running import Job, explained, lost
from ehrqa_spark.source import META, SparkSource, find


class SparkDatabase(Backend[Job]):
    """A read-only EHR in Parquet. Safe to use from several threads: queries wait for each other.

    If Spark ended since the last query, it is started again, for which the time limit does not
    count.
    """

    contract_version: ClassVar[int] = 1
    dialect: ClassVar[str] = "spark"
    words: ClassVar[type[Dialect] | None] = Spark
    settings: ClassVar[Mapping[str, str]] = settings.VARIABLES
    ready_counts: ClassVar[bool] = False

    def __init__(self, source: SparkSource) -> None:
        """Use ``open``; this starts Spark, and reads what the tables are."""
        super().__init__()
        self._source = source
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
        super().close()
        self._session = self._engine = None

    @classmethod
    def sample(cls, folder: Path, tables: Sequence[SampleTable]) -> str:
        """A folder of Parquet files of ``tables``."""
        return "spark:" + str(write.write(folder / "sample", tables))

    # --- what Backend asks for

    def check(self, sql: str, limits: Limits) -> None:
        """Refuse a text that is none to Java."""
        del limits
        guard.check_text(sql)

    def ready(self, held: Job | None) -> Job:
        """A job of its own for each query."""
        if held is not None:
            held.done()
        job = Job()
        try:
            job.session = self._attached(job.engine)
        except BaseException:
            job.done()
            raise
        return job

    def rows(self, held: Job, sql: str, limits: Limits) -> tuple[Sequence[str], Iterable[Row]]:
        """The columns and rows of one SELECT of Spark's."""
        return self._answer(held, sql, limits, list(self._types))

    def interrupt(self, held: Job) -> None:
        """End what runs."""
        held.stop()

    def abandon(self, held: Job) -> None:
        """Leave it to itself; its process ends if it does not."""
        held.abandon()

    def release(self, held: Job) -> None:
        """It has ended."""
        held.done()

    def explained(self, error: BaseException, held: Job | None, limits: Limits) -> EhrqaError:
        """A Java exception in words."""
        del limits
        if held is not None and held.engine.gone():
            return lost(held.engine)
        return explained(error)

    def _answer(
        self, held: Job, sql: str, limits: Limits, tables: list[str]
    ) -> tuple[Sequence[str], Iterable[Row]]:
        try:
            return held.run(sql, limits, tables)
        except BaseException:
            held.done()
            raise

    def _attached(self, engine: Engine) -> Any:
        """Our session in ``engine``, begun anew where it is another than the last time."""
        if engine is not self._engine or self._session is None:
            self._session = self._source.session(engine)
            self._engine = engine
        return self._session

    def _read_meta(self) -> dict[str, str]:
        if META not in self._source.tables:
            return {}
        limits, sql = Limits(seconds=60.0), f"SELECT key, value FROM {META}"
        try:
            rows, _ = self.within(
                limits, lambda held, _: list(self._answer(held, sql, limits, [META])[1])
            )
        except DatabaseError:
            return {}
        return {str(key): str(value) for key, value in rows}
