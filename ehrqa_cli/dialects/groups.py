"""Aggregates and windows: what looks at many rows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import expressions as exp

from ehrqa_cli.contracts.dialect import SqlKind
from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.dialects.functions import Functions
from ehrqa_cli.dialects.kinds import TEXTS, Typed
from ehrqa_cli.dialects.scope import Scope
from ehrqa_cli.dialects.writer import Writer, Writers

AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
}
_RANKS: dict[type[exp.Expr], tuple[str, SqlKind]] = {
    exp.RowNumber: ("ROW_NUMBER", SqlKind.INTEGER),
    exp.Rank: ("RANK", SqlKind.INTEGER),
    exp.DenseRank: ("DENSE_RANK", SqlKind.INTEGER),
    exp.PercentRank: ("PERCENT_RANK", SqlKind.REAL),
    exp.CumeDist: ("CUME_DIST", SqlKind.REAL),
    exp.Ntile: ("NTILE", SqlKind.INTEGER),
}
_SHIFTS: dict[type[exp.Expr], str] = {
    exp.Lag: "LAG",
    exp.Lead: "LEAD",
    exp.FirstValue: "FIRST_VALUE",
    exp.LastValue: "LAST_VALUE",
    exp.NthValue: "NTH_VALUE",
}


def _aggregate(
    to: Writer, node: exp.Expr, scope: Scope, where: str = "", window: bool = False
) -> Typed:
    """An aggregate of the rows of a group (those with ``where``), or of a window."""
    name = AGGREGATES[type(node)]
    tail = f" FILTER (WHERE {where})" if where else ""
    with scope.rows():
        if isinstance(node, exp.Count):
            return Typed(f"COUNT({_counted(to, node, scope)}){tail}", SqlKind.INTEGER)
        once, arg = distinct(node.this)
        value = to.write(arg, scope)
    if name in ("MIN", "MAX"):
        value = Typed(_extreme(to, value), value.kind)
        kind: SqlKind = SqlKind.INTEGER if value.kind == SqlKind.BOOLEAN else value.kind
    else:
        value = to.to.number(value)
        kind = SqlKind.REAL if isinstance(node, exp.Avg) else value.kind
        if value.kind == SqlKind.REAL and not once and not window:
            kept = f"CASE WHEN {where} THEN {value.sql} END" if where else value.sql
            if (steady := to.target.steady(name, kept)) is not None:
                return Typed(steady, kind)
        name = to.target.summing(name, real=value.kind == SqlKind.REAL)
        if isinstance(node, exp.Avg):
            value = Typed(to.target.averaged(value.sql), value.kind)
    return Typed(f"{name}({once}{value.sql}){tail}", kind)


def _extreme(to: Writer, value: Typed) -> str:
    """What MIN or MAX is of."""
    return to.target.collated(value.sql) if value.kind in TEXTS else to.to.plain(value)


def _counted(to: Writer, node: exp.Count, scope: Scope) -> str:
    if node.this is None or isinstance(node.this, exp.Star):
        return "*"
    once, arg = distinct(node.this)
    return once + to.write(arg, scope).sql


def _rank(to: Writer, node: exp.Expr, scope: Scope) -> Typed:
    name, kind = _RANKS[type(node)]
    inside = to.write(node.this, scope).sql if isinstance(node, exp.Ntile) else ""
    return Typed(f"{name}({inside})", kind)


def _shift(to: Writer, node: exp.Expr, scope: Scope) -> Typed:
    value = to.write(node.this, scope)
    more = [node.args.get("offset"), node.args.get("default")]
    args = [value.sql, *(to.write(part, scope).sql for part in more if part is not None)]
    return Typed(f"{_SHIFTS[type(node)]}({', '.join(args)})", value.kind)


def _window(to: Writer, node: exp.Window, scope: Scope) -> Typed:
    value = _windowed(to, node.this, scope)
    parts: list[str] = []
    if node.args.get("partition_by"):
        keys = [to.write(part, scope).sql for part in node.args["partition_by"]]
        parts.append("PARTITION BY " + ", ".join(keys))
    if node.args.get("order"):
        terms = [to.ordered(term, scope) for term in node.args["order"].expressions]
        parts.append("ORDER BY " + ", ".join(terms))
    if node.args.get("spec"):
        parts.append(node.args["spec"].sql().upper())
    return Typed(f"{value.sql} OVER ({' '.join(parts)})", value.kind)


def _windowed(to: Writer, node: exp.Expr, scope: Scope) -> Typed:
    """The function of a window; SUM(COUNT(*)) OVER () has an aggregate within it."""
    if type(node) not in AGGREGATES:
        return to.write(node, scope)
    if not scope.grouped:
        return _aggregate(to, node, scope, window=True)
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return Typed("COUNT(*)", SqlKind.INTEGER)
    value = to.write(node.this, scope)
    name = AGGREGATES[type(node)]
    kind = {"COUNT": SqlKind.INTEGER, "AVG": SqlKind.REAL}.get(name, value.kind)
    if name in ("SUM", "AVG"):
        value = to.to.number(value)
        name = to.target.summing(name, real=value.kind == SqlKind.REAL)
        if isinstance(node, exp.Avg):
            value = Typed(to.target.averaged(value.sql), value.kind)
    elif name in ("MIN", "MAX"):
        kind = SqlKind.INTEGER if kind == SqlKind.BOOLEAN else kind
        value = Typed(_extreme(to, value), kind)
    return Typed(f"{name}({value.sql})", kind)


def _filter(to: Writer, node: exp.Filter, scope: Scope) -> Typed:
    with scope.rows():
        where = to.condition(node.expression.this, scope)
    if type(node.this) in AGGREGATES:
        return _aggregate(to, node.this, scope, where)
    value = to.write(node.this, scope)
    return Typed(f"{value.sql} FILTER (WHERE {where})", value.kind)


WRITERS: Writers = {
    **dict.fromkeys(AGGREGATES, _aggregate),
    **dict.fromkeys(_RANKS, _rank),
    **dict.fromkeys(_SHIFTS, _shift),
    exp.Window: _window,
    exp.Filter: _filter,
}


def distinct(node: exp.Expr) -> tuple[str, exp.Expr]:
    """``DISTINCT `` or nothing, and the argument of an aggregate."""
    if isinstance(node, exp.Distinct):
        if len(node.expressions) != 1:
            raise Refused(
                "DISTINCT of several columns in a function is not known",
                "count them in a query within",
            )
        return "DISTINCT ", node.expressions[0]
    return "", node


def is_aggregate(node: exp.Expr) -> bool:
    """Does a node itself aggregate the rows of a group?"""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in Functions.AGGREGATES
    return type(node) in AGGREGATES


def aggregates_in(nodes: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The aggregates of these expressions, those of windows and of queries within left out."""
    found: list[exp.Expr] = []
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Query | exp.Subquery):
            continue
        if is_aggregate(node):
            found.append(node)
            continue
        if isinstance(node, exp.Window):  # its own function is no aggregate, what is inside may be
            stack += [part for part in node.this.args.values() if isinstance(part, exp.Expr)]
            stack += [*(node.args.get("partition_by") or []), node.args.get("order") or exp.Null()]
            continue
        stack += list(node.iter_expressions())
    return found
