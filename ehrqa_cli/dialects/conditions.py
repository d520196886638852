"""Conditions: comparisons, logic, membership and patterns."""

from __future__ import annotations

from sqlglot import expressions as exp

from ehrqa_cli.contracts.dialect import SqlKind
from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.dialects.kinds import TEXTS, Typed
from ehrqa_cli.dialects.scope import Scope
from ehrqa_cli.dialects.writer import PLAIN, Writer, Writers

_COMPARE: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def _compare(to: Writer, node: exp.Expr, scope: Scope) -> Typed:
    left, right = to.both(node, scope)
    return Typed(f"({to.to.compare(left, _COMPARE[type(node)], right)})", SqlKind.BOOLEAN)


def _connect(to: Writer, node: exp.Connector, scope: Scope) -> Typed:
    word = "AND" if isinstance(node, exp.And) else "OR"
    parts = [to.condition(part, scope) for part in node.flatten()]
    return Typed(f"({f' {word} '.join(parts)})", SqlKind.BOOLEAN)


def _not(to: Writer, node: exp.Not, scope: Scope) -> Typed:
    return Typed(f"(NOT {to.condition(node.this, scope)})", SqlKind.BOOLEAN)


def _is(to: Writer, node: exp.Expr, scope: Scope) -> Typed:
    left, right = to.both(node, scope)
    negated = isinstance(node, exp.NullSafeNEQ)
    if right.kind == SqlKind.NULL:
        return Typed(f"({left.sql} IS {'NOT ' if negated else ''}NULL)", SqlKind.BOOLEAN)
    one, other = to.to.alike(left, right)
    return Typed(f"({to.target.same(one, other, negated)})", SqlKind.BOOLEAN)


def _between(to: Writer, node: exp.Between, scope: Scope) -> Typed:
    value = to.write(node.this, scope)
    low, high = to.write(node.args["low"], scope), to.write(node.args["high"], scope)
    both = f"{to.to.compare(value, '>=', low)} AND {to.to.compare(value, '<=', high)}"
    return Typed(f"({both})", SqlKind.BOOLEAN)


def _in(to: Writer, node: exp.In, scope: Scope) -> Typed:
    query = node.args.get("query")
    if isinstance(node.this, exp.Tuple):
        if query is None:
            raise Refused("a row of values in a list is not known", PLAIN)
        row = ", ".join(to.write(part, scope).sql for part in node.this.expressions)
        return Typed(f"(({row}) IN {to.inner(query, scope)[0]})", SqlKind.BOOLEAN)
    value = to.write(node.this, scope)
    if query is not None:
        return _in_query(to, value, query, scope)
    if not node.expressions:
        return Typed("FALSE", SqlKind.BOOLEAN)
    found = [to.write(part, scope) for part in node.expressions]
    pairs = [to.to.alike(value, other) for other in found]
    if {one for one, _ in pairs} == {pairs[0][0]}:
        listed = ", ".join(other for _, other in pairs)
        return Typed(f"({pairs[0][0]} IN ({listed}))", SqlKind.BOOLEAN)
    each = " OR ".join(to.to.compare(value, "=", other) for other in found)
    return Typed(f"({each})", SqlKind.BOOLEAN)


def _in_query(to: Writer, value: Typed, query: exp.Expr, scope: Scope) -> Typed:
    sql, columns = to.inner(query, scope)
    column = Typed("c1", next(iter(columns.kinds.values()), SqlKind.ANY), affinity=True)
    one, other = to.to.alike(value, column)
    if other != "c1":
        sql = f"(SELECT {other} FROM {to.target.derived(sql[1:-1], 'q', ['c1'])})"
    few = value.kind in TEXTS and column.kind in TEXTS and _looks_up(query)
    return Typed(f"({to.target.within(one, sql, few=few)})", SqlKind.BOOLEAN)


def _exists(to: Writer, node: exp.Exists, scope: Scope) -> Typed:
    return Typed(f"EXISTS {to.inner(node.this, scope)[0]}", SqlKind.BOOLEAN)


def _like(to: Writer, node: exp.Expr, scope: Scope) -> Typed:
    escape = None
    if isinstance(node, exp.Escape):
        escape, node = to.write(node.expression, scope).sql, node.this
    text, pattern = (to.to.text(v) for v in to.both(node, scope))
    not_ = "NOT " if node.args.get("negate") else ""
    if isinstance(node, exp.Glob):
        return Typed(f"({not_}{to.target.glob(text, pattern)})", SqlKind.BOOLEAN)
    return Typed(f"({not_}{to.target.like(text, pattern, escape)})", SqlKind.BOOLEAN)


def _looks_up(query: exp.Expr) -> bool:
    """Is it SELECT ... FROM one table WHERE column = 'text'?"""
    query = query.unnest()
    where = query.args.get("where")
    if not isinstance(query, exp.Select) or where is None or query.args.get("joins"):
        return False
    terms = where.this.unnest().flatten() if isinstance(where.this, exp.And) else [where.this]
    return any(
        isinstance(term.unnest(), exp.EQ)
        and any(
            isinstance(side, exp.Literal) and side.is_string for side in term.unnest().args.values()
        )
        for term in terms
    )


WRITERS: Writers = {
    **dict.fromkeys(_COMPARE, _compare),
    exp.And: _connect,
    exp.Or: _connect,
    exp.Not: _not,
    exp.Is: _is,
    exp.NullSafeEQ: _is,
    exp.NullSafeNEQ: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Exists: _exists,
    exp.Like: _like,
    exp.Glob: _like,
    exp.Escape: _like,
}
