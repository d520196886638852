"""A gold query to a form: the shape of the SELECT says the head, its conditions the filters."""

from __future__ import annotations

import re
from dataclasses import replace

from ehrqa_cli import sqltext
from ehrqa_cli.logical_form.compile.mapping import SOURCES
from ehrqa_cli.logical_form.form import Combine, Event, Filter, Form, Items, Lit, Select
from ehrqa_cli.logical_form.grammar import TIME_FILTERS
from ehrqa_cli.logical_form.normalise import normalise, with_filter
from ehrqa_cli.sets.inverse.conditions import num, read_conditions, which_of
from ehrqa_cli.sets.inverse.tree import (
    Node,
    Unrecognised,
    bare,
    conditions_of,
    group_of,
    inner_of,
    joins_of,
    order_word,
    ordering,
    projection,
    source_of,
    table_of,
    text,
)

_OPS = {"sub": "minus", "lt": "less", "gt": "greater", "eq": "equal"}
_KIND = {s.table: k for k, s in reversed(SOURCES.items()) if k not in ("discharge", "death")}
_MICRO = {"spec_type_desc": "specimen", "test_name": "mtest", "org_name": "organism"}
_PERIOD = {"%Y-%m-%d": "per_day", "%Y-%m": "per_month", "%Y": "per_year"}
_COLUMN_HEADS = {c: h for s in SOURCES.values() for h, c in s.columns}
_SHARED = ("patient", "visit", "icu", *TIME_FILTERS)


def invert(sql: str) -> Form:
    """The form of one gold query of EHRSQL. Raises Unrecognised where no form says the same."""
    tree = sqltext.parse_select(sql.replace("≥", ">="))
    return normalise(_form(tree))


def _form(tree: Node) -> Form:
    tree = bare(tree)
    if tree.key in ("except", "intersect", "union"):
        return Combine(tree.key, _form(tree.left), _form(tree.right))
    source = source_of(tree)
    if source is None:
        node = tree.expressions[0]
        if node.key not in _OPS:
            raise Unrecognised(f"an expression of {node.key}")
        return Combine(_OPS[node.key], _form(node.this), _form(node.expression))
    if source.key == "subquery":
        return _derived(tree)
    table = table_of(tree) or ""
    if table.startswith("d_"):
        return _named(tree)
    if table == "cost" and "event_type" in text(tree):
        return _cost(tree)
    if table == "admissions" and "DISTINCT admissions.subject_id" in projection(tree):
        return _patients(tree)
    return _plain(tree, table)


def subquery_of(condition: Node) -> Node:
    """The SELECT of ``column IN ( SELECT ... )``, None for other conditions."""
    query = condition.args.get("query") if condition.key == "in" else None
    return bare(query) if query is not None else None


def event_of(select: Node, table: str, column: str = "") -> Event:
    """The event that a SELECT over one table ranges over."""
    kind = _KIND.get(table)
    if kind is None:
        raise Unrecognised(f"table {table}")
    if table == "microbiologyevents":
        kind = _micro_kind(select, column)
    return _own_item(read_conditions(select, Event(kind)))


def _micro_kind(select: Node, column: str) -> str:
    if column in _MICRO:
        return _MICRO[column]
    where = " ".join(text(c) for c in conditions_of(select))
    if "NOT microbiologyevents.org_name IS NULL" in where:
        return "organism"
    return "specimen" if "spec_type_desc" in where else "mtest"


def _own_item(event: Event) -> Event:
    own = {"specimen": "of_specimen", "mtest": "of_mtest"}.get(event.kind)
    item = event.get(own) if own else None
    if own is None or item is None:
        return event
    return replace(event.without(own), items=Items(item.args))


def _plain(select: Node, table: str) -> Form:
    shown = projection(select)
    column = shown.split(".")[-1]
    event = event_of(select, table, column)
    if shown.startswith("1 - COUNT(*) > 0"):
        return Select("none", event)
    if shown.startswith("COUNT(*) > 0"):
        return Select("exists", _ordered(select, event))
    if shown.startswith("COUNT("):
        return Select("count_names" if "drug" in shown else "count", event)
    if match := re.fullmatch(r"(SUM|AVG|MAX|MIN)\(\S+\)", shown):
        return Select(match[1].lower(), event, per=_period(select))
    event = _ordered(select, event)
    if match := re.match(r"(1|24) \* \(STRFTIME\('%J', CURRENT_TIME\)", shown):
        return Select("days_since" if match[1] == "1" else "hours_since", event)
    if re.fullmatch(r"STRFTIME\('%J', \S+\) - STRFTIME\('%J', \S+\)", shown):
        return Select("length", event)
    source = SOURCES[event.kind]
    if column == "dischtime":
        return Select("time", replace(event, kind="discharge"))
    if column == source.time and event.kind != "person":
        return Select("time", event)
    if column == source.value:
        return Select("value", event)
    if column == source.code:
        return Select("name", event)
    if column in _COLUMN_HEADS:
        return Select(_COLUMN_HEADS[column], event)
    raise Unrecognised(f"SELECT {shown}")


def _ordered(select: Node, event: Event) -> Event:
    terms, limit, offset = ordering(select)
    if not terms:
        return event
    if not limit:
        raise Unrecognised("ORDER BY without LIMIT")
    column, descending = terms[-1]
    if len(terms) == 2:
        event = replace(event, extreme="highest" if terms[0][1] else "lowest")
    if "time" not in column:
        raise Unrecognised(f"ORDER BY {column}")
    return replace(event, order=order_word(descending, offset))


def _period(select: Node) -> str | None:
    group = group_of(select)
    if not group:
        return None
    match = re.match(r"STRFTIME\('([^']+)'", group[0])
    if match is None or match[1] not in _PERIOD:
        raise Unrecognised(f"GROUP BY {group[0]}")
    return _PERIOD[match[1]]


def _patients(select: Node) -> Form:
    conditions = conditions_of(select)
    for node in conditions:
        inner = subquery_of(node)
        if inner is not None and table_of(inner) not in ("admissions",):
            return Select("count_patients", _innermost(inner))
    event = event_of(select, "admissions")
    where = [text(c) for c in conditions]
    if "NOT admissions.dischtime IS NULL" in where:
        event = replace(event, kind="discharge")
    return Select("count_patients", event)


def _innermost(select: Node) -> Event:
    # Inputs and outputs are reached through icustays; the event itself is the innermost SELECT.
    for node in conditions_of(select):
        inner = subquery_of(node)
        if inner is not None and table_of(inner) in ("inputevents", "outputevents", "chartevents"):
            return event_of(inner, table_of(inner) or "")
    if inner_table := table_of(select):
        if inner_table == "icustays" and conditions_of(select):
            return _innermost(bare(conditions_of(select)[0].args["query"]))
        return event_of(select, inner_table)
    raise Unrecognised("patients of a subquery")


def _cost(select: Node) -> Form:
    for node in conditions_of(select):
        if node.key == "in":
            inner = bare(node.args["query"])
            return Select("cost", event_of(inner, table_of(inner) or ""))
    raise Unrecognised("cost without an event")


def _named(select: Node) -> Form:
    """Names through a dictionary table: ``WHERE key IN ( SELECT code ... )``."""
    inner = bare(conditions_of(select)[0].args["query"])
    table = table_of(inner)
    if table is not None:
        return Select("name", event_of(inner, table, projection(inner).split(".")[-1]))
    return _derived(inner)


def _limit(select: Node) -> tuple[str, Lit]:
    """What the condition on a rank or a count says ("top", "times", ...), and its number."""
    (node,) = conditions_of(select)
    sign = {"lte": "top", "eq": "times", "gte": "times_atleast"}.get(node.key)
    if sign is None:
        raise Unrecognised(text(node))
    return sign, num(text(node.expression))


def _derived(select: Node) -> Form:
    """SELECT ... FROM ( SELECT ... ): ranks, counts per group, relations, survival."""
    inner = inner_of(select)
    shown = projection(select)
    whole = text(select)
    if "365" in whole:
        return _lived(select, whole)
    if "PERCENT_RANK" in whole:
        return _percentile(select, inner)
    if joins_of(select):
        return _pair(select, shown)
    if match := re.fullmatch(r"(AVG|MAX|MIN)\(T1\.C1\)", shown):
        return _over_groups(match[1].lower(), inner)
    how, number = _limit(select)
    if how == "top":
        return _top(inner, number)
    counted = Filter(how, (number,))
    column = projection(inner).split(",")[0].split(".")[-1]
    if joins_of(inner):
        event = event_of(inner, table_of(inner) or "")
        return Select("count_patients", with_filter(event, counted))
    event = event_of(inner, table_of(inner) or "", column)
    return Select("name", with_filter(event, counted))


def _top(inner: Node, most: Lit) -> Form:
    column = projection(inner).split(",")[0].split(".")[-1]
    table = table_of(inner)
    if table is not None:
        return Select("top", event_of(inner, table, column), (most,))
    return Select("top", _related(inner, column), (most,))


def _pair(select: Node, shown: str) -> Form:
    column = shown.split(".")[-1]
    if shown.startswith("COUNT(DISTINCT"):
        return Select("count_patients", _related(select, ""))
    if shown.startswith("T2."):
        return Select("name", _related(select, column))
    if shown.startswith("T1.") and column.endswith("time"):
        event = _related(select, column, main_first=True)
        return Select("time", _ordered(select, event))
    raise Unrecognised(f"SELECT {shown} of a join")


def _side(select: Node, column: str) -> Event:
    return event_of(select, table_of(select) or "", column)


def _related(select: Node, column: str, main_first: bool = False) -> Event:
    first, second = _side(inner_of(select), column), _side(joins_of(select)[0], column)
    main, other = (first, second) if main_first else (second, first)
    name, window = "with", None
    args: tuple[Lit, ...] = ()
    for node in conditions_of(select):
        sql = text(node)
        if re.fullmatch(r"T1\.\w+ < T2\.\w+", sql):
            name = "after"
        elif sql == "T1.hadm_id = T2.hadm_id":
            window = "samevisit"
        elif match := re.fullmatch(r"DATETIME\(T1\.\w+, 'start of (\w+)'\) = .*", sql):
            window = "same" + match[1]
        elif match := re.fullmatch(r".* BETWEEN .* AND DATETIME\(\S+, '\+(\d+ \w+)'\)", sql):
            window, args = "within", (Lit(match[1]),)
        elif re.fullmatch(r"DATETIME\(T1\.\w+\) = DATETIME\(T2\.\w+\)", sql):
            window = "sametime"
        else:
            raise Unrecognised(sql)
    if {f for f in other.filters if f.name in _SHARED} - set(main.filters):
        raise Unrecognised("periods that differ between two events")
    inner = other.without(*_SHARED)
    return with_filter(main, Filter(name, args, inner, window))


def _keep(select: Node, kept: list[Node]) -> Node:
    """A copy of a SELECT with only these of its conditions."""
    stripped = select.copy()
    stripped.set("where", None)
    for condition in kept:
        stripped = stripped.where(condition.copy())
    return stripped


def _over_groups(how: str, inner: Node) -> Form:
    table = table_of(inner) or ""
    if table != "cost":
        return Select(f"{how}_count", event_of(inner, table), per=_period(inner))
    conditions = conditions_of(inner)
    kept = [c for c in conditions if subquery_of(c) is None]
    event = read_conditions(_keep(inner, kept), Event("bill"))
    for query in (subquery_of(c) for c in conditions):
        if query is not None:
            involved = event_of(query, table_of(query) or "")
            event = with_filter(event, Filter("involving", event=involved))
    return Select(f"{how}_total", event)


def _lived(select: Node, whole: str) -> Form:
    match = re.search(r"< (\d+) \* 365(?: / (\d+))?", whole)
    if match is None:
        raise Unrecognised("a period of survival")
    months = int(match[1]) * 12 // int(match[2] or 1)
    period = Lit(f"{months} month" if match[2] else f"{match[1]} year")
    dx, *others = _cohorts(select)
    if projection(select).startswith("AVG"):
        event = with_filter(dx, Filter("followed", event=others[0])) if others else dx
        return Select("survival", event, (period,))
    _, most = _limit(select)
    return Select("top_mortality", dx, (most, period))


def _cohorts(select: Node) -> list[Event]:
    found: list[Event] = []
    for node in select.find_all(type(select)):
        if joins_of(node) and table_of(node) in ("diagnoses_icd", "prescriptions"):
            kept = [c for c in conditions_of(node) if "365" not in text(c)]
            found.append(event_of(_keep(node, kept), table_of(node) or ""))
    return sorted(found, key=lambda e: e.kind != "dx")


def _percentile(select: Node, inner: Node) -> Form:
    value = num(text(conditions_of(select)[0].expression))
    event = Event("lab")
    for node in conditions_of(inner):
        query = bare(node.args["query"])
        if table_of(query) == "admissions":
            own = bare(conditions_of(query)[0].expression)
            person = read_conditions(own, Event("admission"))
            which = which_of(own, person)
            patient = person.get("patient")
            if patient is None:
                raise Unrecognised("a percentile without a patient")
            event = with_filter(with_filter(event, patient), Filter("peers"))
            event = with_filter(event, Filter("visit", which=which)) if which else event
        else:
            event = replace(event, items=read_conditions(_keep(inner, [node]), event).items)
    return Select("percentile", event, (value,))
