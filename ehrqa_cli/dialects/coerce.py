"""Conversions that SQLite makes by itself and a strictly typed database does not.

From SQLite's documentation, "Datatypes In SQLite", sections 3 (affinity) and 4 (comparisons): a
column's type is applied to what it is compared with; otherwise any number is less than any text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ehrqa_cli.contracts.dialect import NUMBER, TIME_FORMAT, Dialect, SqlKind
from ehrqa_cli.dialects import times
from ehrqa_cli.dialects.kinds import NUMBERS, TEXTS, Typed

FLIPPED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
# 'text SIGN number' where nothing is converted: a text is greater than every number.
_TEXT_WINS = {"=": "FALSE", "<>": "TRUE", "<": "FALSE", "<=": "FALSE", ">": "TRUE", ">=": "TRUE"}


class Coercions:
    """Conversions in one target's words."""

    def __init__(self, target: Dialect) -> None:
        self.target = target

    def text(self, value: Typed) -> str:
        """The value as text."""
        if value.kind in TEXTS or value.kind == SqlKind.NULL:
            return value.sql
        if value.kind == SqlKind.TIMESTAMP:
            return self.target.formatted(value.sql, TIME_FORMAT)
        if value.kind == SqlKind.REAL:
            return self.target.text_of_real(value.sql)
        return self.target.cast(self.plain(value), self.target.text_type)

    def plain(self, value: Typed) -> str:
        """The value with truth as 1 or 0; anything else as it is."""
        if value.kind == SqlKind.BOOLEAN:
            return self.target.cast(value.sql, "INTEGER")
        return value.sql

    def number(self, value: Typed) -> Typed:
        """The value where a number is wanted: of a text, what it begins with."""
        if value.kind == SqlKind.JULIAN:
            return Typed(value.sql, SqlKind.REAL)
        if isinstance(value.literal, str):
            return self._begins(value.literal)
        if value.kind == SqlKind.DIGITS:
            return Typed(self.target.cast(value.sql, "BIGINT"), SqlKind.INTEGER)
        if value.kind == SqlKind.TEXT or value.kind == SqlKind.TIMESTAMP:
            return Typed(self.target.number(self.text(value)), SqlKind.REAL)
        if value.kind == SqlKind.BOOLEAN:
            return Typed(self.plain(value), SqlKind.INTEGER)
        return self._known(value, SqlKind.REAL)

    def _begins(self, text: str) -> Typed:
        """The number that a literal text begins with."""
        found = re.match(NUMBER, text)
        digits = found[0].strip() if found else "0"
        if re.fullmatch("[+-]?[0-9]{1,18}", digits):
            return Typed(str(int(digits)), SqlKind.INTEGER, literal=int(digits))
        return Typed(self.target.real(repr(float(digits))), SqlKind.REAL, literal=float(digits))

    def truth(self, value: Typed) -> str:
        """The value as a condition."""
        if value.kind in (SqlKind.BOOLEAN, SqlKind.NULL, SqlKind.ANY):
            return value.sql
        return f"({self.number(value).sql} <> 0)"

    def compare(self, left: Typed, sign: str, right: Typed) -> str:
        """``left sign right`` as SQLite compares."""
        ranged = self._range(left, sign, right) or self._range(right, FLIPPED[sign], left)
        ranged = ranged or self._days(left, sign, right) or self._days(right, FLIPPED[sign], left)
        if ranged:
            return ranged
        if (verdict := self._classes(left, sign, right)) is not None:
            return verdict
        one, other = self.alike(left, right)
        return self.target.compared(one, sign, other, text=_as_texts(left, right))

    def alike(self, left: Typed, right: Typed) -> tuple[str, str]:
        """Both sides in one type, by SQLite's rules of affinity."""
        if left.folded != right.folded and {left.kind, right.kind} <= TEXTS:
            left, right = self._folded(left), self._folded(right)
        kinds = {left.kind, right.kind}
        if SqlKind.NULL in kinds and len(kinds) > 1:
            left, right = self._known(left, right.kind), self._known(right, left.kind)
        if SqlKind.TIMESTAMP in kinds and len(kinds) > 1:
            return self._times(left, right)
        texts = [v for v in (left, right) if v.kind in TEXTS]
        numbers = [v for v in (left, right) if v.kind in NUMBERS]
        if len(texts) == len(numbers) == 1:
            number, text = numbers[0], texts[0]
            if number.affinity or not text.affinity:
                made = {id(text): self._real(text), id(number): self.plain(number)}
            else:
                made = {id(text): text.sql, id(number): self.text(number)}
            return made[id(left)], made[id(right)]
        if SqlKind.BOOLEAN in kinds and len(kinds) > 1:
            return self.plain(left), self.plain(right)
        if SqlKind.JULIAN in kinds and kinds & TEXTS:
            return self.text(left), self.text(right)
        return left.sql, right.sql

    def common(self, values: Sequence[Typed]) -> tuple[list[str], SqlKind]:
        """Values that stand for each other (the arms of a CASE) in one type."""
        kinds = {v.kind for v in values} - {SqlKind.NULL}
        if len(kinds) <= 1:
            kind = next(iter(kinds), SqlKind.NULL)
            return [self._known(v, kind).sql for v in values], kind
        if kinds <= NUMBERS:
            kind = SqlKind.REAL if SqlKind.REAL in kinds else SqlKind.INTEGER
            return [self.plain(v) for v in values], kind
        if kinds <= NUMBERS | {SqlKind.JULIAN}:
            return [self.number(v).sql for v in values], SqlKind.REAL
        if SqlKind.ANY in kinds and not kinds & {SqlKind.TIMESTAMP}:
            return [self.plain(v) for v in values], SqlKind.ANY
        return [self.text(v) for v in values], SqlKind.TEXT

    def converted(self, value: Typed, kind: SqlKind) -> str:
        """The value as ``kind``, the common one of several queries."""
        if value.kind == kind:
            return value.sql
        if value.kind == SqlKind.NULL:
            return self.target.null(value.sql, kind)
        if kind == SqlKind.TEXT:
            return self.text(value)
        return self.number(value).sql if kind in (SqlKind.INTEGER, SqlKind.REAL) else value.sql

    def _known(self, value: Typed, kind: SqlKind) -> Typed:
        """A column that is NULL throughout, as ``kind``; the word NULL fits everywhere."""
        if value.kind != SqlKind.NULL or value.sql == "NULL":
            return value
        return replace(value, sql=self.target.null(value.sql, kind))

    def _folded(self, value: Typed) -> Typed:
        return value if value.folded else replace(value, sql=self.target.no_case(value.sql))

    def _real(self, text: Typed) -> str:
        if isinstance(text.literal, str):
            try:
                return self.target.real(repr(float(text.literal)))
            except ValueError:
                pass
        return self.target.try_real(text.sql)

    def _times(self, left: Typed, right: Typed) -> tuple[str, str]:
        made = []
        for value, other in ((left, right), (right, left)):
            if value.kind == SqlKind.TIMESTAMP:
                keep = other.kind in (SqlKind.NULL, SqlKind.ANY) or _is_time(other)
                made.append(value.sql if keep else self.text(value))
            elif _is_time(value):
                made.append(self.target.timestamp_literal(str(value.literal)))
            else:
                made.append(self.text(value) if value.kind != SqlKind.ANY else value.sql)
        return made[0], made[1]

    def _classes(self, left: Typed, sign: str, right: Typed) -> str | None:
        """A text and a number of which neither is a column: decided without looking at them."""
        julian_or_text = TEXTS | {SqlKind.JULIAN, SqlKind.TIMESTAMP}
        for text, number, way in ((left, right, sign), (right, left, FLIPPED[sign])):
            if text.kind not in julian_or_text or number.kind not in NUMBERS:
                continue
            if text.affinity or (number.affinity and text.kind != SqlKind.TIMESTAMP):
                continue
            either = f"{text.sql} IS NULL OR {number.sql} IS NULL"
            return f"CASE WHEN {either} THEN NULL ELSE {_TEXT_WINS[way]} END"
        return None

    def _days(self, left: Typed, sign: str, right: Typed) -> str | None:
        """Two Julian days so many whole days apart, compared in milliseconds.

        The same as comparing what strftime('%J') writes: between the years 1029 and 6771 both
        numbers stand on one grid of doubles, on which whole days are exact. And no text is made
        of the times of each row, which took nine tenths of such a query's time.
        """
        if left.apart is None or right.kind != SqlKind.INTEGER:
            return None
        day = self.target.cast("86400000", "BIGINT")
        return f"{left.apart} {sign} {right.sql} * {day}"

    def _range(self, left: Typed, sign: str, right: Typed) -> str | None:
        """``strftime('%Y-%m', t) = '2100-12'`` as a range of t, which a database can prune by."""
        if left.prefix is None or not isinstance(right.literal, str) or right.kind not in TEXTS:
            return None
        if (left.kind == SqlKind.TIMESTAMP) != bool(times.ISO.fullmatch(right.literal)):
            return None
        span = times.span_of(left.prefix, right.literal, self.target)
        if span is None:
            return None
        time, (first, after) = left.prefix[0], span
        return {
            "=": f"({time} >= {first} AND {time} < {after})",
            "<>": f"({time} < {first} OR {time} >= {after})",
            "<": f"{time} < {first}",
            "<=": f"{time} < {after}",
            ">": f"{time} >= {after}",
            ">=": f"{time} >= {first}",
        }[sign]


def _as_texts(left: Typed, right: Typed) -> bool:
    """Does ``alike`` make texts of these two?"""
    kinds = {left.kind, right.kind}
    if SqlKind.TIMESTAMP in kinds:
        return any(v.kind in TEXTS and not _is_time(v) for v in (left, right))
    if not kinds & TEXTS:
        return False
    numbers = [v for v in (left, right) if v.kind in NUMBERS]
    texts = [v for v in (left, right) if v.kind in TEXTS]
    return not numbers or (not numbers[0].affinity and texts[0].affinity)


def _is_time(value: Typed) -> bool:
    return isinstance(value.literal, str) and bool(times.ISO.fullmatch(value.literal))
