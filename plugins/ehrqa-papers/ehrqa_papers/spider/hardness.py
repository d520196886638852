"""How hard a query is (the README of Spider's evaluation, "SQL Hardness Criteria")."""

from __future__ import annotations

from collections.abc import Iterator

from ehrqa_papers.spider.query import Conditions, Query

LEVELS = ("easy", "medium", "hard", "extra")


def hardness(query: Query) -> str:
    """``easy``, ``medium``, ``hard`` or ``extra``."""
    first, second, others = components(query), len(list(nested(query))), other_rules(query)
    if second == 0:
        if first <= 1 and others == 0:
            return "easy"
        if (first <= 1 and others <= 2) or (first <= 2 and others < 2):
            return "medium"
        if (first <= 2 and others > 2) or (2 < first <= 3 and others <= 2):
            return "hard"
    elif second == 1 and first <= 1 and others == 0:
        return "hard"
    return "extra"


def components(query: Query) -> int:
    """How many of "components 1" there are: WHERE, GROUP BY, ORDER BY, LIMIT, each JOIN, each OR,
    each LIKE. The page lists HAVING too; the published levels do not count it."""
    clauses = (query.where.each, query.group, query.order, query.limit)
    return (
        sum(map(bool, clauses))
        + max(0, len(query.tables) - 1)
        + query.connectors().count("or")
        + sum(condition.operator == "like" for condition in query.conditions())
    )


def nested(query: Query) -> Iterator[Query]:
    """ "Components 2": queries inside conditions, and what INTERSECT, UNION or EXCEPT joins on.
    Queries in FROM do not count in the published levels."""
    for condition in query.conditions():
        yield from condition.nested()
    if query.combined is not None:
        yield query.combined[1]


def other_rules(query: Query) -> int:
    """How many of these hold: more than one aggregate, item of SELECT, condition of WHERE, column
    of GROUP BY."""
    rules = (_aggregates(query), len(query.select), len(query.where.each), len(query.group))
    return sum(count > 1 for count in rules)


def _aggregates(query: Query) -> int:
    ordered = [column for term in query.order for column in term.columns()]
    columns = [*query.group, *ordered]
    return (
        sum(bool(item.aggregate) for item in query.select)
        + sum(bool(column.aggregate) for column in columns)
        + _counted_as_aggregates(query.where, connectors=False)
        + _counted_as_aggregates(query.having, connectors=True)
    )


def _counted_as_aggregates(conditions: Conditions, connectors: bool) -> int:
    # The published levels need it: the official evaluation looks at the first field of a condition,
    # which says "not", where it means to look for an aggregate; in HAVING it looks at the words
    # between conditions as well.
    negated = sum(condition.negated for condition in conditions.each)
    return negated + (len(conditions.connectors) if connectors else 0)
