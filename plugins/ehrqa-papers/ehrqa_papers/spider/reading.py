"""SQL text into Spider's components, by sqlglot's tree.

Spider's grammar is small: one SELECT with plain joins, five aggregates, two-term arithmetic, flat
conditions, INTERSECT, UNION or EXCEPT. A query with anything else has no components; the official
evaluation counts it as an empty query, and so do we.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.sqltext import parse_select, tokens
from ehrqa_papers.spider.query import Column, Condition, Conditions, Query, Selected, Term
from ehrqa_papers.spider.schemas import SpiderSchema

Node = Any  # a tree node of sqltext.parse_select; this room does not import its library

LONGEST = 20_000  # characters
AGGREGATES = frozenset({"max", "min", "count", "sum", "avg"})
_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_OPERATORS = {
    "eq": "=",
    "neq": "!=",
    "gt": ">",
    "lt": "<",
    "gte": ">=",
    "lte": "<=",
    "like": "like",
    "in": "in",
    "is": "is",
    "between": "between",
}
_NEGATED = frozenset({"like", "in", "between"})
_COMBINED = frozenset({"union", "intersect", "except"})
_CLAUSES = ("select", "from", "where", "group", "having", "order", "limit")
_PARTS = frozenset(
    ("kind", "hint", "distinct", "expressions", "from", "from_", "joins", "limit", "offset")
) | frozenset(_CLAUSES)


class Unreadable(Exception):
    """The SQL has no place in Spider's components; the text says why."""


def read_sql(sql: str, schema: SpiderSchema) -> Query:
    """The components of ``sql``. Raises Unreadable."""
    if len(sql) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST:,} characters")
    try:
        tree = parse_select(_in_order(sql))
        return _Reader(schema, tree).query(tree)
    except Refused as error:
        raise Unreadable(error.message) from None
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None


def _in_order(sql: str) -> str:
    """``sql`` up to the first clause that comes out of order.

    The official parser takes clauses in their order and never looks at what is left over, so that
    ``... GROUP BY a WHERE b = 1`` counts as a query without WHERE; the published figures need it.
    Inside brackets the closing one is then missing. Raises Refused and Unreadable.
    """
    reached = [-1]
    before = None
    for token in tokens(sql):
        word = token.text.lower().split(" ")[0] if token.kind == "word" else ""
        if token.text == "(" and word:
            reached.append(-1)
        elif token.text == ")" and word and len(reached) > 1:
            reached.pop()
        elif word in _COMBINED:
            reached[-1] = -1
        elif word in _CLAUSES and before != ".":
            if _CLAUSES.index(word) <= reached[-1]:
                if len(reached) > 1:
                    raise Unreadable(f"{word.upper()} comes out of order inside brackets")
                return sql[: token.start]
            reached[-1] = _CLAUSES.index(word)
        before = token.text
    return sql


class _Reader:
    """Reads the tree of one statement. Aliases hold in the whole of it, the last one of a name
    everywhere: a query whose inner SELECT gives T1 to another table therefore often has no such
    column outside, and the published figures count it as unreadable."""

    def __init__(self, schema: SpiderSchema, tree: Node) -> None:
        self._schema = schema
        self._aliases: Mapping[str, str] = _aliases(tree)

    def query(self, node: Node) -> Query:
        """A SELECT, or several joined by INTERSECT, UNION and EXCEPT. The first is combined with
        all that follows, and ORDER BY and LIMIT are of the last."""
        node = _bare(node)
        if node.key not in _COMBINED:
            return self._select(node)
        if node.args.get("with_") or node.args.get("with"):
            raise Unreadable("WITH is not read")
        chain: list[tuple[str, Query]] = []
        last = node
        while node.key in _COMBINED:
            if not node.args.get("distinct"):
                raise Unreadable(f"{node.key.upper()} ALL")
            chain.append((node.key, self._side(node.expression)))
            node = node.this
        first = self._side(node)
        operator, rest = chain[0]
        if not rest.order:
            rest = replace(rest, **self._ordering(last, rest.tables))
        for (outer, before), inner in zip(chain[1:], [o for o, _ in chain], strict=False):
            operator, rest = outer, replace(before, combined=(inner, rest))
        return replace(first, combined=(operator, rest))

    def _side(self, node: Node) -> Query:
        inner = _bare(node)
        if inner.key != "select":
            raise Unreadable(f"{inner.key.upper()} inside brackets")
        return self._select(inner)

    def _select(self, node: Node) -> Query:
        other = [name for name, found in node.args.items() if found and name not in _PARTS]
        if node.key != "select" or other:
            raise Unreadable(f"{(other[0] if other else node.key).rstrip('_').upper()} is not read")
        tables, on = self._sources(node)
        group, having, where = (node.args.get(name) for name in ("group", "having", "where"))
        if group is not None and any(v for k, v in group.args.items() if k != "expressions"):
            raise Unreadable("GROUP BY with more than columns")
        return Query(
            distinct=bool(node.args.get("distinct")),
            select=tuple(self._selected(item, tables) for item in node.expressions),
            tables=tables,
            on=on,
            where=self._clause(where, tables),
            group=tuple(self._column(c, tables) for c in group.expressions) if group else (),
            having=self._clause(having, tables),
            **self._ordering(node, tables),
        )

    def _sources(self, node: Node) -> tuple[tuple[str | Query, ...], Conditions]:
        clause = node.args.get("from_") or node.args.get("from")
        if clause is None:
            raise Unreadable("there is no FROM")
        tables = [self._source(clause.this)]
        on = Conditions()
        for join in node.args.get("joins") or []:
            if join.args.get("side") or join.args.get("using") or join.args.get("method"):
                raise Unreadable("only JOIN ... ON is read")
            if (join.args.get("kind") or "INNER").upper() != "INNER":
                raise Unreadable(f"{join.args['kind']} JOIN, or a comma in FROM")
            tables.append(self._source(join.this))
            condition = join.args.get("on")
            if condition is not None and condition.key != "boolean":
                on = _and(on, _heard(self._conditions(condition, tables)))
        return tuple(tables), on

    def _source(self, node: Node) -> str | Query:
        if node.key == "subquery":
            if node.args.get("alias"):
                raise Unreadable("a query in FROM has an alias")
            return self.query(node)
        if node.key != "table" or node.args.get("joins") or node.args.get("db"):
            raise Unreadable("something other than a table in FROM")
        name = str(node.name).lower()
        if name not in self._schema.tables:
            raise Unreadable(f"there is no table {name}")
        return name

    def _ordering(self, node: Node, tables: Sequence[str | Query]) -> dict[str, Any]:
        order = node.args.get("order")
        terms = order.expressions if order is not None else []
        # One direction for the whole clause, the last that is written out.
        said = [t.args.get("desc") for t in terms if t.args.get("desc") is not None]
        return {
            "order": tuple(self._term(t.this, tables) for t in terms),
            "descending": bool(said and said[-1]),
            "limit": node.args.get("limit") is not None,
        }

    def _selected(self, node: Node, tables: Sequence[str | Query]) -> Selected:
        if node.key not in AGGREGATES:
            return Selected("", self._term(node, tables))
        inner, distinct = _argument(node)
        term = self._term(inner, tables)
        if distinct:
            term = replace(term, left=replace(term.left, distinct=True))
        return Selected(node.key, term)

    def _term(self, node: Node, tables: Sequence[str | Query]) -> Term:
        node = _bare(node)
        operator = _ARITHMETIC.get(node.key)
        if operator is None:
            return Term(self._column(node, tables))
        left, right = self._column(node.this, tables), self._column(node.expression, tables)
        return Term(left, operator, right)

    def _column(self, node: Node, tables: Sequence[str | Query]) -> Column:
        """A column, or an aggregate of one."""
        node = _bare(node)
        if node.key in AGGREGATES:
            inner, distinct = _argument(node)
            return Column(self._name(inner, tables), node.key, distinct)
        return Column(self._name(node, tables))

    def _name(self, node: Node, tables: Sequence[str | Query]) -> str:
        if node.key == "star":
            return "*"
        if node.key != "column" or node.this.key != "identifier" or node.this.args.get("quoted"):
            raise Unreadable(f"{str(node)[:40]} where a column is expected")
        name, qualifier = str(node.name).lower(), str(node.table).lower()
        if qualifier:
            table = self._aliases.get(qualifier, qualifier)
            if name in self._schema.tables.get(table, ()):
                return f"{table}.{name}"
        for table_or_query in () if qualifier else tables:
            if isinstance(table_or_query, str) and name in self._schema.tables[table_or_query]:
                return f"{table_or_query}.{name}"
        raise Unreadable(f"there is no column {qualifier and qualifier + '.'}{name}")

    def _clause(self, clause: Node, tables: Sequence[str | Query]) -> Conditions:
        """The conditions of WHERE or HAVING; none where there is no such clause."""
        if clause is None:
            return Conditions()
        return _heard(self._conditions(clause.this, tables))

    def _conditions(self, node: Node, tables: Sequence[str | Query]) -> Conditions:
        if node.key not in ("and", "or"):
            return Conditions((self._condition(node, tables),))
        left = self._conditions(node.this, tables)
        right = self._conditions(node.expression, tables)
        return Conditions(left.each + right.each, (*left.connectors, node.key, *right.connectors))

    def _condition(self, node: Node, tables: Sequence[str | Query]) -> Condition:
        negated = node.key == "not"
        inner = node.this if negated else node
        if inner.key not in _OPERATORS or (negated and inner.key not in _NEGATED):
            raise Unreadable(f"{str(node)[:40]} is not a condition that is read")
        term = self._term(inner.this, tables)
        negated = negated or bool(inner.args.get("negate"))
        if inner.key == "between":
            low, high = (self._value(inner.args[side], tables) for side in ("low", "high"))
            return Condition(negated, "between", term, low, high)
        return Condition(
            negated, _OPERATORS[inner.key], term, self._value(_right_side(inner), tables)
        )

    def _value(self, node: Node, tables: Sequence[str | Query]) -> str | float | Column | Query:
        if node.key in ("subquery", "select"):
            return self.query(node)
        node = _bare(node)
        if node.key == "literal":
            return str(node.name) if node.is_string else float(node.name)
        if node.key == "neg" and node.this.key == "literal" and not node.this.is_string:
            return -float(node.this.name)
        if node.key == "column" and node.this.args.get("quoted"):
            return str(node.name)  # Spider writes texts in either kind of quotes
        while node.key in _ARITHMETIC:  # what follows the first column is not looked at
            node = node.this
        return self._column(node, tables)


def _aliases(tree: Node) -> dict[str, str]:
    tables = [node for node in tree.walk() if node.key == "table" and node.alias]
    tables.sort(key=lambda table: table.this.meta.get("start", 0))
    return {str(table.alias).lower(): str(table.name).lower() for table in tables}


def _bare(node: Node) -> Node:
    while node.key in ("paren", "subquery"):
        node = node.this
    return node


def _argument(node: Node) -> tuple[Node, bool]:
    """What stands inside an aggregate, and whether it is DISTINCT."""
    inner = node.this
    if inner is None or node.args.get("expressions"):
        raise Unreadable(f"{str(node)[:40]} has not one argument")
    if inner.key != "distinct":
        return inner, False
    if len(inner.expressions) != 1 or inner.args.get("on"):
        raise Unreadable(f"{str(node)[:40]} has not one argument")
    return inner.expressions[0], True


def _right_side(node: Node) -> Node:
    if node.key != "in":
        return node.expression
    listed = node.expressions
    if len(listed) > 1 or not (listed or node.args.get("query")):
        raise Unreadable("IN with a list")
    return listed[0] if listed else node.args["query"]


def _heard(found: Conditions) -> Conditions:
    """Without what the official parser never hears: after a comparison with another column it
    skips to the next AND, and so loses every OR in between. The published figures need it."""
    each, connectors = list(found.each[:1]), []
    deaf = False
    for connector, before, condition in zip(
        found.connectors, found.each, found.each[1:], strict=False
    ):
        if not (deaf and connector == "or"):
            columns = (before.value, before.upper)
            deaf = connector == "or" and any(isinstance(value, Column) for value in columns)
        if not deaf:
            each.append(condition)
            connectors.append(connector)
    return Conditions(tuple(each), tuple(connectors))


def _and(one: Conditions, more: Conditions) -> Conditions:
    if not one.each:
        return more
    return Conditions(one.each + more.each, (*one.connectors, "and", *more.connectors))
