"""One dialect in, another out: the SQL of this program is SQLite's, whatever database it runs on.

A logical form compiles to one NeuralSQL; EHRSQL's gold queries, the models and the user write the
same. ``translate`` writes a statement anew in another database's words, so that it gives what
SQLite would give: it types every expression, because SQLite converts values by itself (a text
that begins with a number, truth as 1 or 0, times as text) and others refuse or, worse, convert
them differently. What has no equal is refused with a reason.

Each database plugin brings its own words (``Database.words``, a ``contracts.dialect.Dialect``).
With sqltext, these are the only importers of sqlglot; nearly everything here is imported when the
first query runs on another database than SQLite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ehrqa_cli.contracts.dialect import Dialect, SqlKind
from ehrqa_cli.contracts.errors import Refused


def translate(
    sql: str,
    words: type[Dialect],
    types: Mapping[str, Mapping[str, str]],
    *,
    now: str | None = None,
    deadline: float = math.inf,
) -> str:
    """``sql`` (one SELECT of SQLite) in ``words``; ``types`` are ``Database.types()``, ``now`` is
    ``Limits.now``.

    Raises Refused for what the dialect has no equal of, DatabaseError for a table or column that
    is not there, LimitExceeded at ``deadline`` (of time.monotonic).
    """
    from ehrqa_cli.dialects.kinds import Columns
    from ehrqa_cli.dialects.query import Queries
    from ehrqa_cli.dialects.reading import parse

    known = {kind.value: kind for kind in SqlKind}
    tables = {
        table.lower(): Columns({c.lower(): known.get(t, SqlKind.ANY) for c, t in held.items()})
        for table, held in types.items()
    }
    try:
        return Queries(words(now), tables, deadline).whole(parse(sql))
    except RecursionError:
        raise Refused("the SQL is nested too deeply", "write it with fewer brackets") from None
