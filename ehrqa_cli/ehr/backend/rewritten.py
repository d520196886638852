"""A database behind a layer that writes each statement anew: what all such layers share."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result
from ehrqa_cli.ehr.backend import guard as sqlite_guard
from ehrqa_cli.ehr.backend.now import end_of
from ehrqa_cli.sqltext import check_size

_REMEMBERED = 64  # a query runs more than once: for its rows, its evidence, its provenance


class Rewritten(Database):
    """Takes SQLite's SQL, checks it, and gives ``backend`` what ``rewrite`` makes of it; all else
    is the backend's."""

    def __init__(self, backend: Database, name: str = "") -> None:
        """``name`` is what the user called it, for messages."""
        self.backend = backend
        self.name = name or backend.dialect
        self._as_of: str | None = None
        self._kept: dict[str, tuple[str | None, str]] = {}  # by statement: Limits.now, rewritten

    @classmethod
    def open(cls, target: str) -> Database:
        """Not so: it is laid over a database that is open already. Raises DatabaseError."""
        raise DatabaseError(f"{target} is not opened here", "open its backend")

    @abstractmethod
    def rewrite(self, sql: str, limits: Limits) -> str:
        """A checked statement as the backend takes it. Raises Refused, LimitExceeded (of
        ``limits.seconds``) or DatabaseError."""

    @abstractmethod
    def dated(self) -> Iterable[tuple[str, str]]:
        """(table, column) of what dates events, of tables that are there."""

    @property
    def dialect(self) -> str:  # type: ignore[override]  # its backend's
        """What the statements end up in."""
        return self.backend.dialect

    @property
    def counts_steps(self) -> bool:  # type: ignore[override]  # its backend's
        """Does the backend hold to ``Limits.steps``?"""
        return self.backend.counts_steps

    def schema(self) -> Mapping[str, Sequence[str]]:
        """Table name to column names."""
        return self.backend.schema()

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        """Run one SELECT of SQLite's. Raises Refused, LimitExceeded, Cancelled, DatabaseError."""
        limits = limits or Limits()
        if len(sql) > limits.length:
            raise LimitExceeded(
                f"the query is longer than {limits.length:,} characters", "ask for less at once"
            )
        started = time.monotonic()
        known = self._kept.get(sql)
        written = known[1] if known and known[0] == limits.now else self._rewrite(sql, limits)
        left = max(limits.seconds - (time.monotonic() - started), 0.001)
        length = max(limits.length, len(written))
        try:
            return self.backend.execute(written, replace(limits, seconds=left, length=length))
        except LimitExceeded as error:  # it speaks of the time that was left
            told = error.message.replace(f"{left:g} s", f"{limits.seconds:g} s")
            raise LimitExceeded(told, error.hint) from error

    def rewritten(self, sql: str) -> str:
        """The statement as the backend takes it, as it was last run. Raises Refused, LimitExceeded
        or DatabaseError."""
        known = self._kept.get(sql)
        return known[1] if known else self._rewrite(sql, Limits())

    def _rewrite(self, sql: str, limits: Limits) -> str:
        sqlite_guard.check_statement(sql)
        check_size(sql, limits.seconds)
        written = self.rewrite(sql, limits)
        if len(self._kept) >= _REMEMBERED:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[sql] = limits.now, written
        return written

    def spelled(self, sql: str) -> str:
        """The statement that really runs. Raises Refused or DatabaseError."""
        return self.backend.spelled(self.rewritten(sql))

    def cancel(self) -> None:
        """End the running query from another thread."""
        self.backend.cancel()

    def fingerprint(self) -> str:
        """The backend's."""
        return self.backend.fingerprint()

    def versions(self) -> Mapping[str, str]:
        """The backend's."""
        return self.backend.versions()

    @property
    def meta(self) -> Mapping[str, str]:
        """What the importer wrote about the data, where the backend tells."""
        told: Mapping[str, str] = getattr(self.backend, "meta", {})
        return told

    def default_as_of(self) -> str:
        """What is told (``told_as_of``), else 23:59:00 on 31 December of the year of the last
        event. Raises DatabaseError where there is none."""
        if self._as_of is None:
            self._as_of = self.told_as_of() or end_of(self, self.dated(), self.name)
        return self._as_of

    def told_as_of(self) -> str | None:
        """What the backend says that now is, if it says."""
        return self.backend.default_as_of()

    def close(self) -> None:
        """Give the connection back."""
        self.backend.close()
