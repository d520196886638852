"""Forms to NeuralSQL for the EHRSQL schema, in its conventions; ``current_time`` stays unbound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ehrqa_cli.logical_form.compile.beside import beside
from ehrqa_cli.logical_form.compile.groups import between
from ehrqa_cli.logical_form.compile.heads import compile_select
from ehrqa_cli.logical_form.compile.layout import CURRENT, EHRSQL, INNER, Layout, members
from ehrqa_cli.logical_form.compile.mapping import SOURCES
from ehrqa_cli.logical_form.compile.relations import rows
from ehrqa_cli.logical_form.compile.values import number, quote, source, unsupported, where
from ehrqa_cli.logical_form.form import Combine, Compare, Event, Form, Select, selects
from ehrqa_cli.logical_form.grammar import HAVING, HEADS, OPS
from ehrqa_cli.logical_form.normalise import normalise


def compile_sql(form: Form, layout: Layout = EHRSQL) -> str:
    """NeuralSQL of a bound form for a database of this layout. Raises FormError when there is
    none."""
    with _laid_out(layout):
        return _compile(normalise(form))


@contextmanager
def _laid_out(layout: Layout) -> Iterator[None]:
    token, inner = CURRENT.set(layout), INNER.set(_compile)
    try:
        yield
    finally:
        CURRENT.reset(token)
        INNER.reset(inner)


def _compile(form: Form) -> str:
    if isinstance(form, Select):
        return compile_select(form)
    if isinstance(form, Compare):
        return f"SELECT ( {_compile(form.form)} ) {HAVING[form.sign].part} {number(form.limit)}"
    if not isinstance(form, Combine):
        raise unsupported("the model declined")
    op = OPS[form.op]
    if form.op == "beside":
        return beside(form, _compile)
    if op.by_group and _both_grouped(form):
        return between(form, *selects(form))
    if form.cut:
        raise unsupported("the most of what has no groups")
    return op.sql.format(left=_compile(form.left), right=_compile(form.right))


def _both_grouped(form: Combine) -> bool:
    return all(isinstance(p, Select) and p.group for p in (form.left, form.right))


def evidence_queries(form: Form, layout: Layout = EHRSQL) -> list[tuple[str, str]]:
    """(table, SQL giving row_id) of the rows each part of a bound form rests on."""
    with _laid_out(layout):
        return [
            query
            for select in selects(normalise(form))
            if HEADS[select.head].evidence
            # of a finding, the study it is looked for in
            for query in _rested_on(select.event.of or select.event)
        ]


def _rested_on(event: Event) -> Iterator[tuple[str, str]]:
    src = source(event)
    tables = list(members(event)) if src.rows else [src.table]
    for table in tables:
        own = [f"{src.table}.origin = '{table}'"] if src.rows else []
        sql = f"SELECT {src.table}.row_id FROM {src.origin}{where([*rows(event), *own])}"
        yield table, f"{sql} ORDER BY {src.table}.{src.time}"


def items_queries(form: Form) -> list[str]:
    """SQL giving the different items of the rows that each part of a bound form rests on.

    Raises FormError.
    """
    found = []
    for select in selects(normalise(form)):
        src = source(select.event)
        code = f"{src.table}.{src.code}"
        found.append(f"SELECT DISTINCT {code} FROM {src.origin}{where(rows(select.event))}")
    return found


def commonest_item(label: str) -> str:
    """SQL giving the lab items of this label, the one with most results first."""
    lab = SOURCES["lab"]
    assert lab.lookup is not None
    code, look = f"{lab.table}.{lab.code}", lab.lookup
    return (
        f"SELECT {code} FROM {lab.table} WHERE {code} IN ( SELECT {look.table}.{look.key} "
        f"FROM {look.table} WHERE {look.table}.{look.label} = {quote(label)} ) "
        f"GROUP BY {code} ORDER BY COUNT(*) DESC"
    )
