"""Names: which column a name means, at one level of a query and outside of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.dialect import SqlKind
from ehrqa_cli.dialects.kinds import Columns

if TYPE_CHECKING:
    from sqlglot.expressions import Expr


@dataclass(frozen=True)
class Found:
    """A column: the source it belongs to, its name and kind, and whether that is this level's."""

    source: str
    name: str
    kind: SqlKind
    here: bool


@dataclass
class Scope:
    """One SELECT: its sources by lower-case name, its aliases, and what it is grouped by.

    ``grouped`` is on while the columns of an aggregated SELECT are written: then a column that is
    not among ``keys`` stands for one of its group. ``extreme`` is the single MIN or MAX, whose row
    SQLite takes such columns from: (MIN or MAX, its argument).
    """

    outer: Scope | None = None
    sources: dict[str, Columns] = field(default_factory=dict)
    aliases: dict[str, Expr] = field(default_factory=dict)
    grouped: bool = False
    keys: set[tuple[str, str]] = field(default_factory=set)
    key_texts: set[str] = field(default_factory=set)
    extreme: tuple[str, Expr] | None = None
    using: set[str] = field(default_factory=set)  # columns that tables are joined by

    def find(self, table: str, name: str) -> Found | None:
        """The column that ``table.name`` (table may be empty) means, innermost first."""
        for level, scope in enumerate(self._levels()):
            for source, columns in scope.sources.items():
                if table and source != table.lower():
                    continue
                kind = columns.kinds.get(name.lower())
                if kind is not None:
                    return Found(source, name, kind, here=level == 0)
        return None

    @contextmanager
    def rows(self) -> Iterator[None]:
        """Within, columns are those of single rows: in an aggregate's argument, say."""
        before, self.grouped = self.grouped, False
        try:
            yield
        finally:
            self.grouped = before

    def _levels(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer
