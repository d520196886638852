"""A database of another layout, seen as one of ours through a mapping.

Statements come in SQLite's SQL over our tables. Each name of a table gives way to a SELECT over
the database's own, with only the columns that the statement uses, so that the database's planner
sees one query: conditions reach its indexes, and columns that nobody asks for are not read. What
comes out is SQLite's SQL again; where the database speaks another dialect, ``backend`` translates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ehrqa_cli import sqltext
from ehrqa_cli.contracts.errors import DatabaseError, Refused
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend.rewritten import Rewritten
from ehrqa_cli.ehr.mapping.fit import Fitted, lacking_words


class Mapped(Rewritten):
    """``backend``, which takes SQLite's SQL over its own tables, with ``fitted`` laid over it."""

    def __init__(self, backend: Database, fitted: Fitted, name: str = "") -> None:
        """``name`` is what the user called it, for messages."""
        super().__init__(backend, name)
        self.fitted = fitted

    def schema(self) -> Mapping[str, Sequence[str]]:
        """Our tables and columns, those without data among them."""
        return self.fitted.schema()

    def types(self) -> Mapping[str, Mapping[str, str]]:
        """What each column of ours holds."""
        return self.fitted.types()

    def lacking(self, sql: str) -> str:
        """What the statement asks for that this layout has no data of, in words; "" if nothing."""
        return ", ".join(dict.fromkeys(lacking_words(self.fitted, sql)))

    def rewrite(self, sql: str, limits: Limits) -> str:
        """A checked statement over the database's own tables, in SQLite's SQL. Raises Refused or
        DatabaseError."""
        del limits
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
            columns = [c for c in table.table.names() if c in read.names]
            columns = [*table.names()] if read.star else columns
            called = "" if used.aliased else f" AS {used.table}"
            spans.append((used.start, used.end, f"({table.select(columns)}){called}"))
        return sqltext.replace_spans(sql, iter(spans))

    def fingerprint(self) -> str:
        """The database's, and 8 hex digits of the mapping."""
        return f"{super().fingerprint()}+{self.fitted.mapping.sha256[:8]}"

    def versions(self) -> Mapping[str, str]:
        """The database's, and the mapping with its hash."""
        mapping = self.fitted.mapping
        return {**super().versions(), "schema": f"{mapping.name} sha256:{mapping.sha256[:16]}"}

    @property
    def meta(self) -> Mapping[str, str]:
        """What the database says of itself, and the mapping's name."""
        return {**super().meta, "schema": self.fitted.mapping.name}

    def told_as_of(self) -> str | None:
        """What the database says that now is, or the mapping."""
        return self.meta.get("as_of") or self.fitted.mapping.as_of

    def dated(self) -> Iterator[tuple[str, str]]:
        """(table, column) of what dates events, where the layout has it."""
        for name, fitted in self.fitted.tables.items():
            time = fitted.table.time
            if time is not None and fitted.parts and time not in fitted.lacking:
                yield name, time
