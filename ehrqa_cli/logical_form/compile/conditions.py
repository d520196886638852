"""What ties rows to patients, visits and groups of people, and all conditions of an event.

In EHRSQL's conventions (EHRXQA appendix C; EHRSQL-2024).
"""

from __future__ import annotations

import re

from ehrqa_cli.logical_form.compile.filters import WRITERS
from ehrqa_cli.logical_form.compile.layout import codes_in, concepts
from ehrqa_cli.logical_form.compile.mapping import EventTable
from ehrqa_cli.logical_form.compile.values import (
    among,
    literal,
    number,
    order_by,
    order_of,
    part,
    quote,
    source,
    unsupported,
)
from ehrqa_cli.logical_form.form import Event, Filter, Items
from ehrqa_cli.logical_form.grammar import FILTERS


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
    """The condition on the item: its name, or the codes of the concept that a name stands for."""
    if event.items is None or src.rows:  # what several tables make has only its members
        return []
    column = f"{src.table}.{src.code}"
    names = _names(event.items)
    if meant := [*concepts(event)]:
        items = [item for concept in meant for item in concept.items]
        codes = codes_in(items, src.table, src.code) or ["NULL"]  # nothing is NULL
        one = len(codes) == 1
        return [f"{column} = {codes[0]}" if one else f"{column} IN ( {', '.join(codes)} )"]
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
        f"WHERE patients.gender = '{part(item)}' )"
        for item in genders[:1]
    ]
    found += [_age_group(str(literal(item.args[0]))) for item in groups]
    return found + [f"admissions.age {part(item)} {number(item.args[0])}" for item in limits]


def _written_by(event: Event, sql: str) -> list[Filter]:
    return [item for item in event.filters if FILTERS[item.name].sql == sql]


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
    who = among(patient)
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
