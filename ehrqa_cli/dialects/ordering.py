"""ORDER BY and LIMIT: two runs give the same rows, in the same order."""

from __future__ import annotations

from sqlglot import expressions as exp

from ehrqa_cli.contracts.dialect import SqlKind
from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.dialects.groups import aggregates_in
from ehrqa_cli.dialects.kinds import TEXTS, Columns, Typed
from ehrqa_cli.dialects.scope import Scope
from ehrqa_cli.dialects.writer import Writer


def tail(to: Writer, node: exp.Expr, scope: Scope, columns: Columns) -> str:
    """The ORDER BY, LIMIT and OFFSET of a query."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    order = node.args.get("order")
    terms = [_term(to, t, node, scope, columns) for t in order.expressions] if order else []
    cut = _limit(limit, offset)
    if cut and not _whole_order(node):
        # Of ties, a database with several threads keeps now these, now those.
        rest = to.target.order_all(texts(columns))
        if terms and isinstance(node, exp.Select) and rest:
            rest = to.target.ordinals(texts(columns))
        terms += [rest] if rest else []
    ordered = f" ORDER BY {', '.join(terms)}" if terms else ""
    return ordered + cut


def _term(to: Writer, term: exp.Expr, node: exp.Expr, scope: Scope, columns: Columns) -> str:
    inner = term.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        kinds = dict(enumerate(columns.kinds.values(), 1))
        kind = kinds.get(int(inner.this), SqlKind.ANY) if inner.this.isdigit() else SqlKind.ANY
        return to.ordered(term, scope, Typed(inner.this, kind))
    own = isinstance(inner, exp.Column) and not inner.table
    if own and (isinstance(node, exp.SetOperation) or inner.name.lower() in scope.aliases):
        named = to.target.identifier(inner.name)
        kind = columns.kinds.get(inner.name.lower(), SqlKind.ANY)
        return to.ordered(term, scope, Typed(named, kind))
    return to.ordered(term, scope)


def _limit(limit: exp.Expr | None, offset: exp.Expr | None) -> str:
    out = ""
    for word, part in (("LIMIT", limit), ("OFFSET", offset)):
        if part is None:
            continue
        number = part.expression.sql()
        if number.lstrip("-").isdigit():
            out += f" {word} {number}" if not number.startswith("-") else ""
        else:
            raise Refused(f"{word} {number} is not a number", "write the number out")
    return out


def _whole_order(node: exp.Expr) -> bool:
    """Is there nothing to tell ties apart by: one row, from aggregates without groups?"""
    if not isinstance(node, exp.Select) or node.args.get("group"):
        return False
    return bool(aggregates_in([part.unalias() for part in node.expressions]))


def texts(columns: Columns) -> list[bool]:
    """Which columns hold text."""
    return [kind in TEXTS for kind in columns.kinds.values()]
