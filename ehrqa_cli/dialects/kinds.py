"""What an expression holds, as SQLite would see it: SQLite types values, other databases columns.

SQLite keeps times as text; a server may keep them as timestamps. A column of those is TIMESTAMP
here and stays one as long as nothing looks at its text, so that the database can compare times
and prune by them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ehrqa_cli.contracts.dialect import SqlKind

TEXTS = frozenset({SqlKind.TEXT, SqlKind.DIGITS})
NUMBERS = frozenset({SqlKind.INTEGER, SqlKind.REAL, SqlKind.BOOLEAN})


@dataclass(frozen=True)
class Typed:
    """An expression in the target's SQL and its kind.

    ``affinity`` is true for what stands for a column: SQLite converts the other side of a
    comparison to its type. ``literal`` is the value of a constant. ``prefix`` is a time and its
    unit where the text is the beginning of that time ('2100-12' of a month), so that comparing it
    can become a range. ``folded`` is a text that is compared without its case. ``instant`` is a
    Julian day, and ``apart`` the difference of two, in milliseconds.
    """

    sql: str
    kind: SqlKind = SqlKind.ANY
    affinity: bool = False
    literal: str | int | float | None = None
    prefix: tuple[str, str] | None = None
    folded: bool = False
    instant: str | None = None
    apart: str | None = None


@dataclass
class Columns:
    """The columns of a query or table in order, and what each holds."""

    kinds: dict[str, SqlKind] = field(default_factory=dict)

    def renamed(self, names: list[str]) -> Columns:
        """The same columns under other names (of a CTE or an alias), the first few or all."""
        kept = list(self.kinds.items())
        new = [(names[i] if i < len(names) else old, kind) for i, (old, kind) in enumerate(kept)]
        return Columns(dict(new))
