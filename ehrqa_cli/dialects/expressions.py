"""Expressions of SQLite written in a target's words, each with its kind.

An allow-list by construction: what has no line here is refused, never passed on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import expressions as exp

from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded, Refused
from ehrqa_cli.dialects import groups, times
from ehrqa_cli.dialects.coerce import Coercions
from ehrqa_cli.dialects.functions import Functions
from ehrqa_cli.dialects.kinds import TEXTS, Columns, SqlKind, Typed
from ehrqa_cli.dialects.scope import Scope
from ehrqa_cli.dialects.target import Target

if TYPE_CHECKING:
    Write = Callable[[exp.Expr, Scope | None], tuple[str, Columns]]

_COMPARE = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_TYPES = {
    "INT": SqlKind.INTEGER,
    "BIGINT": SqlKind.INTEGER,
    "SMALLINT": SqlKind.INTEGER,
    "TINYINT": SqlKind.INTEGER,
    "BOOLEAN": SqlKind.INTEGER,
    "FLOAT": SqlKind.REAL,
    "DOUBLE": SqlKind.REAL,
    "DECIMAL": SqlKind.REAL,
    "TEXT": SqlKind.TEXT,
    "VARCHAR": SqlKind.TEXT,
    "CHAR": SqlKind.TEXT,
}


class Expressions:
    """Writes expressions; ``query`` writes the queries within them."""

    def __init__(self, target: Target, query: Write, deadline: float = math.inf) -> None:
        self.deadline = deadline  # of time.monotonic
        self.target = target
        self.query = query
        self.to = Coercions(target)
        self.functions = Functions(target, self.to)

    def write(self, node: exp.Expr, scope: Scope) -> Typed:
        """One expression. Raises Refused, DatabaseError for a column that is not there, or
        LimitExceeded for what takes too long."""
        if time.monotonic() > self.deadline:
            raise LimitExceeded("the query takes too long to read", "ask for less at once")
        keyed = scope.grouped and not isinstance(node, exp.Literal | exp.Column)
        if keyed and node.sql().lower() in scope.key_texts:
            with scope.rows():
                return self.write(node, scope)
        kind = type(node)
        if kind in _COMPARE:
            left, right = self._both(node, scope)
            return Typed(f"({self.to.compare(left, _COMPARE[kind], right)})", SqlKind.BOOLEAN)
        if kind in _ARITHMETIC:
            return self._arithmetic(node, _ARITHMETIC[kind], scope)
        made = _WRITERS.get(kind) or groups.WRITERS.get(kind)
        if made is None:
            raise Refused(f"{kind.__name__.upper()} is not known on {self.target.name}", _PLAIN)
        nothing_else(node, _ARGS.get(kind, frozenset()))
        return made(self, node, scope)

    def condition(self, node: exp.Expr, scope: Scope) -> str:
        """An expression that is to be true."""
        return self.to.truth(self.write(node, scope))

    # --- names and values

    def _column(self, node: exp.Column, scope: Scope) -> Typed:
        if isinstance(node.this, exp.Star):
            return Typed("*" if not node.table else f"{self._name(node.table)}.*")
        name = node.name
        found = scope.find(node.table, name)
        if found is None:
            return self._no_column(node, scope)
        source = f"{self._name(found.source)}." if node.table or len(scope.sources) > 1 else ""
        if not found.here and not node.table:
            source = f"{self._name(found.source)}."
        sql = source + self._name(name)
        keyed = (found.source, name.lower()) in scope.keys
        if scope.grouped and found.here and not keyed:
            with scope.rows():
                if scope.extreme is not None:
                    way, of = scope.extreme
                    other = self.write(of, scope).sql
                    itself = other == sql and found.kind not in TEXTS
                    sql = f"{way}({sql})" if itself else self.target.value_at(sql, other, way)
                else:
                    sql = self.target.any_value(sql)
        return Typed(sql, found.kind, affinity=True)

    def _no_column(self, node: exp.Column, scope: Scope) -> Typed:
        alias = scope.aliases.get(node.name.lower())
        if alias is not None and not node.table:
            made = self.write(alias, scope)
            return Typed(f"({made.sql})", made.kind, made.affinity, made.literal, made.prefix)
        if node.this.args.get("quoted") and not node.table:
            # SQLite takes a quoted name that is no column for text.
            return Typed(self.target.text(node.name), SqlKind.TEXT, literal=node.name)
        name = f"{node.table}.{node.name}" if node.table else node.name
        raise DatabaseError(
            f"SQL error: no such column: {name}", "`ehrqa db info` lists tables and columns"
        )

    def _literal(self, node: exp.Literal, scope: Scope) -> Typed:
        del scope
        if node.is_string:
            return Typed(self.target.text(node.this), SqlKind.TEXT, literal=node.this)
        try:
            if node.this.isdecimal():
                return Typed(node.this, SqlKind.INTEGER, literal=int(node.this))
            return Typed(self.target.real(node.this), SqlKind.REAL, literal=float(node.this))
        except ValueError:  # 1e, or thousands of digits
            raise Refused(f"{node.this[:40]} is not a number", "write it out") from None

    def _name(self, name: str) -> str:
        return self.target.identifier(name)

    # --- arithmetic and logic

    def _both(self, node: exp.Expr, scope: Scope) -> tuple[Typed, Typed]:
        return self.write(node.this, scope), self.write(node.expression, scope)

    def _arithmetic(self, node: exp.Expr, sign: str, scope: Scope) -> Typed:
        one, other = self._both(node, scope)
        left, right = self.to.number(one), self.to.number(other)
        whole = left.kind == right.kind == SqlKind.INTEGER
        kind = SqlKind.INTEGER if whole else SqlKind.REAL
        days = sign == "-" and one.instant and other.instant
        apart = f"({one.instant} - {other.instant})" if days else None
        if whole and sign == "*":
            return Typed(f"({self.target.times_whole(left.sql, right.sql)})", kind)
        return Typed(f"({left.sql} {sign} {right.sql})", kind, apart=apart)

    def _divide(self, node: exp.Div, scope: Scope) -> Typed:
        left, right = (self.to.number(v) for v in self._both(node, scope))
        if left.kind == right.kind == SqlKind.INTEGER:
            return Typed(f"({self.target.divide_whole(left.sql, right.sql)})", SqlKind.INTEGER)
        return Typed(f"({left.sql} / NULLIF({right.sql}, 0))", SqlKind.REAL)

    def _modulo(self, node: exp.Mod, scope: Scope) -> Typed:
        left, right = (self._whole(self.to.number(v)) for v in self._both(node, scope))
        return Typed(f"({left} % NULLIF({right}, 0))", SqlKind.INTEGER)

    def _whole(self, value: Typed) -> str:
        return value.sql if value.kind == SqlKind.INTEGER else self.target.whole(value.sql)

    def _negative(self, node: exp.Neg, scope: Scope) -> Typed:
        value = self.to.number(self.write(node.this, scope))
        literal = -value.literal if isinstance(value.literal, int | float) else None
        return Typed(f"(-({value.sql}))", value.kind, literal=literal)

    def _paren(self, node: exp.Paren, scope: Scope) -> Typed:
        value = self.write(node.this, scope)
        return replace(value, sql=f"({value.sql})", folded=False)

    def _connect(self, node: exp.Connector, scope: Scope) -> Typed:
        word = "AND" if isinstance(node, exp.And) else "OR"
        parts = [self.condition(part, scope) for part in node.flatten()]
        return Typed(f"({f' {word} '.join(parts)})", SqlKind.BOOLEAN)

    def _not(self, node: exp.Not, scope: Scope) -> Typed:
        return Typed(f"(NOT {self.condition(node.this, scope)})", SqlKind.BOOLEAN)

    def _is(self, node: exp.Expr, scope: Scope) -> Typed:
        left, right = self._both(node, scope)
        negated = isinstance(node, exp.NullSafeNEQ)
        if right.kind == SqlKind.NULL:
            return Typed(f"({left.sql} IS {'NOT ' if negated else ''}NULL)", SqlKind.BOOLEAN)
        one, other = self.to.alike(left, right)
        return Typed(f"({self.target.same(one, other, negated)})", SqlKind.BOOLEAN)

    def _between(self, node: exp.Between, scope: Scope) -> Typed:
        value = self.write(node.this, scope)
        low, high = self.write(node.args["low"], scope), self.write(node.args["high"], scope)
        both = f"{self.to.compare(value, '>=', low)} AND {self.to.compare(value, '<=', high)}"
        return Typed(f"({both})", SqlKind.BOOLEAN)

    def _in(self, node: exp.In, scope: Scope) -> Typed:
        query = node.args.get("query")
        if isinstance(node.this, exp.Tuple):
            if query is None:
                raise Refused("a row of values in a list is not known", _PLAIN)
            row = ", ".join(self.write(part, scope).sql for part in node.this.expressions)
            return Typed(f"(({row}) IN {self._inner(query, scope)[0]})", SqlKind.BOOLEAN)
        value = self.write(node.this, scope)
        if query is not None:
            return self._in_query(value, query, scope)
        if not node.expressions:
            return Typed("FALSE", SqlKind.BOOLEAN)
        found = [self.write(part, scope) for part in node.expressions]
        pairs = [self.to.alike(value, other) for other in found]
        if {one for one, _ in pairs} == {pairs[0][0]}:
            listed = ", ".join(other for _, other in pairs)
            return Typed(f"({pairs[0][0]} IN ({listed}))", SqlKind.BOOLEAN)
        each = " OR ".join(self.to.compare(value, "=", other) for other in found)
        return Typed(f"({each})", SqlKind.BOOLEAN)

    def _in_query(self, value: Typed, query: exp.Expr, scope: Scope) -> Typed:
        sql, columns = self._inner(query, scope)
        column = Typed("c1", next(iter(columns.kinds.values()), SqlKind.ANY), affinity=True)
        one, other = self.to.alike(value, column)
        if other != "c1":
            sql = f"(SELECT {other} FROM {sql} AS q(c1))"
        few = value.kind in TEXTS and column.kind in TEXTS and _looks_up(query)
        return Typed(f"({self.target.within(one, sql, few=few)})", SqlKind.BOOLEAN)

    def _inner(self, query: exp.Expr, scope: Scope) -> tuple[str, Columns]:
        while isinstance(query, exp.Subquery | exp.Paren) and not query.args.get("limit"):
            query = query.this
        with scope.rows():
            sql, columns = self.query(query, scope)
        return f"({sql})", columns

    def _exists(self, node: exp.Exists, scope: Scope) -> Typed:
        return Typed(f"EXISTS {self._inner(node.this, scope)[0]}", SqlKind.BOOLEAN)

    def _scalar(self, node: exp.Subquery, scope: Scope) -> Typed:
        query = _first_row(node.unnest())
        sql, columns = self._inner(query, scope)
        kind = next(iter(columns.kinds.values()), SqlKind.ANY)
        return Typed(sql, kind, affinity=_is_column(query))

    # --- choices

    def _case(self, node: exp.Case, scope: Scope) -> Typed:
        subject = self.write(node.this, scope) if node.this else None
        whens: list[str] = []
        for arm in node.args["ifs"]:
            if subject is None:
                whens.append(self.condition(arm.this, scope))
            else:
                whens.append(self.to.compare(subject, "=", self.write(arm.this, scope)))
        values = [self.write(arm.args["true"], scope) for arm in node.args["ifs"]]
        default = node.args.get("default")
        values.append(self.write(default, scope) if default else Typed("NULL", SqlKind.NULL))
        made, kind = self.to.common(values)
        arms = " ".join(f"WHEN {w} THEN {v}" for w, v in zip(whens, made, strict=False))
        return Typed(f"CASE {arms} ELSE {made[-1]} END", kind)

    def _cast(self, node: exp.Cast, scope: Scope) -> Typed:
        value = self.write(node.this, scope)
        kind = _TYPES.get(node.to.this.name)
        if kind is None:
            raise Refused(f"CAST to {node.to.sql()} is not known", "use INTEGER, REAL or TEXT")
        if kind == SqlKind.TEXT:
            return Typed(self.to.text(value), kind, affinity=True)
        number = self.to.number(value)
        if kind == SqlKind.INTEGER:
            return Typed(self._whole(number), kind, affinity=True)
        return Typed(self.target.cast(number.sql, self.target.real_type), kind, affinity=True)

    def _like(self, node: exp.Expr, scope: Scope) -> Typed:
        escape = None
        if isinstance(node, exp.Escape):
            escape, node = self.write(node.expression, scope).sql, node.this
        text, pattern = (self.to.text(v) for v in self._both(node, scope))
        not_ = "NOT " if node.args.get("negate") else ""
        if isinstance(node, exp.Glob):
            return Typed(f"({not_}{self.target.glob(text, pattern)})", SqlKind.BOOLEAN)
        return Typed(f"({not_}{self.target.like(text, pattern, escape)})", SqlKind.BOOLEAN)

    def _joined(self, node: exp.DPipe, scope: Scope) -> Typed:
        parts = [self.to.text(v) for v in self._both(node, scope)]
        return Typed(f"({parts[0]} || {parts[1]})", SqlKind.TEXT)

    def _collate(self, node: exp.Collate, scope: Scope) -> Typed:
        value = self.write(node.this, scope)
        if node.expression.name.lower() == "binary" or value.kind not in TEXTS:
            return value
        if node.expression.name.lower() != "nocase":
            raise Refused(f"the collation {node.expression.name} is not known", _PLAIN)
        return Typed(self.target.no_case(value.sql), value.kind, value.affinity, folded=True)

    def ordered(self, term: exp.Expr, scope: Scope, own: Typed | None = None) -> str:
        """A term of ORDER BY: NULL is the least value of all, as SQLite has it. ``own`` is a
        column of the result that it means."""
        inner = term.this if isinstance(term, exp.Ordered) else term
        made = own or self.write(inner, scope)
        desc = bool(term.args.get("desc"))
        first = term.args.get("nulls_first")
        first = not desc if first is None else bool(first)
        text = made.kind in TEXTS
        return self.target.ordered(made.sql, text=text, desc=desc, nulls_first=first)

    # --- functions

    def _anonymous(self, node: exp.Anonymous, scope: Scope) -> Typed:
        name = node.name.lower()
        if self.functions.aggregates(name):
            with scope.rows():
                distinct, first = (
                    groups.distinct(node.expressions[0]) if node.expressions else ("", None)
                )
                rest = [self.write(part, scope) for part in node.expressions[1:]]
                value = self.write(first, scope) if first is not None else Typed("NULL")
            return self.functions.aggregate(name, value, rest, bool(distinct))
        args = [self.write(part, scope) for part in node.expressions]
        if name in times.NAMES:
            return times.call(name, args, self.target)
        return self.functions.call(name, args)

    def _extremes(self, node: exp.Expr, scope: Scope) -> Typed:
        name = "greatest" if isinstance(node, exp.Greatest) else "least"
        parts = [self.write(part, scope) for part in (node.this, *node.expressions)]
        made, kind = self.to.common(parts)
        nulls = " OR ".join(f"{part} IS NULL" for part in made)
        if kind in TEXTS:
            made[0] = self.target.collated(made[0])
        call = f"{name.upper()}({', '.join(made)})"
        return Typed(f"CASE WHEN {nulls} THEN NULL ELSE {call} END", kind)

    def _null(self, node: exp.Expr, scope: Scope) -> Typed:
        del node, scope
        return Typed("NULL", SqlKind.NULL)

    def _boolean(self, node: exp.Boolean, scope: Scope) -> Typed:
        del scope
        return Typed("1" if node.this else "0", SqlKind.INTEGER, literal=int(node.this))


_PLAIN = "write the query with ordinary SQL only"
# Parts of a node beside its operands that are read; one that is not must not be lost in silence.
_ARGS: dict[type[Any], frozenset[str]] = {
    exp.Column: frozenset({"table"}),
    exp.Literal: frozenset({"is_string"}),
    exp.Div: frozenset({"typed", "safe"}),
    exp.DPipe: frozenset({"safe"}),
    exp.Between: frozenset({"low", "high"}),
    exp.In: frozenset({"query"}),
    exp.Case: frozenset({"ifs", "default"}),
    exp.Cast: frozenset({"to"}),
    exp.Like: frozenset({"negate"}),
    exp.Glob: frozenset({"negate"}),
    exp.Count: frozenset({"big_int"}),
    exp.Lag: frozenset({"offset", "default"}),
    exp.Lead: frozenset({"offset", "default"}),
    exp.NthValue: frozenset({"offset"}),
    exp.Window: frozenset({"partition_by", "order", "spec", "over"}),
    exp.Greatest: frozenset({"ignore_nulls"}),
    exp.Least: frozenset({"ignore_nulls"}),
}
_OPERANDS = frozenset({"this", "expression", "expressions"})


def nothing_else(node: exp.Expr, known: frozenset[str]) -> None:
    """Raise Refused for a part of a node that nobody would write out."""
    for name, part in node.args.items():
        if part and name not in _OPERANDS and name not in known:
            what = name.strip("_").replace("_", " ").upper()
            raise Refused(f"{what} in {type(node).__name__.upper()} is not known here", _PLAIN)


_WRITERS: dict[type[Any], Callable[[Expressions, Any, Scope], Typed]] = {
    exp.Column: Expressions._column,
    exp.Literal: Expressions._literal,
    exp.Null: Expressions._null,
    exp.Boolean: Expressions._boolean,
    exp.Paren: Expressions._paren,
    exp.And: Expressions._connect,
    exp.Or: Expressions._connect,
    exp.Not: Expressions._not,
    exp.Neg: Expressions._negative,
    exp.Div: Expressions._divide,
    exp.Mod: Expressions._modulo,
    exp.Is: Expressions._is,
    exp.NullSafeEQ: Expressions._is,
    exp.NullSafeNEQ: Expressions._is,
    exp.Between: Expressions._between,
    exp.In: Expressions._in,
    exp.Exists: Expressions._exists,
    exp.Subquery: Expressions._scalar,
    exp.Case: Expressions._case,
    exp.Cast: Expressions._cast,
    exp.Like: Expressions._like,
    exp.Glob: Expressions._like,
    exp.Escape: Expressions._like,
    exp.DPipe: Expressions._joined,
    exp.Collate: Expressions._collate,
    exp.Anonymous: Expressions._anonymous,
    exp.Greatest: Expressions._extremes,
    exp.Least: Expressions._extremes,
}


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
