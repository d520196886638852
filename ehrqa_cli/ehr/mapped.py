"""A database of another layout, seen as one of ours through a mapping.

Statements come in SQLite's SQL over our tables. Each name of a table gives way to a SELECT over
the database's own, with only the columns that the statement uses, so that the database's planner
sees one query: conditions reach its indexes, and columns that nobody asks for are not read. What
comes out is SQLite's SQL again; where the database speaks another dialect, ``inner`` translates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from ehrqa_cli import sqltext
from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded, Refused
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result
from ehrqa_cli.ehr import sqlite_guard
from ehrqa_cli.ehr.mapping_fit import Fitted, lacking_words

_REMEMBERED = 64  # a query runs more than once: for its rows, its evidence, its provenance
_LONGEST = Limits(seconds=600.0)


class Mapped(Database):
    """``inner``, which takes SQLite's SQL over its own tables, with ``fitted`` laid over it."""

    def __init__(self, inner: Database, fitted: Fitted, name: str = "") -> None:
        """``name`` is what the user called it, for messages."""
        self.inner = inner
        self.fitted = fitted
        self.name = name or inner.dialect
        self._as_of: str | None = None
        self._rewrite = lru_cache(maxsize=_REMEMBERED)(self._rewritten)

    @classmethod
    def open(cls, target: str) -> Database:
        """As ``ehr.open.open_database``."""
        from ehrqa_cli.ehr.open import open_database

        return open_database(target)

    @property
    def dialect(self) -> str:  # type: ignore[override]  # the database's
        """What the statements end up in."""
        return self.inner.dialect

    @property
    def counts_steps(self) -> bool:  # type: ignore[override]  # the database's
        """Does the database hold to ``Limits.steps``?"""
        return self.inner.counts_steps

    def schema(self) -> Mapping[str, Sequence[str]]:
        """Our tables and columns, those without data among them."""
        return self.fitted.schema()

    def types(self) -> Mapping[str, Mapping[str, str]]:
        """What each column of ours holds."""
        return self.fitted.types()

    def execute(self, sql: str, limits: Limits | None = None) -> Result:
        """Run one SELECT of SQLite's over our tables. Raises Refused, LimitExceeded, Cancelled,
        DatabaseError."""
        limits = limits or Limits()
        if len(sql) > limits.length:
            raise LimitExceeded(
                f"the query is longer than {limits.length:,} characters", "ask for less at once"
            )
        written = self.rewritten(sql)
        return self.inner.execute(written, replace(limits, length=max(limits.length, len(written))))

    def rewritten(self, sql: str) -> str:
        """The statement over the database's own tables, in SQLite's SQL. Raises Refused or
        DatabaseError."""
        sqlite_guard.check_statement(sql)
        return self._rewrite(sql)

    def spelled(self, sql: str) -> str:
        """The statement that really runs. Raises Refused or DatabaseError."""
        return self.inner.spelled(self.rewritten(sql))

    def lacking(self, sql: str) -> str:
        """What the statement asks for that this layout has no data of, in words; "" if nothing."""
        return ", ".join(dict.fromkeys(lacking_words(self.fitted, sql)))

    def _rewritten(self, sql: str) -> str:
        try:
            read = sqltext.reading(sql)
        except RecursionError:
            raise Refused("the SQL is nested too deeply", "write it with fewer brackets") from None
        taken = read.shared & self.fitted.sources
        if taken:
            name = min(taken)
            raise Refused(
                f"WITH {name}: a table of this database has that name", "call it something else"
            )
        spans: list[tuple[int, int, str]] = []
        for used in sorted(read.references, key=lambda r: r.start):
            table = self.fitted.tables.get(used.table)
            if table is None:
                raise DatabaseError(
                    f"SQL error: no such table: {used.table}",
                    "`ehrqa db info` lists tables and columns",
                )
            columns = [c for c in table.table.names() if read.star or c in read.names]
            called = "" if used.aliased else f" AS {used.table}"
            spans.append((used.start, used.end, f"({table.select(columns)}){called}"))
        return sqltext.replace_spans(sql, iter(spans))

    def cancel(self) -> None:
        """End the running query from another thread."""
        self.inner.cancel()

    def fingerprint(self) -> str:
        """The database's, and 8 hex digits of the mapping."""
        return f"{self.inner.fingerprint()}+{self.fitted.mapping.sha256[:8]}"

    def versions(self) -> Mapping[str, str]:
        """The database's, and the mapping with its hash."""
        mapping = self.fitted.mapping
        return {**self.inner.versions(), "schema": f"{mapping.name} sha256:{mapping.sha256[:16]}"}

    @property
    def meta(self) -> Mapping[str, str]:
        """What the database says of itself, and the mapping's name."""
        told: Mapping[str, str] = getattr(self.inner, "meta", {})
        return {**told, "schema": self.fitted.mapping.name}

    def default_as_of(self) -> str:
        """What the database says, or the mapping, else 23:59:00 on 31 December of the year of the
        last event. Raises DatabaseError where there is none."""
        if self._as_of is None:
            self._as_of = self.meta.get("as_of") or self.fitted.mapping.as_of or self._end()
        return self._as_of

    def _end(self) -> str:
        latest = ""
        for name, fitted in self.fitted.tables.items():
            time = fitted.table.time
            if time is not None and fitted.parts and time not in fitted.lacking:
                rows = self.execute(f"SELECT max({time}) FROM {name}", _LONGEST).rows
                latest = max(latest, str(rows[0][0] or ""))
        if not latest[:4].isdigit():
            raise DatabaseError(
                f"{self.name} holds no dated event", "say what now means with --as-of TIME"
            )
        return f"{latest[:4]}-12-31 23:59:00"

    def close(self) -> None:
        """Give the connection back."""
        self.inner.close()
