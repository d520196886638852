"""Relations between two events of one patient (emrQA's relations; EHRSQL's "within" filters)."""

from __future__ import annotations

from dataclasses import replace

from ehrqa_cli.logical_form.compile.conditions import conditions, visit_of
from ehrqa_cli.logical_form.compile.mapping import EventTable
from ehrqa_cli.logical_form.compile.values import (
    duration,
    ended,
    measure,
    order_by,
    order_of,
    source,
    unsupported,
    where,
)
from ehrqa_cli.logical_form.form import Event, Filter
from ehrqa_cli.logical_form.grammar import EXTREMES, RELATIONS, TIES, TIME_FILTERS

_BEFORE = ("before", "notfollowed")  # the related event is the later one
_AFTER = ("after", "after_end")
_INSIDE = ("during", "notduring")
_SHIFTED = {"daybefore": "-1 day", "dayafter": "+1 day"}  # the day asked for, from the other one's
# A period or visit asked for holds for both events, unless the inner one has its own.
_SHARED = ("patient", "visit", "icu", *TIME_FILTERS)


def relation_of(event: Event) -> Filter | None:
    """The relation filter of an event, if any."""
    return event.get(*RELATIONS)


def inherited(event: Event, item: Filter) -> Event:
    """The related event with the patient, visit and period it shares with ``event``."""
    inner = item.event
    if inner is None:
        raise unsupported(f"{item.name} without an event")
    alone = ("notfollowed", "involving", "without", "after_end", "charged", *_INSIDE)
    names = ("patient",) if item.name in alone else _SHARED
    if inner.get("visit", "icu", *TIME_FILTERS):
        names = ("patient",)
    if "visit" in names and event.get("visit"):
        names = (*names, "encounter")  # the kind of that visit
    shared = [f for f in event.filters if f.name in names and inner.get(f.name) is None]
    return replace(inner, filters=(*inner.filters, *shared))


def _charged(src: EventTable, inner: Event) -> str:
    """A charge is for one of these events. Raises FormError for what several tables make."""
    other = source(inner)
    if other.rows:
        raise unsupported("the charges of what stands in several tables")
    events = f"SELECT {other.table}.row_id FROM {other.origin}{where(rows(inner))}"
    return f"{src.table}.event_type = '{other.table}' AND {src.table}.event_id IN ( {events} )"


def rows(event: Event, each: str = "") -> list[str]:
    """Every condition on the rows of an event: its own, its relations, and its order.

    An order keeps ties: all rows at the first (second, last, ...) time among those that meet
    the other conditions, as EHRSQL's gold SQL does. ``each``: the first, or highest, of each
    subject_id or hadm_id.
    """
    src = source(event)
    found = conditions(event)
    for item in event.filters:
        if item.name in RELATIONS and item.name != "followed":
            found.append(_related(event, item, src))
    found += completed(event, src)
    if each and event.extreme:
        way = EXTREMES[event.extreme].way
        found = [*found, _nth(src, found, (each, measure(src), way, 1))]
    elif event.extreme:
        way, value = EXTREMES[event.extreme].sql, measure(src)
        found = [*found, f"{value} = ( SELECT {way}({value}) FROM {src.origin}{where(found)} )"]
    if each and event.order:
        offset, way = order_of(event.order)
        found = [*found, _nth(src, found, (each, f"{src.table}.{src.time}", way, offset + 1))]
    elif event.order:
        time = f"{src.table}.{src.time}"
        ordered = order_by(event.order, time)
        # Not DISTINCT: with it SQLite (3.40) ignores OFFSET in a scalar subquery that an index
        # answers, and the only time would pass for the second.
        nth = f"SELECT {time} FROM {src.origin}{where(found)} GROUP BY {time} {ordered}"
        found = [*found, f"{time} = ( {nth} )"]
    return found


def _nth(src: EventTable, found: list[str], which: tuple[str, str, str, int]) -> str:
    """The n-th of a column's values (in the order ``way``) for each patient or visit (``each``)."""
    each, column, way, n = which
    ranked = (
        f"SELECT {src.table}.{each} AS k, {column} AS t, DENSE_RANK() OVER ( PARTITION BY "
        f"{src.table}.{each} ORDER BY {column} {way} ) AS r FROM {src.origin}{where(found)}"
    )
    nth = f"SELECT e.k, MIN( e.t ) AS t FROM ( {ranked} ) AS e WHERE e.r = {n} GROUP BY e.k"
    return f"{column} = ( SELECT nth.t FROM ( {nth} ) AS nth WHERE nth.k = {src.table}.{each} )"


def completed(event: Event, src: EventTable) -> list[str]:
    """First, last, ... hospital visit or ICU stay means one that is over."""
    if event.order and event.kind in ("admission", "icustay") and event.get("current") is None:
        return [f"{src.table}.{src.end} IS NOT NULL"]
    return []


def _related(event: Event, item: Filter, src: EventTable) -> str:
    inner = inherited(event, item)
    if item.name == "charged":
        return _charged(src, inner)
    if item.name == "involving":
        other = source(inner)
        kept = where(rows(inner, _each(inner, item)))
        inside = f"SELECT {other.table}.hadm_id FROM {other.origin}{kept}"
        return f"{src.table}.hadm_id IN ( {inside} )"
    main = (f"{src.table}.{src.time}", _place(item, src))
    own = f"other.subject_id = {src.table}.subject_id"
    if item.name in _INSIDE:
        join = [own, *_within_stay(item, main[0])]
        found = f"( SELECT 1 FROM ( {_lasting(item, inner)} ) AS other{where(join)} )"
    else:
        join = [own, *window(item, "other.t", "other.k", main)]
        found = f"( SELECT 1 FROM ( {_deciding(item, inner)} ) AS other{where(join)} )"
    if item.name in ("without", "notduring"):
        return f"NOT EXISTS {found}"
    if item.name == "notfollowed":
        came_back = [*conditions(event), f"EXISTS {found}"]
        inside = f"SELECT {src.table}.subject_id FROM {src.origin}{where(came_back)}"
        return f"{src.table}.subject_id NOT IN ( {inside} )"
    return f"EXISTS {found}"


def _lasting(item: Filter, inner: Event) -> str:
    """Patient, start t and end e (now, of what is not over) of stays, drugs or infusions."""
    src = source(inner)
    columns = f"{src.table}.{src.time} AS t, COALESCE( {ended(src)}, current_time ) AS e"
    kept = where(rows(inner, _each(inner, item)))
    return f"SELECT {src.table}.subject_id, {columns} FROM {src.origin}{kept}"


def _within_stay(item: Filter, time: str) -> list[str]:
    """Conditions on a time inside the other event, or in a part of it."""
    found = [f"{time} BETWEEN other.t AND other.e"]
    if item.window == "early":
        span = duration(item.args[0])
        found.append(f"datetime({time}) <= datetime(other.t,'+{span}')")
    elif item.window == "late":
        span = duration(item.args[0])
        found.append(f"datetime({time}) >= datetime(other.e,'-{span}')")
    elif item.window:
        edge = "t" if item.window == "firstday" else "e"
        found.append(f"{_day(time)} = {_day(f'other.{edge}')}")
    return found


def _day(time: str, shift: str = "") -> str:
    moved = f",'{shift}'" if shift else ""
    return f"datetime({time},'start of day'{moved})"


def _each(inner: Event, item: Filter) -> str:
    """Whose first or highest the related event is, where several patients are meant."""
    patient = inner.get("patient")
    if not (inner.order or inner.extreme) or (patient and len(patient.args) == 1):
        return ""
    return "hadm_id" if "samevisit" in (item.window, item.tie) else "subject_id"


def _deciding(item: Filter, inner: Event) -> str:
    """The times t of the related event that can decide a relation, few enough to be kept at hand.

    After any of several times is after the first of them, and before any is before the last: of
    each patient, or of each visit, day, ... k that the window asks for. Within a span any may
    decide, once. A table of its own (SQLite makes it once, and an index of it) grows with the
    rows; all pairs of two events grow with their square.
    """
    either = item.window == "beyond" and item.name not in (*_BEFORE, *_AFTER)
    every = either or item.window == "within"
    key = key_of(item, "o.t", "o.v", other=True) or ("o.t" if every else "")
    way = "MAX" if item.name in _BEFORE else "MIN"
    columns, keys = f"o.subject_id, {way}( o.t ) AS t", "o.subject_id"
    if key:
        columns, keys = f"{columns}, {key} AS k", f"{keys}, {key}"
    if every and item.tie:
        keys += ", o.t"
    inside = side(inner, item, related=True)
    return f"SELECT {columns} FROM ( {inside} ) AS o GROUP BY {keys}"


def _place(item: Filter, src: EventTable) -> str:
    """The visit of a row, or the ICU stay where the window asks for that."""
    return stay_of(src) if "samestay" in (item.window, item.tie) else visit_of(src)


def stay_of(src: EventTable) -> str:
    """The ICU stay of a row."""
    if src.table == "icustays" or (src.via == "stay" and not src.rows):
        return f"{src.table}.stay_id"
    # Rows without a stay_id belong to an ICU stay when they fall inside it.
    time = f"{src.table}.{src.time}"
    return (
        "( SELECT MIN( stay.stay_id ) FROM icustays AS stay WHERE "
        f"stay.subject_id = {src.table}.subject_id AND {time} >= stay.intime "
        f"AND ( stay.outtime IS NULL OR {time} <= stay.outtime ) )"
    )


def side(
    event: Event, item: Filter, columns: tuple[str, ...] = (), *, related: bool = False
) -> str:
    """One side of a join by a relation: subject_id, time as t, visit (or ICU stay) as v, and more
    columns. ``related``: the side of the event that the relation names."""
    src = source(event)
    ends = related and item.name == "after_end"
    time = ended(src) if ends else f"{src.table}.{src.time}"
    names = [f"{src.table}.subject_id", f"{time} AS t", f"{_place(item, src)} AS v"]
    names += [f"{src.table}.{c} AS {c}" for c in columns]
    found = rows(event, _each(event, item) if related else "")
    return f"SELECT {', '.join(names)} FROM {src.origin}{where(found)}"


def window(item: Filter, time: str, key: str, main: tuple[str, str]) -> list[str]:
    """Conditions between the related event's ``time`` and ``key`` (see ``key_of``) and the time
    and visit of the main one."""
    found: list[str] = []
    if item.name in _BEFORE:
        found.append(f"{main[0]} < {time}")
    elif item.name in _AFTER:
        found.append(f"{time} < {main[0]}")
    if item.window == "within":
        found.append(_within(item, time, main[0]))
    elif item.window == "beyond":
        found.append(_beyond(item, time, main[0]))
    if same := key_of(item, *main):
        found.append(f"{key} = {same}")
    return found


def key_of(item: Filter, time: str, visit: str, *, other: bool = False) -> str:
    """What the window asks both events to have in common: visit, day, month or time; or "". Of the
    ``other`` event it may be the day before or after."""
    if item.window in TIES or item.tie:
        return visit
    if item.window in _SHIFTED:
        return _day(time, _SHIFTED[item.window] if other else "")
    if item.window in ("sameday", "samemonth"):
        return f"datetime({time},'start of {item.window[4:]}')"
    return f"datetime({time})" if item.window == "sametime" else ""


def _within(item: Filter, other: str, main: str) -> str:
    early, late = (main, other) if item.name in _BEFORE else (other, main)
    span = duration(item.args[0])
    after = f"datetime({late}) BETWEEN datetime({early}) AND datetime({early},'+{span}')"
    if item.name in ("with", "without"):
        # Neither comes first: within the span on either side.
        before = f"datetime({early}) BETWEEN datetime({late}) AND datetime({late},'+{span}')"
        return f"( {after} OR {before} )"
    return after


def _beyond(item: Filter, other: str, main: str) -> str:
    span = duration(item.args[0])
    later = f"datetime({main}) > datetime({other},'+{span}')"
    sooner = f"datetime({other}) > datetime({main},'+{span}')"
    if item.name in _BEFORE:
        return sooner
    return later if item.name in _AFTER else f"( {later} OR {sooner} )"


def joined(event: Event, item: Filter, column: str, *, counted: bool = False) -> str:
    """FROM and WHERE of the join of related (T1) and main (T2) rows, ``column`` in T2.

    EHRSQL counts and lists pairs of rows, so names and ranks are taken over the join. ``counted``:
    T1 has the related rows of one time and visit as one, and their number as n.
    """
    inner = inherited(event, item)
    main = replace(event, filters=tuple(f for f in event.filters if f is not item))
    t1 = side(inner, item, related=True)
    if counted:
        keys = "o.subject_id, o.t, o.v"
        t1 = f"SELECT {keys}, COUNT(*) AS n FROM ( {t1} ) AS o GROUP BY {keys}"
    t2 = side(main, item, (column,))
    matched = window(item, "T1.t", key_of(item, "T1.t", "T1.v", other=True), ("T2.t", "T2.v"))
    return (
        f"FROM ( {t1} ) AS T1 JOIN ( {t2} ) AS T2 ON T1.subject_id = T2.subject_id{where(matched)}"
    )
