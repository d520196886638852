"""Every kind of expression with its writer; here those of calls and of queries as values."""

from __future__ import annotations

import math
from collections.abc import Callable

from sqlglot import expressions as exp

from ehrqa_cli.contracts.dialect import Dialect, SqlKind
from ehrqa_cli.dialects import conditions, groups, times, values
from ehrqa_cli.dialects.kinds import TEXTS, Columns, Typed
from ehrqa_cli.dialects.scope import Scope
from ehrqa_cli.dialects.writer import Writer, Writers


def _scalar(to: Writer, node: exp.Subquery, scope: Scope) -> Typed:
    query = _first_row(node.unnest())
    sql, columns = to.inner(query, scope)
    kind = next(iter(columns.kinds.values()), SqlKind.ANY)
    return Typed(sql, kind, affinity=_is_column(query))


def _anonymous(to: Writer, node: exp.Anonymous, scope: Scope) -> Typed:
    name = node.name.lower()
    if to.functions.aggregates(name):
        with scope.rows():
            distinct, first = (
                groups.distinct(node.expressions[0]) if node.expressions else ("", None)
            )
            rest = [to.write(part, scope) for part in node.expressions[1:]]
            value = to.write(first, scope) if first is not None else Typed("NULL")
        return to.functions.aggregate(name, value, rest, bool(distinct))
    args = [to.write(part, scope) for part in node.expressions]
    if name in times.NAMES:
        return times.call(name, args, to.target)
    return to.functions.call(name, args)


def _extremes(to: Writer, node: exp.Expr, scope: Scope) -> Typed:
    name = "greatest" if isinstance(node, exp.Greatest) else "least"
    parts = [to.write(part, scope) for part in (node.this, *node.expressions)]
    made, kind = to.to.common(parts)
    nulls = " OR ".join(f"{part} IS NULL" for part in made)
    if kind in TEXTS:
        made[0] = to.target.collated(made[0])
    call = to.functions.called(name, made)
    return Typed(f"CASE WHEN {nulls} THEN NULL ELSE {call} END", kind)


def _first_row(query: exp.Expr) -> exp.Expr:
    """A query that gives one row: SQLite takes the first where there are more."""
    if query.args.get("limit") is not None:
        return query
    if not isinstance(query, exp.Select | exp.SetOperation):
        return query
    alone = isinstance(query, exp.Select) and not query.args.get("group")
    if alone and (query.args.get("from_") is None or groups.aggregates_in(query.expressions)):
        return query
    limited: exp.Expr = query.copy().limit(1)
    return limited


def _is_column(query: exp.Expr) -> bool:
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return False
    return isinstance(query.expressions[0].unalias(), exp.Column | exp.Cast)


_WRITERS: Writers = {
    **values.WRITERS,
    **conditions.WRITERS,
    **groups.WRITERS,
    exp.Subquery: _scalar,
    exp.Anonymous: _anonymous,
    exp.Greatest: _extremes,
    exp.Least: _extremes,
}


def expressions(
    target: Dialect,
    query: Callable[[exp.Expr, Scope | None], tuple[str, Columns]],
    deadline: float = math.inf,
) -> Writer:
    """What writes expressions in ``target``'s words; ``query`` writes the queries within them."""
    return Writer(target, query, _WRITERS, deadline)
