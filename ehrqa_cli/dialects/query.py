"""Queries: SELECT, UNION and the like, WITH and VALUES, written clause by clause."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from sqlglot import expressions as exp

from ehrqa_cli.contracts.dialect import Dialect, SqlKind
from ehrqa_cli.contracts.errors import DatabaseError, Refused
from ehrqa_cli.dialects.columns import common, item
from ehrqa_cli.dialects.expressions import expressions
from ehrqa_cli.dialects.groups import aggregates_in
from ehrqa_cli.dialects.joins import queries_later
from ehrqa_cli.dialects.kinds import Columns, Typed
from ehrqa_cli.dialects.ordering import tail, texts
from ehrqa_cli.dialects.scope import Scope
from ehrqa_cli.dialects.writer import PLAIN, nothing_else

_CLAUSES = frozenset(
    {"from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_"}
)
_JOIN = frozenset({"method", "side", "kind", "on", "using"})
_SET = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


class Queries:
    """Writes queries over ``tables`` (lower-case table to its columns)."""

    def __init__(
        self, target: Dialect, tables: Mapping[str, Columns], deadline: float = math.inf
    ) -> None:
        self.target = target
        self.tables = tables
        self.shared: list[dict[str, Columns]] = []
        self.expressions = expressions(target, self.write, deadline)
        self._last: set[int] = set()  # the SELECTs whose columns are the answer

    def whole(self, tree: exp.Expr) -> str:
        """The statement: truth as 1 or 0, and always in the same order."""
        self._last = {id(select) for select in _answering(tree)}
        sql, columns = self.write(tree, None, named=True)
        if tree.args.get("order") is None and tree.args.get("limit") is None:
            # A database with several threads gives rows as they come; two runs must be the same.
            ranks = self._ranks(tree)
            held = texts(columns)
            every = self.target.ordinals(held) if ranks else self.target.order_all(held)
            terms = [*ranks, every]
            return f"{sql} ORDER BY {', '.join(terms)}"
        return sql

    def _ranks(self, tree: exp.Expr) -> list[str]:
        """The ranks that a query selects by: SQLite gives its rows by them, first ones first."""
        source = tree.args["from_"].this if tree.args.get("from_") else None
        if not isinstance(tree, exp.Select) or not isinstance(source, exp.Subquery):
            return []
        if not source.alias or tree.args.get("group") or tree.args.get("distinct"):
            return []
        if aggregates_in([part.unalias() for part in tree.expressions]):
            return []
        alias = self.target.identifier(source.alias)
        return [
            f"{alias}.{self.target.identifier(part.alias)}"
            for part in source.this.args.get("expressions") or []
            if isinstance(part, exp.Alias)
            and isinstance(part.this, exp.Window)
            and isinstance(part.this.this, exp.Rank | exp.DenseRank | exp.RowNumber)
        ]

    def write(
        self, node: exp.Expr, outer: Scope | None, named: bool = False
    ) -> tuple[str, Columns]:
        """A query and its columns. With ``named`` its columns get the names SQLite gives them."""
        if isinstance(node, exp.Subquery) and not node.args.get("limit"):
            return self.write(node.this, outer, named)
        if isinstance(node, exp.Values):
            return self._values(node, outer)
        nothing_else(node, _CLAUSES)
        with_ = node.args.get("with_")
        prefix = self._with(with_, outer) if with_ is not None else ""
        try:
            if isinstance(node, exp.SetOperation):
                sql, columns = self._set(node, outer, named)
            elif isinstance(node, exp.Select):
                sql, columns = self._select(node, outer, named)
            else:
                raise Refused(f"{type(node).__name__.upper()} is not known here", PLAIN)
        finally:
            if with_ is not None:
                self.shared.pop()
        return prefix + sql, columns

    # --- WITH and VALUES

    def _with(self, with_: exp.With, outer: Scope | None) -> str:
        known: dict[str, Columns] = {}
        self.shared.append(known)
        written: list[str] = []
        for cte in with_.expressions:
            names = [c.name.lower() for c in cte.args["alias"].args.get("columns") or []]
            alias = cte.alias.lower()
            if with_.args.get("recursive") and isinstance(cte.this, exp.SetOperation):
                known[alias] = self.write(cte.this.left, outer)[1].renamed(names)
            sql, columns = self.write(cte.this, outer, named=True)
            known[alias] = columns.renamed(names)
            listed = f"({', '.join(map(self.target.identifier, names))})" if names else ""
            kept = {True: "MATERIALIZED ", False: "NOT MATERIALIZED "}.get(
                cte.args.get("materialized"), ""
            )
            kept = kept if self.target.materializes else ""
            written.append(f"{self.target.identifier(cte.alias)}{listed} AS {kept}({sql})")
        recursive = "RECURSIVE " if with_.args.get("recursive") else ""
        return f"WITH {recursive}{', '.join(written)} "

    def _values(self, node: exp.Values, outer: Scope | None) -> tuple[str, Columns]:
        rows: list[list[Typed]] = []
        scope = Scope(outer)
        for row in node.expressions:
            parts = row.expressions if isinstance(row, exp.Tuple) else [row]
            rows.append([self.expressions.write(part, scope) for part in parts])
        if len({len(row) for row in rows}) != 1:
            raise DatabaseError("SQL error: rows of VALUES have other lengths", PLAIN)
        kinds = {
            f"column{i + 1}": common([row[i].kind for row in rows]) for i in range(len(rows[0]))
        }
        listed = ", ".join(f"({', '.join(value.sql for value in row)})" for row in rows)
        return f"VALUES {listed}", Columns(kinds)

    # --- UNION, INTERSECT, EXCEPT

    def _set(self, node: exp.SetOperation, outer: Scope | None, named: bool) -> tuple[str, Columns]:
        arms = [self.write(part, outer, named) for part in (node.left, node.right)]
        kinds = [list(columns.kinds.values()) for _, columns in arms]
        if len(kinds[0]) != len(kinds[1]):
            word = _SET[type(node)]
            raise DatabaseError(f"SQL error: the sides of {word} have other columns", PLAIN)
        held = [common(pair) for pair in zip(*kinds, strict=True)]
        left, right = (self._recast(sql, columns, held) for sql, columns in arms)
        word = _SET[type(node)] + ("" if node.args.get("distinct", True) else " ALL")
        columns = Columns(dict(zip(arms[0][1].kinds, held, strict=False)))
        sides = [self._arm(side, part) for side, part in ((left, node.left), (right, node.right))]
        sql = f"{sides[0]} {word} {sides[1]}"
        scope = Scope(outer, {"": columns})
        return sql + tail(self.expressions, node, scope, columns), columns

    def _arm(self, sql: str, node: exp.Expr) -> str:
        plain = isinstance(node, exp.Select) and not (
            node.args.get("limit") or node.args.get("order") or node.args.get("with_")
        )
        return sql if plain else f"SELECT * FROM ({sql}){self.target.derived_alias}"

    def _recast(self, sql: str, columns: Columns, kinds: list[SqlKind]) -> str:
        """A query with its columns as ``kinds``; itself where they are."""
        to = self.expressions.to
        names = [f"c{i + 1}" for i in range(len(columns.kinds))]
        made = [
            to.converted(Typed(name, own), kind)
            for name, own, kind in zip(names, columns.kinds.values(), kinds, strict=False)
        ]
        if made == names:
            return sql
        called = [
            f"{part} AS {self.target.identifier(own)}"
            for part, own in zip(made, columns.kinds, strict=True)
        ]
        return f"SELECT {', '.join(called)} FROM {self.target.derived(sql, 'q', names)}"

    # --- SELECT

    def _select(self, node: exp.Select, outer: Scope | None, named: bool) -> tuple[str, Columns]:
        if not node.expressions:
            raise Refused("the SELECT names no columns", PLAIN)
        if not self.target.queries_in_joins:
            queries_later(node)
        scope = Scope(outer)
        from_ = self._from(node, scope)
        scope.aliases = {
            part.alias.lower(): part.this
            for part in node.expressions
            if isinstance(part, exp.Alias)
        }
        where = node.args.get("where")
        filtered = f" WHERE {self.expressions.condition(where.this, scope)}" if where else ""
        grouped = self._group(node, scope)
        columns = Columns()
        last = id(node) in self._last
        listed = [item(self.expressions, p, scope, columns, named, last) for p in node.expressions]
        having = node.args.get("having")
        kept = f" HAVING {self.expressions.condition(having.this, scope)}" if having else ""
        distinct = "DISTINCT " if node.args.get("distinct") else ""
        sql = f"SELECT {distinct}{', '.join(listed)}{from_}{filtered}{grouped}{kept}"
        return sql + tail(self.expressions, node, scope, columns), columns

    def _from(self, node: exp.Select, scope: Scope) -> str:
        first = node.args.get("from_")
        if first is None:
            return ""
        pieces = [" FROM " + self._source(first.this, scope)]
        for join in node.args.get("joins") or []:
            nothing_else(join, _JOIN)
            source = self._source(join.this, scope)
            words = [str(join.args.get(w) or "").upper() for w in ("method", "side", "kind")]
            on, using = join.args.get("on"), join.args.get("using")
            if on is None and not using and not any(words):
                words = ["CROSS"]
            kind = " ".join(word for word in words if word and word != "OUTER")
            made = f" {kind} JOIN {source}" if kind else f" JOIN {source}"
            if on is not None:
                made += f" ON {self.expressions.condition(on, scope)}"
                made = made.replace(" CROSS JOIN ", " JOIN ", 1) if kind == "CROSS" else made
            elif using:
                made += f" USING ({', '.join(self.target.identifier(u.name) for u in using)})"
                scope.using |= {u.name.lower() for u in using}
            elif kind in ("INNER", "LEFT", ""):
                made += " ON TRUE"
            pieces.append(made)
        return "".join(pieces)

    def _source(self, node: exp.Expr, scope: Scope) -> str:
        alias = node.args.get("alias")
        names = [c.name.lower() for c in alias.args.get("columns") or []] if alias else []
        if isinstance(node, exp.Table):
            name = node.name.lower()
            if node.db or not isinstance(node.this, exp.Identifier):
                raise Refused(f"reading {node.sql()} is not allowed", "read the EHR's tables only")
            called = node.alias or node.name
            scope.sources[called.lower()] = self._table(name).renamed(names)
            as_ = f" AS {self.target.identifier(node.alias)}" if node.alias else ""
            return self.target.identifier(node.name) + as_
        if isinstance(node, exp.Values):
            sql, columns = self._values(node, scope.outer)
            names = names or list(columns.kinds)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            sql, columns = self.write(node.this, scope.outer, named=True)
        else:
            raise Refused("brackets around tables are not known here", "join them without")
        called = node.alias if node.alias not in ("", "_values") else f"sub{len(scope.sources) + 1}"
        scope.sources[called.lower()] = columns.renamed(names)
        quoted = list(map(self.target.identifier, names))
        return self.target.derived(sql, self.target.identifier(called), quoted)

    def _table(self, name: str) -> Columns:
        for known in reversed(self.shared):
            if name in known:
                return known[name]
        if name not in self.tables:
            raise DatabaseError(
                f"SQL error: no such table: {name}", "`ehrqa db info` lists tables and columns"
            )
        return self.tables[name]

    def _group(self, node: exp.Select, scope: Scope) -> str:
        group = node.args.get("group")
        having = node.args.get("having")
        order = node.args.get("order")
        clauses = [*node.expressions, *([having.this] if having else [])]
        clauses += order.expressions if order else []
        aggregates = aggregates_in([c.unalias() for c in clauses])
        if group is None and not aggregates:
            return ""
        extremes = [a for a in aggregates if isinstance(a, exp.Min | exp.Max)]
        if len({a.sql().lower() for a in aggregates}) == 1 and extremes:
            way = "MIN" if isinstance(extremes[0], exp.Min) else "MAX"
            scope.extreme = (way, extremes[0].this)
        keys: list[str] = []
        for part in group.expressions if group else []:
            key = self._key(part, node, scope)
            keys.append(self.expressions.write(key, scope).sql)
            scope.key_texts.add(key.sql().lower())
            if isinstance(key, exp.Column):
                found = scope.find(key.table, key.name)
                if found is not None and found.here:
                    scope.keys.add((found.source, key.name.lower()))
        scope.grouped = True
        return f" GROUP BY {', '.join(keys)}" if keys else ""

    def _key(self, part: exp.Expr, node: exp.Select, scope: Scope) -> exp.Expr:
        """What a term of GROUP BY means: a column's number or alias is that column."""
        if isinstance(part, exp.Literal) and not part.is_string:
            at = int(part.this) - 1 if part.this.isdigit() else -1
            if not 0 <= at < len(node.expressions):
                raise DatabaseError("SQL error: GROUP BY a column that is not there", PLAIN)
            numbered: exp.Expr = node.expressions[at].unalias()
            return numbered
        if isinstance(part, exp.Column) and not part.table:
            alias = scope.aliases.get(part.name.lower())
            if alias is not None and scope.find("", part.name) is None:
                return alias
        return part


def _answering(tree: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(tree, exp.SetOperation):
        yield from _answering(tree.left)
        yield from _answering(tree.right)
    elif isinstance(tree, exp.Subquery):
        yield from _answering(tree.this)
    else:
        yield tree
