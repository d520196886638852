"""Partial and exact matching without values, component by component."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from ehrqa_papers.spider.query import Column, Conditions, Query, Selected, Term
from ehrqa_papers.spider.schemas import SpiderSchema

Values = str | float | Column | Query | None


@dataclass(frozen=True)
class Part:
    """One component of one prediction: how many elements were predicted and how many there are in
    gold. A component is right as a whole or not at all."""

    predicted: int
    gold: int
    right: bool


def _part(predicted: Sequence[object], gold: Sequence[object]) -> Part:
    return Part(len(predicted), len(gold), Counter(predicted) == Counter(gold))


def comparable(query: Query, schema: SpiderSchema) -> Query:
    """``query`` as it is compared: without values and DISTINCT, and with one name for columns that
    foreign keys tie together.

    Columns are renamed only when their table is named in the outermost FROM. Inside queries in
    conditions values go, but names and DISTINCT stay; queries in FROM stay whole. The page does
    not say so; the published figures need it of names, and the official script does the rest.
    """
    tables = {table for table in query.tables if isinstance(table, str)}
    names = {name: to for name, to in schema.linked.items() if name.rpartition(".")[0] in tables}
    return _renamed(_without_values(query), lambda c: replace(c, name=names.get(c.name, c.name)))


def _without_values(query: Query) -> Query:
    def bare(value: Values) -> Query | None:
        return _without_values(value) if isinstance(value, Query) else None

    def strip(conditions: Conditions) -> Conditions:
        each = [replace(c, value=bare(c.value), upper=bare(c.upper)) for c in conditions.each]
        return replace(conditions, each=tuple(each))

    return replace(
        query,
        on=strip(query.on),
        where=strip(query.where),
        having=strip(query.having),
        combined=query.combined and (query.combined[0], _without_values(query.combined[1])),
    )


def _renamed(query: Query, rename: Callable[[Column], Column]) -> Query:
    def column(found: Column) -> Column:
        return replace(rename(found), distinct=False)

    def term(found: Term) -> Term:
        right = column(found.right) if found.right is not None else None
        return replace(found, left=column(found.left), right=right)

    def every(conditions: Conditions) -> Conditions:
        each = tuple(replace(c, term=term(c.term)) for c in conditions.each)
        return replace(conditions, each=each)

    return replace(
        query,
        distinct=False,
        select=tuple(Selected(item.aggregate, term(item.term)) for item in query.select),
        on=every(query.on),
        where=every(query.where),
        group=tuple(column(c) for c in query.group),
        having=every(query.having),
        order=tuple(term(t) for t in query.order),
        combined=query.combined and (query.combined[0], _renamed(query.combined[1], rename)),
    )


def exact_match(predicted: Query, gold: Query) -> bool:
    """Is every component right, and are the same tables read? Both as ``comparable`` gives them."""
    parts = partial_match(predicted, gold)
    return all(part.right for part in parts.values()) and (
        Counter(predicted.tables) == Counter(gold.tables)
    )


def partial_match(predicted: Query, gold: Query) -> dict[str, Part]:
    """Every component by its official name. Both as ``comparable`` gives them."""
    return {name: compare(predicted, gold) for name, compare in _COMPONENTS.items()}


def _select(predicted: Query, gold: Query) -> Part:
    return _part(predicted.select, gold.select)


def _select_terms(predicted: Query, gold: Query) -> Part:
    return _part([s.term for s in predicted.select], [s.term for s in gold.select])


def _where(predicted: Query, gold: Query) -> Part:
    return _part(predicted.where.each, gold.where.each)


def _where_terms(predicted: Query, gold: Query) -> Part:
    return _part([c.term for c in predicted.where.each], [c.term for c in gold.where.each])


def _group(predicted: Query, gold: Query) -> Part:
    # Only the names of columns, not their tables.
    def names(query: Query) -> list[str]:
        return [column.name.rpartition(".")[2] for column in query.group]

    return _part(names(predicted), names(gold))


def _group_having(predicted: Query, gold: Query) -> Part:
    # Here with their tables, and in their order.
    same = [c.name for c in predicted.group] == [
        c.name for c in gold.group
    ] and predicted.having == gold.having
    return _whole(predicted.group, gold.group, same)


def _order(predicted: Query, gold: Query) -> Part:
    same = (
        predicted.order == gold.order
        and predicted.descending == gold.descending
        and predicted.limit == gold.limit
    )
    return _whole(predicted.order, gold.order, same)


def _whole(predicted: Collection[object], gold: Collection[object], same: bool) -> Part:
    """A clause that counts once. Without it on both sides nothing is compared (HAVING without
    GROUP BY, LIMIT without ORDER BY)."""
    there, wanted = bool(predicted), bool(gold)
    return Part(int(there), int(wanted), there == wanted and (same or not wanted))


def _and_or(predicted: Query, gold: Query) -> Part:
    # Which of "and" and "or" stand in WHERE at all. The official evaluation has the two counts the
    # other way round, so that its accuracy of and/or is the recall; a right one counts for both,
    # even where there is neither word.
    given, wanted = set(predicted.where.connectors), set(gold.where.connectors)
    if given == wanted:
        return Part(1, 1, True)
    return Part(predicted=len(wanted), gold=len(given), right=False)


def _combined(predicted: Query, gold: Query) -> Part:
    given, wanted = predicted.combined, gold.combined
    if given is None or wanted is None:
        return Part(int(given is not None), int(wanted is not None), given is wanted)
    return Part(1, 1, given[0] == wanted[0] and exact_match(given[1], wanted[1]))


def keywords(query: Query) -> set[str]:
    """The key words that a query has, of those that are compared."""
    conditions = query.conditions()
    found = {
        "where": query.where.each,
        "group": query.group,
        "having": query.having.each,
        "order": query.order,
        "desc" if query.descending else "asc": query.order,
        "limit": query.limit,
        query.combined[0] if query.combined else "": query.combined,
        "or": "or" in query.connectors(),
        "not": any(c.negated for c in conditions),
        "in": any(c.operator == "in" for c in conditions),
        "like": any(c.operator == "like" for c in conditions),
    }
    return {word for word, present in found.items() if present}


def _keywords(predicted: Query, gold: Query) -> Part:
    return _part(sorted(keywords(predicted)), sorted(keywords(gold)))


_COMPONENTS: dict[str, Callable[[Query, Query], Part]] = {
    "select": _select,
    "select(no AGG)": _select_terms,
    "where": _where,
    "where(no OP)": _where_terms,
    "group(no Having)": _group,
    "group": _group_having,
    "order": _order,
    "and/or": _and_or,
    "IUEN": _combined,
    "keywords": _keywords,
}
COMPONENTS = tuple(_COMPONENTS)
