"""What ties rows to patients, visits and groups of people, and all conditions of an event.

In EHRSQL's conventions (EHRXQA appendix C; EHRSQL-2024).
"""

from __future__ import annotations

import re
from dataclasses import replace

from ehrqa_cli.logical_form.compile.filters import WRITERS
from ehrqa_cli.logical_form.compile.layout import codes_in, concepts, split
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
    where,
)
from ehrqa_cli.logical_form.form import Event, Filter, Items
from ehrqa_cli.logical_form.grammar import FILMS, FILTERS


def visits(patients: str, which: str | None, kinds: str = "") -> str:
    """Encounters of patients (``= id`` or ``IN ( ids )``; "": everybody's) as a subquery of
    hadm_id; those of some ``kinds`` only (``IN ( kinds )``).

    Ordered ones are completed ones.
    """
    found = [f"admissions.subject_id {patients}"] if patients else []
    found += [f"admissions.encounter {kinds}"] if kinds else []
    order = ""
    if which == "current":
        found.append("admissions.dischtime IS NULL")
    elif which:
        found.append("admissions.dischtime IS NOT NULL")
        order = f" {order_by(which, 'admissions.admittime')}"
    return f"SELECT admissions.hadm_id FROM admissions{where(found)}{order}"


def stays(condition: str, which: str | None) -> str:
    """ICU stays that meet ``condition`` as a subquery of stay_id."""
    sql = f"SELECT icustays.stay_id FROM icustays WHERE icustays.{condition}"
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
    wanted, unwanted = split(event.items)
    if unwanted:
        both = (Items(a, ("or",) * (len(a) - 1)) if a else None for a in (wanted, unwanted))
        kept, out = (item_condition(replace(event, items=items), src) for items in both)
        return [*(kept or [f"{column} IS NOT NULL"]), *(f"NOT ( {said} )" for said in out)]
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
        raise unsupported("items joined by and")
    return [quote(literal(a)) for a in items.args]


def _written_by(event: Event, sql: str) -> list[Filter]:
    return [item for item in event.filters if FILTERS[item.name].sql == sql]


def _ages(event: Event) -> list[str]:
    """What is asked of the age, to be written after it."""
    groups, limits = (_written_by(event, sql) for sql in ("age_group", "age"))
    found = [_age_group(str(literal(item.args[0]))) for item in groups]
    return found + [f"{part(item)} {number(item.args[0])}" for item in limits]


def _age_group(text: str) -> str:
    if match := re.fullmatch(r"(\d+)-(\d+)", text):
        return f"BETWEEN {match[1]} AND {match[2]}"
    if match := re.fullmatch(r"(\d+)\+", text):
        return f">= {match[1]}"
    raise unsupported(f"the age group {text!r}")


def scope(event: Event, src: EventTable) -> list[str]:
    """Conditions that tie rows to the patient, the encounter, the ICU stay and the group.

    Without an encounter the whole record is meant, what happened outside of visits too.
    """
    if numbered := event.numbered:
        rest = replace(event, filters=tuple(f for f in event.filters if f not in numbered))
        return [*(_numbered(f, src) for f in numbered), *scope(rest, src)]
    patient, visit, icu = (event.get(name) for name in ("patient", "visit", "icu"))
    kinds = _kinds(event)
    group = _group(event, src)
    if patient is None:
        if icu or (visit and event.kind not in FILMS):
            raise unsupported("a hospital or ICU visit without a patient")
        hadm = _everyones(visit.which, kinds) if visit else visits("", None, kinds)
        return [*_inside_visit(src, hadm, visit, kinds), *group]
    who = among(patient)
    if len(patient.args) > 1 and any(f and f.which != "current" for f in (visit, icu)):
        raise unsupported("the first or last visit of several patients")
    hadm = visits(who, visit.which if visit else None, kinds)
    # The patient too where there is a visit: then the rows of the patient are looked up.
    found = [f"{src.table}.subject_id {who}", *_inside_visit(src, hadm, visit, kinds)]
    if icu and src.via != "subject":
        of_whom = f"hadm_id IN ( {hadm} )" if visit or kinds else f"subject_id {who}"
        found.append(_inside_stay(src, stays(of_whom, icu.which)))
    return [*found, *group]


def visit_of(src: EventTable) -> str:
    """The hospital visit of a row; of a death, the one during which the patient died."""
    if src.table != "patients":
        return f"{src.table}.hadm_id"
    # The date of death has no hour, so that days are compared.
    return (
        "( SELECT admissions.hadm_id FROM admissions WHERE "
        "admissions.subject_id = patients.subject_id AND date(patients.dod) "
        "BETWEEN date(admissions.admittime) AND date(admissions.dischtime) LIMIT 1 )"
    )


def _numbered(item: Filter, src: EventTable) -> str:
    """In the visit or the ICU stay of this number."""
    if item.name == "visit":
        return f"{visit_of(src)} {among(item)}"
    if src.via != "subject":
        return _inside_stay(src, quote(literal(item.args[0])))
    inside = f"SELECT icustays.hadm_id FROM icustays WHERE icustays.stay_id {among(item)}"
    return f"{visit_of(src)} IN ( {inside} )"


def _kinds(event: Event) -> str:
    """The kinds of encounter that are meant; "": any."""
    item = event.get("encounter")
    anything = item is None or any(literal(arg) == "any" for arg in item.args)
    return among(item) if item and not anything else ""


def _inside_visit(src: EventTable, hadm: str, visit: Filter | None, kinds: str) -> list[str]:
    if src.table == "patients" or not (visit or kinds):
        return []
    if src.table == "admissions" and visit is None:
        return [f"admissions.encounter {kinds}"]
    return [f"{src.table}.hadm_id IN ( {hadm} )"]


def _inside_stay(src: EventTable, inner: str) -> str:
    if src.via == "stay" and not src.rows:
        return f"{src.table}.stay_id IN ( {inner} )"
    # Rows without a stay_id belong to an ICU stay when they fall inside it.
    time = f"{src.table}.{src.time}"
    return (
        f"EXISTS ( SELECT 1 FROM icustays AS stay WHERE stay.hadm_id = {src.table}.hadm_id "
        f"AND stay.stay_id IN ( {inner} ) AND {time} >= stay.intime "
        f"AND ( stay.outtime IS NULL OR {time} <= stay.outtime ) )"
    )


def _everyones(which: str | None, kinds: str) -> str:
    """The first, last, ... or current encounter of every patient, as hadm_id."""
    if which == "current":
        return visits("", which, kinds)
    offset, way = order_of(which)
    number = (
        "ROW_NUMBER() OVER ( PARTITION BY admissions.subject_id "
        f"ORDER BY admissions.admittime {way} )"
    )
    over = ["admissions.dischtime IS NOT NULL"]
    over += [f"admissions.encounter {kinds}"] if kinds else []
    numbered = f"SELECT admissions.hadm_id, {number} AS C1 FROM admissions{where(over)}"
    return f"SELECT T1.hadm_id FROM ( {numbered} ) AS T1 WHERE T1.C1 = {offset + 1}"


def _group(event: Event, src: EventTable) -> list[str]:
    """Conditions from gender and age filters."""
    key = f"{src.table}.subject_id IN ( SELECT "
    found = [
        f"{key}patients.subject_id FROM patients WHERE patients.gender = '{part(item)}' )"
        for item in _written_by(event, "gender")[:1]
    ]
    ages = [f"admissions.age {said}" for said in _ages(event)]
    if not ages or src.table == "admissions":
        return [*found, *ages]
    if src.table == "patients":
        return [*found, f"{key}admissions.subject_id FROM admissions{where(ages)} )"]
    return [*found, _aged(event, src, where(ages))]


def _aged(event: Event, src: EventTable, during: str) -> str:
    """The age is that of the encounter; without one, what it was in the year of the event.

    Of a study it is always that of the encounter, as EHRXQA has it.
    """
    visit, years = f"{src.table}.hadm_id", (f"{src.table}.{src.time}", "admissions.admittime")
    inside = f"{visit} IN ( SELECT admissions.hadm_id FROM admissions{during} )"
    if event.kind in FILMS:
        return inside
    then, seen = (f"CAST( strftime('%Y',{time}) AS INTEGER )" for time in years)
    person = [f"admissions.subject_id = {src.table}.subject_id"]
    person += [f"admissions.age + {then} - {seen} {said}" for said in _ages(event)]
    outside = f"{visit} IS NULL AND EXISTS ( SELECT 1 FROM admissions{where(person)} )"
    return f"( {inside} OR {outside} )"


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
