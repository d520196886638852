"""Small readers of a SQL tree, so that the inverse speaks of SELECTs and not of node classes."""

from __future__ import annotations

from typing import Any

Node = Any  # a tree node of sqltext.parse_select; this room does not import its library


class Unrecognised(Exception):
    """The SQL has a part that no form expresses; the text says which."""


def text(node: Node) -> str:
    """A node as normalised SQL text."""
    return str(node.sql(dialect="sqlite"))


def bare(node: Node) -> Node:
    """A node without parentheses or subquery brackets around it."""
    while node is not None and node.key in ("paren", "subquery"):
        node = node.this
    return node


def table_of(select: Node) -> str | None:
    """The one table a SELECT reads, None when it reads a subquery."""
    source = source_of(select)
    return str(source.name).lower() if source is not None and source.key == "table" else None


def source_of(select: Node) -> Node:
    """What stands behind FROM."""
    clause = select.args.get("from_") or select.args.get("from")
    return clause.this if clause is not None else None


def inner_of(select: Node) -> Node:
    """The SELECT inside FROM ( ... )."""
    source = source_of(select)
    if source is None or source.key != "subquery":
        raise Unrecognised("expected FROM ( SELECT ... )")
    return bare(source)


def joins_of(select: Node) -> list[Node]:
    """The joined tables or SELECTs."""
    return [bare(j.this) for j in select.args.get("joins") or []]


def conditions_of(select: Node) -> list[Node]:
    """The conditions of WHERE, taken apart at AND."""
    clause = select.args.get("where")
    found: list[Node] = []
    todo = [clause.this] if clause is not None else []
    while todo:
        node = todo.pop(0)
        if node.key == "and":
            todo[:0] = [node.this, node.expression]
        elif node.key == "paren":
            todo.insert(0, node.this)
        else:
            found.append(node)
    return found


def projection(select: Node) -> str:
    """What a SELECT gives, as text, upper-cased functions, without aliases."""
    parts = [e.this if e.key == "alias" else e for e in select.expressions]
    return ", ".join(text(p) for p in parts)


def ordering(select: Node) -> tuple[list[tuple[str, bool]], int | None, int]:
    """ORDER BY as (column, descending) pairs, LIMIT (None: none) and OFFSET."""
    order = select.args.get("order")
    terms = [(text(o.this), bool(o.args.get("desc"))) for o in order.expressions] if order else []
    limit, offset = select.args.get("limit"), select.args.get("offset")
    count = int(text(limit.expression)) if limit is not None else None
    return terms, count, int(text(offset.expression)) if offset is not None else 0


def order_word(descending: bool, offset: int) -> str:
    """The order word of a direction and an offset."""
    words = {(False, 0): "first", (False, 1): "second", (False, 2): "third"}
    words |= {(True, 0): "last", (True, 1): "second_last"}
    if (descending, offset) not in words:
        raise Unrecognised(f"offset {offset}")
    return words[descending, offset]


def group_of(select: Node) -> list[str]:
    """GROUP BY expressions as text."""
    group = select.args.get("group")
    return [text(e) for e in group.expressions] if group is not None else []
