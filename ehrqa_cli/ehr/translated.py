"""A database that does not speak SQLite's dialect, seen as one that does.

Everything above writes SQLite's SQL; this writes each statement in the backend's own words right
before it runs, so that nothing above knows which database it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result
from ehrqa_cli.dialects import translate
from ehrqa_cli.ehr import schema as ehr_schema
from ehrqa_cli.ehr import sqlite_guard

_REMEMBERED = 64  # a query runs more than once: for its rows, its evidence, its provenance
_LONGEST = Limits(seconds=600.0)


class Translated(Database):
    """``backend`` with every statement translated; all else is the backend's."""

    def __init__(self, backend: Database, name: str = "") -> None:
        """``name`` is what the user called it, for messages."""
        self.backend = backend
        self.name = name or backend.dialect
        self._types = backend.types()
        self._as_of: str | None = None
        self._translate = lru_cache(maxsize=_REMEMBERED)(self._translated)

    @classmethod
    def open(cls, target: str) -> Database:
        """As ``ehr.open.open_database``."""
        from ehrqa_cli.ehr.open import open_database

        return open_database(target)

    @property
    def dialect(self) -> str:  # type: ignore[override]  # its backend's
        """What the statements are written in."""
        return self.backend.dialect

    def schema(self) -> Mapping[str, Sequence[str]]:
        """Table name to column names."""
        return self.backend.schema()

    def types(self) -> Mapping[str, Mapping[str, str]]:
        """What each column holds."""
        return self._types

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        """Run one SELECT of SQLite's. Raises Refused, LimitExceeded, Cancelled, DatabaseError."""
        limits = limits or Limits()
        if len(sql) > limits.length:
            raise LimitExceeded(
                f"the query is longer than {limits.length:,} characters", "ask for less at once"
            )
        written = self.spelled(sql)
        return self.backend.execute(
            written, replace(limits, length=max(limits.length, len(written)))
        )

    def spelled(self, sql: str) -> str:
        """The statement in the backend's dialect. Raises Refused or DatabaseError."""
        sqlite_guard.check_statement(sql)
        return self._translate(sql)

    def _translated(self, sql: str) -> str:
        return translate(sql, self.backend.dialect, self._types)

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
        """What the backend says, else 23:59:00 on 31 December of the year of the last event."""
        if self._as_of is None:
            self._as_of = self.backend.default_as_of() or self._end()
        return self._as_of

    def _end(self) -> str:
        present = {name.lower() for name in self.schema()}
        latest = ""
        for name, table in ehr_schema.BY_NAME.items():
            if table.time is not None and name in present:
                rows = self.execute(f"SELECT max({table.time}) FROM {name}", _LONGEST).rows
                latest = max(latest, str(rows[0][0] or ""))
        if not latest[:4].isdigit():
            raise DatabaseError(
                f"{self.name} holds no dated event", "say what now means with --as-of TIME"
            )
        return f"{latest[:4]}-12-31 23:59:00"

    def close(self) -> None:
        """Give the connection back."""
        self.backend.close()
