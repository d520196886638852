"""Names as an answer: of the items, by how often they occurred, and the most frequent of them."""

from __future__ import annotations

from ehrqa_cli.logical_form.compile.columns import label_of
from ehrqa_cli.logical_form.compile.mapping import EventTable
from ehrqa_cli.logical_form.compile.relations import joined, relation_of, rows
from ehrqa_cli.logical_form.compile.values import number, source, where
from ehrqa_cli.logical_form.form import Event, Filter, Select
from ehrqa_cli.logical_form.grammar import FILTERS

_PAIRED = ("after", "before", "with")


def name(select: Select) -> str:
    event = select.event
    src = source(event)
    counted = event.get("times", "times_atleast")
    if counted:
        return label_of(src, names_by_count(event, src, counted))
    relation = relation_of(event)
    if relation and relation.name in _PAIRED and not event.order:
        return label_of(src, f"SELECT T2.{src.code} {joined(event, relation, src.code)}")
    column = f"{src.table}.{src.code}"
    found = rows(event)
    if not event.order and src.lookup is None:
        found = [*found, f"{column} IS NOT NULL"]
    distinct = "" if src.lookup else "DISTINCT "
    codes = f"SELECT {distinct}{column} FROM {src.origin}{where(found)}"
    return label_of(src, codes, "DISTINCT ")


def names_by_count(event: Event, src: EventTable, counted: Filter) -> str:
    column, time = f"{src.table}.{src.code}", f"{src.table}.{src.time}"
    inner = (
        f"SELECT {column} AS code, COUNT( {time} ) AS C1 FROM {src.origin}"
        f"{where(rows(event))} GROUP BY {column}"
    )
    return f"SELECT T1.code FROM ( {inner} ) AS T1 WHERE T1.C1 {times(counted)}"


def times(counted: Filter) -> str:
    return f"{FILTERS[counted.name].part} {number(counted.args[0])}"


def top(select: Select) -> str:
    event = select.event
    src = source(event)
    relation = relation_of(event)
    column = f"{src.table}.{src.code}"
    rank = "DENSE_RANK() OVER ( ORDER BY {} DESC ) AS C1"
    if relation and relation.name in _PAIRED and not src.identity:
        pairs = f"{rank.format('SUM( T1.n )')} {joined(event, relation, src.code, counted=True)}"
        inner = f"SELECT T2.{src.code} AS code, {pairs} GROUP BY T2.{src.code}"
    else:
        inner = (
            f"SELECT {column} AS code, {rank.format(src.number)} FROM {src.origin}"
            f"{where(rows(event))} GROUP BY {column}"
        )
    most = number(select.args[0])
    return label_of(src, f"SELECT T3.code FROM ( {inner} ) AS T3 WHERE T3.C1 <= {most}")
