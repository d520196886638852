"""What writes an expression: how its kinds of node find their writers, and what those share.

An allow-list by construction: what has no writer is refused, never passed on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import expressions as exp

from ehrqa_cli.contracts.dialect import Dialect, SqlKind
from ehrqa_cli.contracts.errors import LimitExceeded, Refused
from ehrqa_cli.dialects.coerce import Coercions
from ehrqa_cli.dialects.functions import Functions
from ehrqa_cli.dialects.kinds import TEXTS, Columns, Typed
from ehrqa_cli.dialects.scope import Scope

PLAIN = "write the query with ordinary SQL only"

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
            raise Refused(f"{what} in {type(node).__name__.upper()} is not known here", PLAIN)


class Writer:
    """Writes expressions; ``query`` writes the queries within them, ``writers`` has a function for
    each kind of node. ``deadline`` is one of time.monotonic."""

    def __init__(
        self,
        target: Dialect,
        query: Callable[[exp.Expr, Scope | None], tuple[str, Columns]],
        writers: Writers,
        deadline: float = math.inf,
    ) -> None:
        self.deadline = deadline
        self.target = target
        self.query = query
        self.writers = writers
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
        made = self.writers.get(kind)
        if made is None:
            raise Refused(f"{kind.__name__.upper()} is not known on {self.target.name}", PLAIN)
        nothing_else(node, _ARGS.get(kind, frozenset()))
        return made(self, node, scope)

    def condition(self, node: exp.Expr, scope: Scope) -> str:
        """An expression that is to be true."""
        return self.to.truth(self.write(node, scope))

    def both(self, node: exp.Expr, scope: Scope) -> tuple[Typed, Typed]:
        """The two sides of an operator."""
        return self.write(node.this, scope), self.write(node.expression, scope)

    def whole(self, value: Typed) -> str:
        """A number cut to an integer."""
        return value.sql if value.kind == SqlKind.INTEGER else self.target.whole(value.sql)

    def inner(self, query: exp.Expr, scope: Scope) -> tuple[str, Columns]:
        """A query within an expression, in brackets, and its columns."""
        while isinstance(query, exp.Subquery | exp.Paren) and not query.args.get("limit"):
            query = query.this
        with scope.rows():
            sql, columns = self.query(query, scope)
        return f"({sql})", columns

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


Writers = Mapping[type[Any], Callable[[Writer, Any, Scope], Typed]]
