"""Filters to SQL conditions, in EHRSQL's conventions (EHRXQA appendix C; EHRSQL-2024)."""

from __future__ import annotations

import re

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.logical_form.compile.mapping import SOURCES, VITAL_BOUNDS, EventTable
from ehrqa_cli.logical_form.compile.sentences import showing
from ehrqa_cli.logical_form.form import Arg, Event, Filter, Items, Lit
from ehrqa_cli.logical_form.grammar import CHARGES, TIME_FILTERS

_OFFSETS = {"first": 0, "second": 1, "third": 2, "last": 0, "second_last": 1}
COMPARE = {"over": ">", "under": "<", "atleast": ">=", "atmost": "<="}
_AGES = {"older": ">", "younger": "<", "aged_from": ">=", "aged_to": "<="}
_ADMISSION = {
    "from": "admission_location",
    "type": "admission_type",
    "to": "discharge_location",
    "insured": "insurance",
    "speaks": "language",
    "status": "marital_status",
}


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
    way = "DESC" if order in ("last", "second_last") else "ASC"
    return _OFFSETS[order or "first"], way


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
    found: list[str] = []
    gender = event.get("female", "male")
    if gender:
        found.append(
            "admissions.subject_id IN ( SELECT patients.subject_id FROM patients "
            f"WHERE patients.gender = '{gender.name[0]}' )"
        )
    aged = event.get("aged")
    if aged:
        found.append(_age_group(str(literal(aged.args[0]))))
    for name, sign in _AGES.items():
        limit = event.get(name)
        if limit:
            found.append(f"admissions.age {sign} {number(limit.args[0])}")
    return found


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
    by_person = src.via == "subject" or (src.via == "own" and not event.get("aged", *_AGES))
    key = "subject_id" if by_person else "hadm_id"
    where = " AND ".join(conditions)
    return [f"{src.table}.{key} IN ( SELECT admissions.{key} FROM admissions WHERE {where} )"]


def own(event: Event, src: EventTable) -> list[str]:
    """Conditions from filters on the event itself, apart from patient and time."""
    table = src.table
    found = [src.fixed] if src.fixed else []
    for item in event.filters:
        if item.name == "route":
            found.append(f"{table}.route = {quote(literal(item.args[0]))}")
        elif item.name in ("of_specimen", "of_mtest"):
            column = "spec_type_desc" if item.name == "of_specimen" else "test_name"
            found.append(f"{table}.{column} = {quote(literal(item.args[0]))}")
        elif item.name in _ADMISSION:
            found.append(f"{table}.{_ADMISSION[item.name]} {_among(item)}")
        elif item.name in COMPARE:
            found.append(f"{measure(src)} {COMPARE[item.name]} {number(item.args[0])}")
        elif item.name in CHARGES:
            found.append(f"{table}.event_type = {quote(SOURCES[CHARGES[item.name]].table)}")
        elif item.name in ("longer", "shorter"):
            found.append(_lasting(item, src))
        elif item.name in ("died", "alive"):
            sign = "=" if item.name == "died" else "<>"
            found.append(f"LOWER({table}.discharge_location) {sign} 'died'")
        elif item.name in ("abnormal", "high", "low"):
            found.append(_abnormal(event, src, item.name))
        elif item.name == "current":
            found.append(f"{table}.{src.end} IS NULL")
    return found


def _lasting(item: Filter, src: EventTable) -> str:
    start, end = f"{src.table}.{src.time}", f"{src.table}.{src.end}"
    sign = ">" if item.name == "longer" else "<"
    return f"datetime({end}) {sign} datetime({start},'+{duration(item.args[0])}')"


def measure(src: EventTable) -> str:
    """The value of an event; of a stay, its length in days."""
    if src.value:
        return f"{src.table}.{src.value}"
    if not src.end:
        raise unsupported("a comparison of something that has no value")
    end, start = f"{src.table}.{src.end}", f"{src.table}.{src.time}"
    return f"( strftime('%J',{end}) - strftime('%J',{start}) )"


def _abnormal(event: Event, src: EventTable, way: str) -> str:
    value = f"{src.table}.{src.value}"
    if event.kind == "lab":
        low, high = f"{src.table}.ref_range_lower", f"{src.table}.ref_range_upper"
    else:
        label = str(literal(event.items.args[0])) if event.items else ""
        name = VITAL_BOUNDS.get(label)
        if name is None or event.items is None or len(event.items.args) > 1:
            raise unsupported(f"no normal range is known for {label or 'vital signs in general'}")
        low, high = f"{name}_lower", f"{name}_upper"
    if way == "high":
        return f"{value} > {high}"
    if way == "low":
        return f"{value} < {low}"
    return f"{value} NOT BETWEEN {low} AND {high}"


def times(event: Event, column: str) -> list[str]:
    """Conditions from the time filters on a time column."""
    return [c for f in event.filters if f.name in TIME_FILTERS for c in _time(f, column)]


def _time(item: Filter, t: str) -> list[str]:
    if item.name in ("in", "since", "before_date"):
        return [_date(item, t)]
    if item.name in ("since_ago", "until_ago"):
        sign = ">=" if item.name == "since_ago" else "<="
        return [f"datetime({t}) {sign} datetime(current_time,'-{duration(item.args[0])}')"]
    back = "-0" if item.name.startswith(("this", "today")) else "-1"
    unit = {"today": "day", "yesterday": "day"}.get(item.name) or item.name.split("_")[1]
    start = f"'start of {unit}'"
    found = [f"datetime({t},{start}) = datetime(current_time,{start},'{back} {unit}')"]
    if item.args:
        found.append(_inside(literal(item.args[0]), unit, t))
    return found


def _date(item: Filter, t: str) -> str:
    given = literal(item.args[0])
    value = f"{given:02d}" if isinstance(given, int) and given <= 12 else str(given)
    sign = {"in": "=", "since": ">=", "before_date": "<"}[item.name]
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


def conditions(event: Event) -> list[str]:
    """All conditions of an event, but for relations and order."""
    src = source(event)
    return [
        *scope(event, src),
        *item_condition(event, src),
        *own(event, src),
        *showing(event, f"{src.table}.study_id"),
        *times(event, f"{src.table}.{src.time}"),
    ]


def where(parts: list[str]) -> str:
    """`` WHERE a AND b`` or nothing."""
    return " WHERE " + " AND ".join(parts) if parts else ""
