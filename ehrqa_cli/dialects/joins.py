"""Joins whose conditions a target cannot write as they stand."""

from __future__ import annotations

from sqlglot import expressions as exp


def queries_later(node: exp.Select) -> None:
    """Move the conditions of inner joins that hold queries to WHERE, in place.

    There they mean the same, as long as no table is joined from the right: what an inner join
    leaves out is left out of whatever is joined to it later.
    """
    joins = node.args.get("joins") or []
    sides = {str(join.args.get("side") or "").upper() for join in joins}
    if not sides <= {"", "LEFT"}:
        return
    for join in joins:
        on = join.args.get("on")
        if on is None or join.args.get("side"):
            continue
        terms = list(on.flatten()) if isinstance(on, exp.And) else [on]
        late = [term for term in terms if term.find(exp.Query) is not None]
        if late:
            rest = [term for term in terms if term not in late]
            join.set("on", exp.and_(*rest, copy=False) if rest else exp.true())
            node.where(*late, copy=False)
