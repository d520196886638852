"""One query in Spark: a group of jobs under a name, by which it can be ended."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EhrqaError, LimitExceeded
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_spark import engine as engines
from ehrqa_spark import guard, settings, told, values
from ehrqa_spark.engine import Engine

_CHUNK = 100  # rows in one message
_LONGEST = 16  # a row may be this many times Limits.length, for the whole result may
_HANGING = 30.0  # seconds, before the process is ended in which an abandoned query works

_numbers = itertools.count(1)


class Job:
    """The engine that one query runs in, which nobody else ends meanwhile, and its session there
    (set once it is known)."""

    session: Any = None

    def __init__(self) -> None:
        """Start Spark where it does not run. Raises DatabaseError."""
        self.name = f"ehrqa-{next(_numbers)}"
        self._working = ExitStack()
        self.engine: Engine = self._working.enter_context(engines.using(self.name))
        self._stopping = False
        self._over = threading.Event()

    def run(self, sql: str, limits: Limits, tables: list[str]) -> tuple[list[str], Iterator[Row]]:
        """Check the statement, run the very plan that was checked, and read its rows."""
        engine, session = self.engine, self.session
        engine.group(self.name)
        state = session.sessionState()
        parsed = state.sqlParser().parsePlan(sql)
        guard.check_parsed(str(parsed.toJSON()), tables)
        plan = state.executePlan(parsed, engine.no_commands).analyzed()
        guard.check_analyzed(str(plan.toJSON()))
        frame = engine.jvm.org.apache.spark.sql.classic.Dataset.ofRows(session, plan)
        fields = values.fields(str(frame.schema().json()))
        types = [one["type"] for one in fields]
        frame = frame.limit(limits.rows + 1)
        frame = frame.toDF(engine.sequence([f"c{i}" for i in range(len(types))]))
        frame = frame.selectExpr(engine.sequence([f"{values.written(types)} AS r"]))
        most = limits.length * _LONGEST
        frame = frame.selectExpr(engine.sequence([f"IF(LENGTH(r) <= {most}, r, NULL)"]))
        texts = getattr(frame, "as")(engine.jvm.org.apache.spark.sql.Encoders.STRING())
        return [one["name"] for one in fields], self._read(texts.collectAsList(), types)

    def _read(self, listed: Any, types: Sequence[Any]) -> Iterator[Row]:
        try:
            for at in range(0, int(listed.size()), _CHUNK):
                until = min(at + _CHUNK, int(listed.size()))
                chunk = self.engine.jvm.java.lang.String.join("\n", listed.subList(at, until))
                for text in str(chunk).split("\n"):
                    row = values.read(text, types)
                    if row is None:
                        hint = "select fewer rows or columns"
                        raise LimitExceeded("the answer is too long", hint)
                    yield row
        finally:
            self.done()

    def stop(self) -> None:
        """End what runs; a second call does nothing."""
        if not self._stopping:
            self._stopping = True  # in a thread, as Java may not answer
            threading.Thread(target=self.engine.cancel, args=(self.name,), daemon=True).start()

    def abandon(self) -> None:
        """Nobody waits any more; the next query ends the process if this one still works in it."""
        self.stop()
        self.engine.working.discard(self.name)
        threading.Thread(target=self._end_hanging, daemon=True).start()

    def done(self) -> None:
        """It has ended; a second call does nothing."""
        self._working.close()
        if self._stopping and not self._over.is_set():
            # Its tasks may have begun after the last look at them.
            threading.Thread(target=self.engine.settle, args=(True,), daemon=True).start()
        self._over.set()

    def _end_hanging(self) -> None:
        if not self._over.wait(_HANGING) and not self.engine.working:
            self.engine.kill()


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
