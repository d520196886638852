"""One query, run in a thread of its own, so that whoever asked can always give up on it."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EhrqaError, LimitExceeded
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_spark import engine as engines
from ehrqa_spark import guard, settings, told, values
from ehrqa_spark.engine import Engine

_RESULT_FACTOR = 16  # a whole result may be this many times Limits.length
_CHUNK = 100  # rows in one message
_LOOK = 0.02  # seconds between two looks at the clock, and at whether somebody gave up
_GRACE = 0.6  # seconds that Spark has to end what was cancelled, before nobody waits for it
_HANGING = 30.0  # seconds more, before its process is ended

_numbers = itertools.count(1)


class Running:
    """A query in a thread; ``wait`` for it once."""

    def __init__(
        self,
        sql: str,
        limits: Limits,
        attach: Callable[[Engine], Any],
        tables: list[str],
    ) -> None:
        """``attach`` gives the session, and may begin it."""
        self._sql, self._limits = sql, limits
        self._attach, self._tables = attach, tables
        self._group = f"ehrqa-{next(_numbers)}"
        self._engine: Engine | None = None
        self._started = 0.0
        self._found: tuple[tuple[str, ...], list[Row]] | None = None
        self._error: BaseException | None = None
        self._done = threading.Event()
        self._stopping: float | None = None
        self._timed_out = False
        threading.Thread(target=self._run, name=self._group, daemon=True).start()

    def wait(self, cancelled: Callable[[], bool]) -> tuple[tuple[str, ...], list[Row], float]:
        """Columns, rows (one more than the limit where there are more) and seconds.

        Raises Refused, LimitExceeded, Cancelled or DatabaseError.
        """
        try:
            while not self._done.wait(_LOOK):
                now = time.monotonic()
                late = self._started and now > self._started + self._limits.seconds
                self._timed_out = self._timed_out or bool(late)
                if self._stopping is None and (self._timed_out or cancelled()):
                    self._stop(now)
                if self._stopping is not None and now > self._stopping + _GRACE:
                    self._abandon()
                    break
        except BaseException:
            self._stop(time.monotonic())
            raise
        if cancelled():
            raise Cancelled("the query was cancelled", "run it again when you like")
        if self._timed_out:
            raise LimitExceeded(
                f"the query took longer than {self._limits.seconds:g} s",
                "ask about fewer patients or a shorter time, or raise the time limit",
            )
        if self._error is not None:
            raise self._explained(self._error) from self._error
        columns, rows = self._found or ((), [])
        return columns, rows, time.monotonic() - self._started

    def _stop(self, now: float) -> None:
        self._stopping = now
        if self._engine is not None:  # in a thread, as Java may not answer
            engine = self._engine
            threading.Thread(target=engine.cancel, args=(self._group,), daemon=True).start()

    def _abandon(self) -> None:
        """Nobody waits any more; the next query ends the process if this one still works in it."""
        if self._engine is not None:
            self._engine.working.discard(self._group)
            threading.Thread(target=self._end_hanging, daemon=True).start()

    def _end_hanging(self) -> None:
        if not self._done.wait(_HANGING) and self._engine and not self._engine.working:
            self._engine.kill()

    def _run(self) -> None:
        try:
            with engines.using(self._group) as engine:
                self._engine = engine
                session = self._attach(engine)
                engine.group(self._group)
                self._started = time.monotonic()
                if self._stopping is None:
                    self._found = self._collected(engine, session)
        except BaseException as error:  # whoever waits gets it
            self._error = error
        finally:
            self._done.set()
        if self._engine is not None:
            # Its tasks may have begun after the last look at them.
            self._engine.settle(suspect=self._stopping is not None)

    def _collected(self, engine: Engine, session: Any) -> tuple[tuple[str, ...], list[Row]]:
        """Check the statement, run the very plan that was checked, and read its rows."""
        state = session.sessionState()
        parsed = state.sqlParser().parsePlan(self._sql)
        guard.check_parsed(str(parsed.toJSON()), self._tables)
        plan = state.executePlan(parsed, engine.no_commands).analyzed()
        guard.check_analyzed(str(plan.toJSON()))
        frame = engine.jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, plan)
        fields = values.fields(str(frame.schema().json()))
        types = [one["type"] for one in fields]
        most = self._limits.length * _RESULT_FACTOR
        frame = frame.limit(self._limits.rows + 1)
        frame = frame.toDF(engine.sequence([f"c{i}" for i in range(len(types))]))
        frame = frame.selectExpr(engine.sequence([f"{values.written(types)} AS r"]))
        frame = frame.selectExpr(engine.sequence([f"IF(LENGTH(r) <= {most}, r, NULL)"]))
        texts = getattr(frame, "as")(engine.jvm.org.apache.spark.sql.Encoders.STRING())
        listed = texts.collectAsList()
        rows: list[Row] = []
        size = 0
        for at in range(0, int(listed.size()), _CHUNK):
            until = min(at + _CHUNK, int(listed.size()))
            chunk = str(engine.jvm.java.lang.String.join("\n", listed.subList(at, until)))
            size += len(chunk)
            for text in chunk.split("\n"):
                row = values.read(text, types)
                if row is None or size > most or self._too_long(row):
                    raise LimitExceeded("the answer is too long", "select fewer rows or columns")
                rows.append(row)
        return tuple(one["name"] for one in fields), rows

    def _too_long(self, row: Row) -> bool:
        return any(isinstance(v, str) and len(v) > self._limits.length for v in row)

    def _explained(self, error: BaseException) -> EhrqaError:
        if isinstance(error, EhrqaError):
            return error
        if self._engine is not None and self._engine.gone():
            return lost(self._engine)
        return explained(error)


def lost(engine: Engine) -> DatabaseError:
    """Why a query has no answer whose process is gone."""
    if engine.out_of_memory:
        return LimitExceeded(
            f"the query needs more than {settings.memory()} of memory",
            f"ask about fewer patients or a shorter time, or raise {settings.MEMORY}",
        )
    return DatabaseError("Spark's process ended in mid-query", "ask again: it is started anew")


def explained(error: BaseException) -> EhrqaError:
    """A Java exception as an error of ours."""
    text, kind, line = str(error), told.kind(error).rsplit(".", 1)[-1], told.told(error)
    if kind in ("ParseException", "AnalysisException"):
        return DatabaseError(f"SQL error: {line}", "`ehrqa db info` lists tables and columns")
    if "SPARK_JOB_CANCELLED" in text or "InterruptedException" in text:
        return Cancelled("the query was interrupted", "run it again when you like")
    if "maxResultSize" in text:
        return LimitExceeded("the answer is too long", "select fewer rows or columns")
    if "OutOfMemoryError" in text or "Not enough memory" in text:
        return LimitExceeded(
            f"the query needs more than {settings.memory()} of memory",
            f"ask about fewer patients or a shorter time, or raise {settings.MEMORY}",
        )
    if "StackOverflowError" in text:
        return LimitExceeded("the query is nested too deeply", "ask for less at once")
    if "FAILED_READ_FILE" in text or "FileNotFoundException" in text:
        hint = "the files may be damaged, or changed since the database was opened; open it again"
        return DatabaseError(f"cannot read the tables: {line}", hint)
    return DatabaseError(f"Spark: {line}", "`ehrqa db info` lists tables and columns")
