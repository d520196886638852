"""One dialect in, another out: the SQL of this program is SQLite's, whatever database it runs on.

A logical form compiles to one NeuralSQL; EHRSQL's gold queries, the models and the user write the
same. ``translate`` writes a statement anew in another database's words, so that it gives what
SQLite would give: it types every expression, because SQLite converts values by itself (a text
that begins with a number, truth as 1 or 0, times as text) and others refuse or, worse, convert
them differently. What has no equal is refused with a reason.

With sqltext, these are the only importers of sqlglot; everything here is imported when the first
query runs on another database than SQLite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import PluginError, Refused

if TYPE_CHECKING:
    from ehrqa_cli.dialects.target import Target

SQLITE = "sqlite"
DIALECTS = (SQLITE, "duckdb", "postgres", "spark")


def translate(
    sql: str,
    dialect: str,
    types: Mapping[str, Mapping[str, str]],
    *,
    now: str | None = None,
    deadline: float = math.inf,
) -> str:
    """``sql`` (one SELECT of SQLite) in ``dialect``; ``types`` are ``Database.types()``, ``now``
    is ``Limits.now``.

    Raises Refused for what the dialect has no equal of, DatabaseError for a table or column that
    is not there, LimitExceeded at ``deadline`` (of time.monotonic), PluginError for a dialect that
    nobody has written down.
    """
    if dialect == SQLITE:
        return sql
    from ehrqa_cli.dialects.kinds import Columns, SqlKind
    from ehrqa_cli.dialects.query import Queries
    from ehrqa_cli.dialects.reading import parse

    known = {kind.value: kind for kind in SqlKind}
    tables = {
        table.lower(): Columns({c.lower(): known.get(t, SqlKind.ANY) for c, t in held.items()})
        for table, held in types.items()
    }
    words = words_of(dialect)
    words.now = now
    try:
        return Queries(words, tables, deadline).whole(parse(sql))
    except RecursionError:
        raise Refused("the SQL is nested too deeply", "write it with fewer brackets") from None


def words_of(dialect: str) -> Target:
    """The words of ``dialect``. Raises PluginError."""
    from ehrqa_cli.dialects.duckdb import DuckDb
    from ehrqa_cli.dialects.postgres import Postgres
    from ehrqa_cli.dialects.spark import Spark

    if dialect == DuckDb.name:
        return DuckDb()
    if dialect == Postgres.name:
        return Postgres()
    if dialect == Spark.name:
        return Spark()
    raise PluginError(
        f"this version writes no SQL for '{dialect}'", f"it knows {', '.join(DIALECTS)}"
    )
