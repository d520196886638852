"""Conditions of EHRSQL's gold SQL back to filters of an event."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from ehrqa_cli.logical_form.form import Event, Filter, Items, Lit
from ehrqa_cli.logical_form.normalise import with_filter
from ehrqa_cli.sets.inverse.tree import (
    Node,
    Unrecognised,
    bare,
    conditions_of,
    order_word,
    ordering,
    table_of,
    text,
)

_T = r"(?:\w+\.)?\w+"
_RELATIVE: dict[tuple[str, str], str] = {
    ("year", "0"): "this_year",
    ("year", "1"): "last_year",
    ("month", "0"): "this_month",
    ("month", "1"): "last_month",
    ("day", "0"): "today",
    ("day", "1"): "yesterday",
}
_NOW = r"DATETIME\(CURRENT_TIME"
_TIME: list[tuple[str, Callable[[re.Match[str]], Filter]]] = [
    (
        rf"STRFTIME\('(?:%Y|%Y-%m|%Y-%m-%d)', {_T}\) (=|>=|<) '([\d-]+)'",
        lambda m: Filter({"=": "in", ">=": "since", "<": "before_date"}[m[1]], (Lit(m[2]),)),
    ),
    (
        rf"DATETIME\({_T}\) (>=|<=) DATETIME\(CURRENT_TIME, '-(\d+ \w+)'\)",
        lambda m: Filter("since_ago" if m[1] == ">=" else "until_ago", (Lit(m[2]),)),
    ),
    (
        rf"DATETIME\({_T}, 'start of (\w+)'\) = {_NOW}, 'start of \w+', '-(\d) \w+'\)",
        lambda m: Filter(_RELATIVE[m[1], m[2]]),
    ),
]
_INSIDE = re.compile(rf"STRFTIME\('(%m|%d|%m-%d)', {_T}\) = '([\d-]+)'")
_VALUES: list[tuple[str, str]] = [
    (r"prescriptions\.route = '(.*)'", "route"),
    (r"microbiologyevents\.spec_type_desc = '(.*)'", "of_specimen"),
    (r"microbiologyevents\.test_name = '(.*)'", "of_mtest"),
    (r"admissions\.admission_location = '(.*)'", "from"),
]
_ITEM = r"(?:prescriptions\.drug|transfers\.careunit) = '(.*)'"
_NUMBERS = re.compile(r"\w+\.valuenum (>|<|>=|<=) (-?[\d.]+)")
_COMPARE = {">": "over", "<": "under", ">=": "atleast", "<=": "atmost"}
_AGE = re.compile(r"admissions\.age (?:BETWEEN (\d+) AND (\d+)|>= (\d+))")


def unquote(value: str) -> str:
    """The content of a SQL string as rendered."""
    return value.replace("''", "'")


def num(value: str) -> Lit:
    """A number as an int where it is one."""
    return Lit(float(value) if "." in value else int(value))


def read_conditions(select: Node, event: Event) -> Event:
    """The event with the filters that a SELECT's WHERE states. Raises Unrecognised."""
    for node in conditions_of(select):
        event = _one(node, event)
    return event


def _one(node: Node, event: Event) -> Event:
    for read in (_subquery, _time_of, _plain):
        found = read(node, event)
        if found is not None:
            return found
    raise Unrecognised(text(node)[:120])


def _time_of(node: Node, event: Event) -> Event | None:
    sql = text(node)
    for pattern, make in _TIME:
        if match := re.fullmatch(pattern, sql):
            return with_filter(event, make(match))
    if match := _INSIDE.fullmatch(sql):
        rel = event.get("this_year", "last_year", "this_month", "last_month")
        if rel is None:
            raise Unrecognised(sql)
        inside = Lit(match[2]) if match[1] == "%m-%d" else Lit(int(match[2]))
        return with_filter(event, replace(rel, args=(inside,)))
    if match := re.fullmatch(r"\w+\.(?:chart|start|in|admit)time = '(.*)'", sql):
        return with_filter(event, Filter("in", (Lit(match[1]),)))
    return None


def _plain(node: Node, event: Event) -> Event | None:
    sql = text(node)
    for pattern, name in _VALUES:
        if match := re.fullmatch(pattern, sql):
            return with_filter(event, Filter(name, (Lit(unquote(match[1])),)))
    if match := re.fullmatch(_ITEM, sql):
        return replace(event, items=Items((Lit(unquote(match[1])),)))
    if node.key == "in" and node.expressions and "drug" in text(node.this):
        values = tuple(Lit(str(e.this)) for e in node.expressions)
        return replace(event, items=Items(values, ("or",) * (len(values) - 1)))
    if match := _NUMBERS.fullmatch(sql):
        return with_filter(event, Filter(_COMPARE[match[1]], (num(match[2]),)))
    if match := _AGE.fullmatch(sql):
        group = f"{match[1]}-{match[2]}" if match[1] else f"{match[3]}+"
        return with_filter(event, Filter("aged", (Lit(group),)))
    if match := re.fullmatch(r"(?:admissions|patients)\.subject_id = (\d+)", sql):
        return with_filter(event, Filter("patient", (Lit(int(match[1])),)))
    if match := re.fullmatch(r"patients\.gender = '([fm])'", sql):
        return with_filter(event, Filter("female" if match[1] == "f" else "male"))
    if re.fullmatch(r"NOT \w+\.valuenum BETWEEN \w+_lower AND \w+_upper", sql):
        return with_filter(event, Filter("abnormal"))
    if re.fullmatch(r"(admissions\.dischtime|icustays\.outtime) IS NULL", sql):
        return with_filter(event, Filter("current"))
    # Completed visits and found organisms are implied by the order and the kind.
    implied = r"NOT (admissions\.dischtime|icustays\.outtime|microbiologyevents\.org_name) IS NULL"
    return event if re.fullmatch(implied, sql) else None


def _subquery(node: Node, event: Event) -> Event | None:
    query = node.args.get("query") if node.key == "in" else node.args.get("expression")
    inner = bare(query) if query is not None else None
    if inner is None or inner.key != "select":
        return None
    table = table_of(inner) or ""
    if table.startswith("d_"):
        label = [c for c in conditions_of(inner) if "linksto" not in text(c)]
        name = str(label[0].expression.this)
        return replace(event, items=Items((Lit(name),)))
    column = text(node.this).split(".")[-1]
    if column in ("hadm_id", "stay_id"):
        return _scope(inner, table, event)
    if column.endswith("time"):
        terms, _, offset = ordering(inner)
        word = order_word(terms[0][1], offset) if terms else "first"
        return replace(event, order=word)
    return None


def _scope(inner: Node, table: str, event: Event) -> Event | None:
    if table not in ("admissions", "icustays"):
        return None
    source = read_conditions(inner, Event("admission" if table == "admissions" else "icustay"))
    which = which_of(inner, source)
    name = "visit" if table == "admissions" else "icu"
    if which:
        event = with_filter(event, Filter(name, which=which))
    for item in source.filters:
        if item.name in ("patient", "aged", "visit", "female", "male"):
            event = with_filter(event, item)
    return event


def which_of(select: Node, source: Event) -> str | None:
    """first, last, ... or current, as a visit subquery says it."""
    if source.get("current"):
        return "current"
    terms, limit, offset = ordering(select)
    if terms and limit:
        return order_word(terms[0][1], offset)
    return source.order
