"""A query as Spider sees it: components whose order does not matter, without aliases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Connector = Literal["and", "or"]


@dataclass(frozen=True)
class Column:
    """``name`` is ``table.column`` in small letters, or ``*``; ``aggregate`` may be empty."""

    name: str
    aggregate: str = ""
    distinct: bool = False


@dataclass(frozen=True)
class Term:
    """A column, or two joined by ``operator`` (+ - * /)."""

    left: Column
    operator: str = ""
    right: Column | None = None

    def columns(self) -> tuple[Column, ...]:
        """One or two."""
        return (self.left,) if self.right is None else (self.left, self.right)


@dataclass(frozen=True)
class Selected:
    """One item of SELECT. Its aggregate stands apart from the term: the measures leave it out."""

    aggregate: str
    term: Term


@dataclass(frozen=True)
class Condition:
    """``term operator value``; BETWEEN has an ``upper`` value as well. A value is a text or number,
    a column, or a query; None once values have been taken out."""

    negated: bool
    operator: str
    term: Term
    value: str | float | Column | Query | None = None
    upper: str | float | Column | Query | None = None

    def nested(self) -> Iterator[Query]:
        """The queries among its values."""
        for value in (self.value, self.upper):
            if isinstance(value, Query):
                yield value


@dataclass(frozen=True)
class Conditions:
    """Conditions in their order, and the words between them."""

    each: tuple[Condition, ...] = ()
    connectors: tuple[Connector, ...] = ()


@dataclass(frozen=True)
class Query:
    """The components. ``tables`` are names in small letters or queries; ``on`` joins the
    conditions of all joins; ``limit``: is there one? ``combined`` is (operator, the rest) where
    the query goes on with INTERSECT, UNION or EXCEPT. ``Query()`` stands for what cannot be read.
    """

    distinct: bool = False
    select: tuple[Selected, ...] = ()
    tables: tuple[str | Query, ...] = ()
    on: Conditions = Conditions()
    where: Conditions = Conditions()
    group: tuple[Column, ...] = ()
    having: Conditions = Conditions()
    order: tuple[Term, ...] = ()
    descending: bool = False
    limit: bool = False
    combined: tuple[str, Query] | None = None

    def conditions(self) -> tuple[Condition, ...]:
        """Those of ON, WHERE and HAVING."""
        return (*self.on.each, *self.where.each, *self.having.each)

    def connectors(self) -> tuple[Connector, ...]:
        """Those of ON, WHERE and HAVING."""
        return (*self.on.connectors, *self.where.connectors, *self.having.connectors)
