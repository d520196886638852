"""Filters to SQL conditions, in EHRSQL's conventions (EHRXQA appendix C; EHRSQL-2024)."""

from __future__ import annotations

import re
from collections.abc import Callable

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.logical_form.compile.mapping import SOURCES, VITAL_BOUNDS, EventTable
from ehrqa_cli.logical_form.compile.sentences import condition
from ehrqa_cli.logical_form.form import Arg, Event, Filter, Items, Lit
from ehrqa_cli.logical_form.grammar import FILTERS, ORDERS


def unsupported(what: str) -> FormError:
    """The error for a form that has no SQL in this schema."""
    return FormError(f"this form has no query yet: {what}", "ask the question in other words")


def source(event: Event) -> EventTable:
    """The table of an event. Raises FormError for kinds that are not in tables."""
    found = SOURCES.get(event.kind)
    if found is None:
        raise unsupported(f"{event.kind} needs chest X-rays")
    return found


def quote(value: object) -> str:
    """A SQL literal."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise unsupported(f"the value {value!r}")
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + value.replace("'", "''") + "'"


def literal(arg: Arg) -> str | int | float:
    """The value of a bound argument. Raises FormError for a reference."""
    if not isinstance(arg, Lit):
        raise FormError("this form still has references", "bind it to a question's links first")
    return arg.value


def number(arg: Arg) -> str:
    """A numeric SQL literal."""
    value = literal(arg)
    if isinstance(value, str):
        raise unsupported(f"{value!r} is not a number")
    return quote(value)


def order_of(order: str | None) -> tuple[int, str]:
    """How many rows come before the one an order word means, and the direction to sort in."""
    word = ORDERS[order or "first"]
    return word.offset, word.way


def order_by(order: str | None, column: str) -> str:
    """``ORDER BY column ASC LIMIT 1 [OFFSET 1]`` for an order word."""
    offset, way = order_of(order)
    return f"ORDER BY {column} {way} LIMIT 1" + (f" OFFSET {offset}" if offset else "")


def visits(patients: str, which: str | None) -> str:
    """Hospital visits of patients (``= id`` or ``IN ( ids )``) as a subquery of hadm_id.

    Ordered ones are completed ones.
    """
    sql = f"SELECT admissions.hadm_id FROM admissions WHERE admissions.subject_id {patients}"
    if which == "current":
        return sql + " AND admissions.dischtime IS NULL"
    if which:
        order = order_by(which, "admissions.admittime")
        return f"{sql} AND admissions.dischtime IS NOT NULL {order}"
    return sql


def stays(hadm: str, which: str | None) -> str:
    """ICU stays of hospital visits as a subquery of stay_id."""
    sql = f"SELECT icustays.stay_id FROM icustays WHERE icustays.hadm_id IN ( {hadm} )"
    if which == "current":
        return sql + " AND icustays.outtime IS NULL"
    if which:
        return f"{sql} AND icustays.outtime IS NOT NULL {order_by(which, 'icustays.intime')}"
    return sql


def item_condition(event: Event, src: EventTable) -> list[str]:
    """The condition on the item's name."""
    if event.items is None:
        return []
    column = f"{src.table}.{src.code}"
    names = _names(event.items)
    same = f"= {names[0]}" if len(names) == 1 else f"IN ( {', '.join(names)} )"
    if src.lookup is None:
        return [f"{column} {same}"]
    table, key, label = src.lookup.table, src.lookup.key, src.lookup.label
    only = f" AND {src.lookup.only}" if src.lookup.only else ""
    return [f"{column} IN ( SELECT {table}.{key} FROM {table} WHERE {table}.{label} {same}{only} )"]


def _names(items: Items) -> list[str]:
    if any(op != "or" for op in items.ops):
        raise unsupported("items joined by and/not")
    return [quote(literal(a)) for a in items.args]


def people(event: Event) -> list[str]:
    """Conditions on admissions from gender and age filters."""
    genders, groups, limits = (_written_by(event, sql) for sql in ("gender", "age_group", "age"))
    found = [
        "admissions.subject_id IN ( SELECT patients.subject_id FROM patients "
        f"WHERE patients.gender = '{_part(item)}' )"
        for item in genders[:1]
    ]
    found += [_age_group(str(literal(item.args[0]))) for item in groups]
    return found + [f"admissions.age {_part(item)} {number(item.args[0])}" for item in limits]


def _written_by(event: Event, sql: str) -> list[Filter]:
    return [item for item in event.filters if FILTERS[item.name].sql == sql]


def _part(item: Filter) -> str:
    return FILTERS[item.name].part


def _age_group(text: str) -> str:
    if match := re.fullmatch(r"(\d+)-(\d+)", text):
        return f"admissions.age BETWEEN {match[1]} AND {match[2]}"
    if match := re.fullmatch(r"(\d+)\+", text):
        return f"admissions.age >= {match[1]}"
    raise unsupported(f"the age group {text!r}")


def scope(event: Event, src: EventTable) -> list[str]:
    """Conditions that tie rows to the patient, the hospital visit, the ICU stay and the group."""
    patient = event.get("patient")
    visit, icu = event.get("visit"), event.get("icu")
    if patient is None:
        if visit and src.via == "own" and icu is None:
            during = f"{src.table}.hadm_id IN ( {_everyones(visit.which)} )"
            return [during, *_group(event, src)]
        if visit or icu:
            raise unsupported("a hospital or ICU visit without a patient")
        return _group(event, src)
    who = _among(patient)
    if len(patient.args) > 1 and any(f and f.which != "current" for f in (visit, icu)):
        raise unsupported("the first or last visit of several patients")
    hadm = visits(who, visit.which if visit else None)
    group = _group(event, src)
    if src.via == "subject":
        return [f"{src.table}.subject_id {who}", *_own_visit(visit, src, hadm), *group]
    if src.via == "own":  # a study need not lie in a hospital visit
        own_visit = [f"{src.table}.hadm_id IN ( {hadm} )"] if visit or icu else []
        inside = [_during(src, stays(hadm, icu.which))] if icu else []
        return [f"{src.table}.subject_id {who}", *own_visit, *inside, *group]
    if src.via == "stay":
        inner = stays(hadm, icu.which if icu else None)
        return [f"{src.table}.stay_id IN ( {inner} )", *group]
    found = [f"{src.table}.hadm_id IN ( {hadm} )", *group]
    if icu:
        inner = stays(hadm, icu.which)
        if src.table == "icustays":
            return [*found, f"icustays.stay_id IN ( {inner} )"]
        found.append(_during(src, inner))
    return found


def _everyones(which: str | None) -> str:
    """The first, last, ... or current hospital visit of every patient, as hadm_id."""
    if which == "current":
        return "SELECT admissions.hadm_id FROM admissions WHERE admissions.dischtime IS NULL"
    offset, way = order_of(which)
    number = (
        "ROW_NUMBER() OVER ( PARTITION BY admissions.subject_id "
        f"ORDER BY admissions.admittime {way} )"
    )
    numbered = (
        f"SELECT admissions.hadm_id, {number} AS C1 FROM admissions "
        "WHERE admissions.dischtime IS NOT NULL"
    )
    return f"SELECT T1.hadm_id FROM ( {numbered} ) AS T1 WHERE T1.C1 = {offset + 1}"


def _among(item: Filter) -> str:
    ids = [quote(literal(a)) for a in item.args]
    return f"= {ids[0]}" if len(ids) == 1 else f"IN ( {', '.join(ids)} )"


def _own_visit(visit: Filter | None, src: EventTable, hadm: str) -> list[str]:
    if visit is None or src.table != "admissions":
        return []
    return [f"admissions.hadm_id IN ( {hadm} )"]


def _during(src: EventTable, inner: str) -> str:
    # Rows without a stay_id belong to an ICU stay when they fall inside it.
    time = f"{src.table}.{src.time}"
    return (
        f"EXISTS ( SELECT 1 FROM icustays AS stay WHERE stay.hadm_id = {src.table}.hadm_id "
        f"AND stay.stay_id IN ( {inner} ) AND {time} >= stay.intime "
        f"AND ( stay.outtime IS NULL OR {time} <= stay.outtime ) )"
    )


def _group(event: Event, src: EventTable) -> list[str]:
    conditions = people(event)
    if not conditions:
        return []
    if src.table == "admissions":
        return conditions
    aged = _written_by(event, "age_group") or _written_by(event, "age")
    by_person = src.via == "subject" or (src.via == "own" and not aged)
    key = "subject_id" if by_person else "hadm_id"
    where = " AND ".join(conditions)
    return [f"{src.table}.{key} IN ( SELECT admissions.{key} FROM admissions WHERE {where} )"]


def _column(item: Filter, _event: Event, src: EventTable) -> str:
    spec = FILTERS[item.name]
    return f"{src.table}.{spec.part or dict(src.columns)[spec.fixes]} {_among(item)}"


def _compare(item: Filter, _event: Event, src: EventTable) -> str:
    return f"{measure(src)} {_part(item)} {number(item.args[0])}"


def _charge(item: Filter, _event: Event, src: EventTable) -> str:
    return f"{src.table}.event_type = {quote(SOURCES[_part(item)].table)}"


def _left(item: Filter, _event: Event, src: EventTable) -> str:
    return f"LOWER({src.table}.discharge_location) {_part(item)} 'died'"


def _open(_item: Filter, _event: Event, src: EventTable) -> str:
    return f"{src.table}.{src.end} IS NULL"


def _showing(item: Filter, _event: Event, src: EventTable) -> str:
    return condition(item.items, item.places, f"{src.table}.study_id")


def _lasting(item: Filter, _event: Event, src: EventTable) -> str:
    start, end = f"{src.table}.{src.time}", f"{src.table}.{src.end}"
    return f"datetime({end}) {_part(item)} datetime({start},'+{duration(item.args[0])}')"


def measure(src: EventTable) -> str:
    """The value of an event; of a stay, its length in days."""
    if src.value:
        return f"{src.table}.{src.value}"
    if not src.end:
        raise unsupported("a comparison of something that has no value")
    end, start = f"{src.table}.{src.end}", f"{src.table}.{src.time}"
    return f"( strftime('%J',{end}) - strftime('%J',{start}) )"


def _reference(item: Filter, event: Event, src: EventTable) -> str:
    """A comparison with the reference range: of the row (lab), or of the vital sign."""
    if event.kind == "lab":
        low, high = f"{src.table}.ref_range_lower", f"{src.table}.ref_range_upper"
    else:
        label = str(literal(event.items.args[0])) if event.items else ""
        name = VITAL_BOUNDS.get(label)
        if name is None or event.items is None or len(event.items.args) > 1:
            raise unsupported(f"no normal range is known for {label or 'vital signs in general'}")
        low, high = f"{name}_lower", f"{name}_upper"
    return f"{src.table}.{src.value} {_part(item).format(low=low, high=high)}"


def _ago(item: Filter, _event: Event, src: EventTable) -> str:
    span = f"datetime(current_time,'-{duration(item.args[0])}')"
    return f"datetime({src.table}.{src.time}) {_part(item)} {span}"


def _relative(item: Filter, _event: Event, src: EventTable) -> str:
    t, back = f"{src.table}.{src.time}", _part(item)
    unit = back.split()[1]
    start = f"'start of {unit}'"
    found = f"datetime({t},{start}) = datetime(current_time,{start},'{back}')"
    return f"{found} AND {_inside(literal(item.args[0]), unit, t)}" if item.args else found


def _date(item: Filter, _event: Event, src: EventTable) -> str:
    given, t, sign = literal(item.args[0]), f"{src.table}.{src.time}", _part(item)
    value = f"{given:02d}" if isinstance(given, int) and given <= 12 else str(given)
    if len(value) in (2, 5):  # a month, or month and day, of this year
        shape = "%Y-%m" if len(value) == 2 else "%Y-%m-%d"
        return f"strftime('{shape}',{t}) {sign} strftime('%Y',current_time) || '-{value}'"
    formats = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d"}
    if len(value) not in formats:
        return f"{t} {sign} {quote(value)}"
    return f"strftime('{formats[len(value)]}',{t}) {sign} {quote(value)}"


def _inside(value: str | int | float, unit: str, t: str) -> str:
    if isinstance(value, str):
        return f"strftime('%m-%d',{t}) = {quote(value)}"
    part = "%m" if unit == "year" else "%d"
    return f"strftime('{part}',{t}) = '{int(value):02d}'"


def duration(arg: Arg) -> str:
    """A duration as a SQLite modifier without sign; weeks become days."""
    match = re.fullmatch(r"(\d+) (hour|day|week|month|year|minute)", str(literal(arg)))
    if match is None:
        raise unsupported(f"the duration {literal(arg)!r}")
    count, unit = int(match[1]), match[2]
    return f"{count * 7} day" if unit == "week" else f"{count} {unit}"


def days(arg: Arg) -> str:
    """A duration in days as EHRSQL writes survival periods (a month is a twelfth of 365, rounded
    down). Raises FormError for what is no whole number of days: deaths are known by the day."""
    count, unit = duration(arg).split(" ")
    if unit == "month":
        return f"{count} * 365/12"
    if unit in ("day", "year"):
        return count if unit == "day" else f"{count} * 365"
    whole, rest = divmod(int(count), {"hour": 24, "minute": 24 * 60}[unit])
    if rest or not whole:
        raise unsupported(f"survival over {count} {unit}s, where deaths are recorded by the day")
    return str(whole)


# What writes a filter's condition on its own event, by the name under which filters.toml asks for
# it. Patients, people, relations and numbers of times are written with the event as a whole.
WRITERS: dict[str, Callable[[Filter, Event, EventTable], str]] = {
    "ago": _ago,
    "charge": _charge,
    "column": _column,
    "compare": _compare,
    "date": _date,
    "lasting": _lasting,
    "left": _left,
    "open": _open,
    "reference": _reference,
    "relative": _relative,
    "showing": _showing,
}


def conditions(event: Event) -> list[str]:
    """All conditions of an event, but for relations and order."""
    src = source(event)
    found = [*scope(event, src), *item_condition(event, src)]
    found += [src.fixed] if src.fixed else []
    for item in event.filters:
        write = WRITERS.get(FILTERS[item.name].sql)
        if write:
            found.append(write(item, event, src))
    return found


def where(parts: list[str]) -> str:
    """`` WHERE a AND b`` or nothing."""
    return " WHERE " + " AND ".join(parts) if parts else ""
