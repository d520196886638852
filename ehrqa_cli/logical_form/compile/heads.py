"""One function per head: what is asked of the rows of an event, as SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ehrqa_cli.logical_form.compile import (
    columns,
    filters,
    groups,
    images,
    measures,
    names,
    survival,
    waits,
)
from ehrqa_cli.logical_form.compile.mapping import EventTable
from ehrqa_cli.logical_form.compile.relations import (
    completed,
    rows,
)
from ehrqa_cli.logical_form.compile.values import (
    ended,
    in_unit,
    length,
    literal,
    measure,
    number,
    order_by,
    quote,
    source,
    unsupported,
    where,
)
from ehrqa_cli.logical_form.form import Event, Keep, Lit, Select
from ehrqa_cli.logical_form.grammar import EXTREMES, FILTERS, HEADS, PAIRED, PERIODS


def compile_select(select: Select) -> str:
    """The SQL of one select. Raises FormError for a form this schema has no query for."""
    select = _longest(select)
    if images.is_image(select):
        return images.compile_image(select)
    if select.also and select.head not in PAIRED:
        return groups.several(select)
    if select.keep:
        return columns.kept(select, select.keep)
    if select.also:
        return columns.pair(select)
    if select.group:
        return groups.grouped(select, select.group)
    return WRITERS[HEADS[select.head].sql](select)


def _longest(select: Select) -> Select:
    """Of what has a value too, the extreme one of a length is the longest or shortest."""
    event, heads = select.event, (select.head, *select.also)
    plain = event.extreme and not (event.order or select.group) and "value" not in heads
    if not plain or "length" not in heads or not source(event).value:
        return select
    which = "most" if event.extreme == "highest" else "least"
    return replace(select, event=replace(event, extreme=None), keep=Keep(which, Lit(1)))


def one_row(event: Event, src: EventTable, columns: str, over: bool = False) -> str:
    """Rows in order (``over``: only stays that are over); with an order word exactly one, ties
    broken by the database."""
    plain = replace(event, order=None, extreme=None)
    found = [*rows(plain), *completed(event, src)]
    if over:
        found.append(f"{src.table}.{src.end} IS NOT NULL")
    sql = f"SELECT {columns} FROM {src.origin}{where(found)}"
    time = f"{src.table}.{src.time}"
    if event.extreme:
        way = EXTREMES[event.extreme].way
        ordered = order_by(event.order or "first", time).replace("ORDER BY ", "")
        return f"{sql} ORDER BY {measure(src)} {way}, {ordered}"
    return f"{sql} {order_by(event.order, time)}" if event.order else sql


def _time(select: Select) -> str:
    src = source(select.event)
    return one_row(select.event, src, f"{src.table}.{src.time}")


def _since(select: Select) -> str:
    src = source(select.event)
    elapsed = f"strftime('%J',current_time) - strftime('%J',{src.table}.{src.time})"
    return one_row(select.event, src, f"{HEADS[select.head].part} * ( {elapsed} )")


def _length(select: Select) -> str:
    src = source(select.event)
    event = select.event
    over = not (event.order or event.get("current"))
    return one_row(event, src, in_unit(select, length(src)), over=over)


def _end(select: Select) -> str:
    src = source(select.event)
    return one_row(select.event, src, ended(src), over=not select.event.order)


def _value(select: Select) -> str:
    src = source(select.event)
    value = src.shown or src.amount
    return f"SELECT {value} FROM {src.origin}{where(rows(select.event))}"


def _unit(select: Select) -> str:
    src = source(select.event)
    return f"SELECT DISTINCT {src.table}.{src.unit} FROM {src.origin}{where(rows(select.event))}"


def _column(select: Select) -> str:
    src = source(select.event)
    name = columns.column(src, select.head)
    if src.table in ("admissions", "icustays"):
        return one_row(select.event, src, name)
    found = rows(select.event)
    if src.table == "transfers":
        found = [*found, f"{name} IS NOT NULL"]
    distinct = "" if src.table == "patients" else "DISTINCT "
    return f"SELECT {distinct}{name} FROM {src.origin}{where(found)}"


def _count(select: Select) -> str:
    src = source(select.event)
    made = HEADS[select.head].part.format(table=src.table, code=src.code) or src.number
    counted = select.event.get("times", "times_atleast")
    if counted and select.head in ("exists", "none", "count_names"):
        inner = names.names_by_count(select.event, src, counted)
        return f"SELECT {'COUNT(*)' if select.head == 'count_names' else made} FROM ( {inner} )"
    if counted:
        raise unsupported("how often something occurred, together with this question")
    return f"SELECT {made} FROM {src.origin}{where(rows(select.event))}"


def _patients(select: Select) -> str:
    src = source(select.event)
    subject = f"{src.table}.subject_id"
    found = where(rows(select.event))
    counted = select.event.get("times", "times_atleast")
    listing = f"SELECT DISTINCT {subject} FROM {src.origin}{found}"
    if counted:
        inner = f"SELECT {subject}, COUNT(*) AS C1 FROM {src.origin}{found} GROUP BY {subject}"
        listing = f"SELECT T1.subject_id FROM ( {inner} ) AS T1 WHERE T1.C1 {names.times(counted)}"
    if select.head == "patients":
        return listing
    if counted:
        return f"SELECT COUNT(*) FROM ( {listing} )"
    return f"SELECT COUNT( DISTINCT {subject} ) FROM {src.origin}{found}"


def _visits(select: Select) -> str:
    src = source(select.event)
    found = [*rows(select.event), *completed(select.event, src)]
    found += [] if src.table == "admissions" else [f"{src.table}.hadm_id IS NOT NULL"]
    return f"SELECT DISTINCT {src.table}.hadm_id FROM {src.origin}{where(found)}"


def _aggregate(select: Select) -> str:
    src = source(select.event)
    value, time = src.amount, f"{src.table}.{src.time}"
    how = HEADS[select.head].how.upper()
    sql = f"SELECT {how}({value}) FROM {src.origin}{where(rows(select.event))}"
    return (
        sql
        if select.per is None
        else f"{sql} GROUP BY strftime('{PERIODS[select.per].sql}',{time})"
    )


def _total(select: Select) -> str:
    how = HEADS[select.head].how.upper()
    inner = (
        f"SELECT SUM(cost.cost) AS C1 FROM cost{where(rows(select.event))} GROUP BY cost.hadm_id"
    )
    return f"SELECT {how}(T1.C1) FROM ( {inner} ) AS T1"


def _period_counts(select: Select) -> str:
    src = source(select.event)
    how = HEADS[select.head].how.upper()
    period = f"strftime('{PERIODS[select.per or ''].sql}',{src.table}.{src.time})"
    inner = (
        f"SELECT COUNT( DISTINCT {src.table}.hadm_id ) AS C1 FROM {src.origin}"
        f"{where(rows(select.event))} GROUP BY {period}"
    )
    return f"SELECT {how}(T1.C1) FROM ( {inner} ) AS T1"


def _cost(select: Select) -> str:
    src = source(select.event)
    if src.rows:
        raise unsupported("the cost of what stands in several tables")
    inner = f"SELECT {src.table}.row_id FROM {src.origin}{where(rows(select.event))}"
    return (
        f"SELECT DISTINCT cost.cost FROM cost WHERE cost.event_type = '{src.table}' "
        f"AND cost.event_id IN ( {inner} )"
    )


def _flagged(select: Select) -> str:
    """How one result lies against its range: 1 or 0."""
    src, sort = source(select.event), HEADS[select.head].part
    compared = filters.against_range(FILTERS[sort].part, select.event, src)
    return f"SELECT {compared} FROM {src.origin}{where(rows(select.event))}"


def _expand(select: Select) -> str:
    items = select.event.items
    short = quote(literal(items.args[0])) if items else "''"
    return f"SELECT DISTINCT d_items.label FROM d_items WHERE d_items.abbreviation = {short}"


def _percentile(select: Select) -> str:
    event = select.event
    peer, visit = event.get("patient"), event.get("visit")
    if event.get("peers") is None or peer is None:
        raise unsupported("a percentile without the patient whose age group is meant")
    src = source(event)
    filters = tuple(f for f in (peer, visit) if f)
    order = visit.which if visit and visit.which != "current" else None
    own = Event("admission", order, filters=(peer,))
    age = one_row(own, source(own), "admissions.age")
    if visit and visit.which == "current":
        age += " AND admissions.dischtime IS NULL"
    alike = f"SELECT admissions.hadm_id FROM admissions WHERE admissions.age = ( {age} )"
    rest = replace(event, filters=tuple(f for f in event.filters if f not in filters))
    found = [*rows(rest), f"{src.table}.hadm_id IN ( {alike} )"]
    value = f"{src.table}.{src.value}"
    inner = (
        f"SELECT {value}, PERCENT_RANK() OVER ( ORDER BY {value} ) AS C1 "
        f"FROM {src.origin}{where(found)}"
    )
    target = number(select.args[0])
    return f"SELECT DISTINCT T1.C1 FROM ( {inner} ) AS T1 WHERE T1.{src.value} = {target}"


# What writes a head's query, by the name under which heads.toml asks for it.
WRITERS: dict[str, Callable[[Select], str]] = {
    "aggregate": _aggregate,
    "column": _column,
    "cost": _cost,
    "count": _count,
    "end": _end,
    "expand": _expand,
    "flagged": _flagged,
    "image": images.compile_image,
    "length": _length,
    "name": names.name,
    "patients": _patients,
    "percentile": _percentile,
    "period_counts": _period_counts,
    "since": _since,
    "survival": survival.survival,
    "time": _time,
    "top": names.top,
    "top_mortality": survival.top_mortality,
    "total": _total,
    "unit": _unit,
    "value": _value,
    "visits": _visits,
    "wait": waits.wait,
    "whole": measures.whole,
}
