"""A database's own words for SQL: what differs between databases, one method each.

Everything in the program writes SQLite's SQL. For a database of another dialect, whose plugin names
a ``Dialect`` (``Database.words``), ``ehrqa_cli.dialects`` writes each statement anew: it finds out
what every expression holds and calls these methods for the rest. What most databases share is here.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What SQLite reads of a text that stands where a number is wanted.
NUMBER = r"^\s*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"
# Milliseconds from the first Julian day to 1970; SQLite counts time in these.
JULIAN_EPOCH = 210_866_760_000_000


class SqlKind(StrEnum):
    """What a value is. The first five are also what ``Database.types`` may say of a column."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    TIMESTAMP = "timestamp"  # text YYYY-MM-DD HH:MM:SS to SQLite
    BOOLEAN = "boolean"  # 1 and 0 to SQLite
    DIGITS = "digits"  # text of a whole number, as strftime('%Y') gives
    JULIAN = "julian"  # written as a number, text to SQLite: strftime('%J')
    NULL = "null"
    ANY = "any"


class Dialect(ABC):
    """A database's own words. Every argument and result is SQL text, already in its dialect.

    A method that cannot say it in this database raises Refused with a reason and a next step. One
    is made for each statement.
    """

    name: ClassVar[str]
    reserved: ClassVar[frozenset[str]] = frozenset()
    text_type: ClassVar[str] = "VARCHAR"
    real_type: ClassVar[str] = "DOUBLE"
    materializes: ClassVar[bool] = True  # does it know WITH x AS MATERIALIZED (...)?
    queries_in_joins: ClassVar[bool] = True  # may ON hold a query that looks at the tables joined?
    using_moves: ClassVar[bool] = False  # does * begin with the columns of USING?
    derived_alias: ClassVar[str] = ""  # what must follow a query in FROM that has no name
    # Functions of SQLite that only have another name; those of one meaning are under their own.
    renamed: ClassVar[dict[str, str]] = {}

    def __init__(self, now: str | None = None) -> None:
        """``now`` is what stands for the clock's time in the statement; None where nothing may."""
        self.now = now

    def identifier(self, name: str) -> str:
        """A table's, column's or alias's name, quoted where it must be."""
        if _PLAIN.fullmatch(name) and name.lower() not in self.reserved:
            return name
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """A literal of text."""
        return "'" + value.replace("'", "''") + "'"

    def real(self, digits: str) -> str:
        """A literal of a real number: databases take 1.5 for a decimal."""
        return digits if "e" in digits.lower() else f"{digits}e0"

    def cast(self, sql: str, type_: str) -> str:
        """CAST, which fails on what cannot be converted."""
        return f"CAST({sql} AS {type_})"

    def text_of_real(self, sql: str) -> str:
        """A real number as text."""
        return self.cast(sql, self.text_type)

    def null(self, sql: str, kind: SqlKind) -> str:
        """NULL (``sql``) in a column of ``kind``."""
        del kind
        return sql

    def compared(self, left: str, sign: str, right: str, *, text: bool = False) -> str:
        """A comparison of two expressions of one kind, which may be ``text``."""
        del text
        return f"{left} {sign} {right}"

    def collated(self, text: str) -> str:
        """A text whose least and greatest is wanted: by its bytes, not by a language."""
        return text

    def ordered(self, sql: str, *, text: bool, desc: bool, nulls_first: bool) -> str:
        """A term of ORDER BY, of a ``text`` or something else."""
        del text
        nulls = "FIRST" if nulls_first else "LAST"
        return f"{sql} {'DESC' if desc else 'ASC'} NULLS {nulls}"

    def ordinals(self, texts: Sequence[bool]) -> str:
        """Terms of ORDER BY for all columns of the result; ``texts`` are those that hold text."""
        return ", ".join(str(i + 1) for i in range(len(texts)))

    def within(self, value: str, query: str, *, few: bool) -> str:
        """Is ``value`` among the rows of ``query`` (in brackets)? ``few`` when it looks a text up
        by another, as the codes of a title, so that its rows are few."""
        del few
        return f"{value} IN {query}"

    def same(self, left: str, right: str, negated: bool) -> str:
        """SQLite's IS, which takes NULL for a value."""
        return f"{left} IS {'' if negated else 'NOT '}DISTINCT FROM {right}"

    def derived(self, query: str, alias: str, columns: Sequence[str]) -> str:
        """A query in FROM under a name, with other names for its columns where some are given."""
        listed = f"({', '.join(columns)})" if columns else ""
        return f"({query}) AS {alias}{listed}"

    def summing(self, name: str, *, real: bool) -> str:
        """The function for SUM or AVG (``name``). Of real numbers, one that gives the same in
        whatever order threads add them, where there is one."""
        del real
        return name

    def steady(self, name: str, number: str) -> str | None:
        """SUM or AVG (``name``) of real numbers as an expression that gives the same in whatever
        order they come, where no function does; None where ``summing`` is enough."""
        del name, number
        return None

    def averaged(self, number: str) -> str:
        """An integer or a real number that AVG is made of."""
        return number

    def order_all(self, texts: Sequence[bool]) -> str:
        """ORDER BY every column of the result, in fewer words than ``ordinals`` where it can."""
        return self.ordinals(texts)

    @abstractmethod
    def try_real(self, text: str) -> str:
        """A text as a real number, NULL where it is none."""

    @abstractmethod
    def number(self, text: str) -> str:
        """The number that a text begins with, 0 without one (SQLite's conversion)."""

    def whole(self, number: str) -> str:
        """A real number cut (not rounded) to an integer."""
        return f"CAST(TRUNC({number}) AS BIGINT)"

    def times_whole(self, left: str, right: str) -> str:
        """A product of integers, which have 64 bits."""
        return f"{left} * {right}"

    @abstractmethod
    def divide_whole(self, left: str, right: str) -> str:
        """Division of integers, cut towards zero, NULL by 0."""

    @abstractmethod
    def like(self, text: str, pattern: str, escape: str | None) -> str:
        """SQLite's LIKE, which knows no case."""

    @abstractmethod
    def glob(self, text: str, pattern: str) -> str:
        """SQLite's GLOB."""

    def no_case(self, text: str) -> str:
        """What COLLATE NOCASE compares."""
        return f"LOWER({text})"

    @abstractmethod
    def any_value(self, sql: str) -> str:
        """One value of a group: what SQLite gives for a column that is not grouped by."""

    @abstractmethod
    def value_at(self, sql: str, of: str, way: str) -> str:
        """The value in the row of a group where ``of`` is the MIN or MAX (``way``)."""

    @abstractmethod
    def joined(self, text: str, separator: str, distinct: bool) -> str:
        """SQLite's group_concat."""

    @abstractmethod
    def timestamp(self, text: str) -> str:
        """The time that a text is, NULL where it is none."""

    def timestamp_literal(self, text: str) -> str:
        """A time written out, ``YYYY-MM-DD HH:MM:SS``."""
        return f"TIMESTAMP {self.text(text)}"

    @abstractmethod
    def formatted(self, time: str, form: str) -> str:
        """A time as text by a format of strftime (%Y %m %d %H %M %S %f %j %w %W %s)."""

    def julian(self, time: str) -> str:
        """Days since noon of 24 November 4714 BC in Greenwich, as a real number."""
        return f"(({self.milliseconds(time)} + {JULIAN_EPOCH}) / {self.real('86400000')})"

    @abstractmethod
    def julian_written(self, time: str) -> str:
        """``julian`` as strftime('%J') writes it, with 9 digits after the point, read back as a
        number. Rounding a real number to 9 digits is not the same: it is wrong in the last one of
        every fourth time."""

    @abstractmethod
    def milliseconds(self, time: str) -> str:
        """Milliseconds since 1970, as an integer."""

    @abstractmethod
    def epoch(self, time: str) -> str:
        """Seconds since 1970, as an integer."""

    def cut(self, time: str, unit: str) -> str:
        """The start of the year, month or day of a time."""
        return f"CAST(DATE_TRUNC('{unit}', {time}) AS TIMESTAMP)"

    @abstractmethod
    def months(self, count: int) -> str:
        """An interval of so many months, as ``months_later`` adds it."""

    def months_later(self, time: str, months: int, first_day: bool) -> str:
        """A time so many months later, on the same day, as SQLite has it: 31 January and a month
        is 3 March. ``first_day`` when it is a month's first for sure."""
        if first_day:
            return f"({time} + {self.months(months)})"
        month = f"DATE_TRUNC('month', {time})"
        # The days are added last: most databases would stop at the month's last day.
        return f"({month} + {self.months(months)} + ({time} - {month}))"

    @abstractmethod
    def shifted(self, time: str, seconds: float) -> str:
        """A time so many seconds later."""

    def function(self, name: str, args: Sequence[str]) -> str | None:
        """A call of one of SQLite's ordinary functions on numbers or text; None to call it by the
        name that it has in SQLite."""
        if name in self.renamed:
            return f"{self.renamed[name]}({', '.join(args)})"
        return None
