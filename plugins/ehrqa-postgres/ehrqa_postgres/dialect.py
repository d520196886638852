"""PostgreSQL's words (its documentation, part II, "The SQL Language"; measured on 15, 16 and 18).

It types strictly and converts little, fails where others give NULL (text that is no number, the
logarithm of 0), and orders text by the language of the server. Text is compared by its bytes here,
as SQLite does, whatever that language is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from ehrqa_cli.contracts.dialect import Dialect, SqlKind
from ehrqa_cli.contracts.errors import Refused

_RESERVED = (
    "all analyse analyze and any array as asc asymmetric authorization binary both case cast",
    "check collate collation column concurrently constraint create cross current_catalog",
    "current_date current_role current_schema current_time current_timestamp current_user default",
    "deferrable desc distinct do else end except false fetch for foreign freeze from full grant",
    "group having ilike in initially inner intersect into is isnull join lateral leading left like",
    "limit localtime localtimestamp natural not notnull null offset on only or order outer",
    "overlaps placing primary references returning right select session_user similar some",
    "symmetric system_user table tablesample then to trailing true union unique user using",
    "values variadic verbose when where window with",
    # not reserved, but a call or a type where a column's name would stand
    "between coalesce exists extract greatest least none nullif row values",
    # not reserved either, but the plugin refuses them as words
    "delete insert merge update",
)
# A whole text that is a number; longer ones are beyond what a double holds.
_NUMBER = r"\s*[+-]?(?:[0-9]{1,150}[.]?[0-9]{0,150}|[.][0-9]{1,150})(?:[eE][+-]?[0-9]{1,2})?"
_DAY = "(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]+)?)?"
_TIME = f"^{_DAY}(?:[ T]{_CLOCK})?$"
_FORMATS = {
    "Y": "YYYY", "m": "MM", "d": "DD", "H": "HH24", "M": "MI", "S": "SS", "f": "SS.MS", "j": "DDD",
}  # fmt: skip
_SIGNS = re.compile("[-:/., ]+")
_DIRECTIVE = re.compile(r"%(.)|([^%]+)", re.S)
_TYPES = {
    SqlKind.INTEGER: "BIGINT",
    SqlKind.REAL: "DOUBLE PRECISION",
    SqlKind.TEXT: "TEXT",
    SqlKind.TIMESTAMP: "TIMESTAMP",
    SqlKind.BOOLEAN: "BOOLEAN",
}
_LITERAL = re.compile("'((?:[^']|'')*)'")


class Postgres(Dialect):
    """PostgreSQL, 13 or later."""

    name: ClassVar[str] = "postgres"
    reserved: ClassVar[frozenset[str]] = frozenset(" ".join(_RESERVED).split())
    text_type: ClassVar[str] = "TEXT"
    real_type: ClassVar[str] = "DOUBLE PRECISION"
    derived_alias: ClassVar[str] = " AS arm"
    renamed: ClassVar[dict[str, str]] = {"unicode": "ASCII", "ceil": "CEIL", "ceiling": "CEIL"}

    def real(self, digits: str) -> str:
        # With an exponent too, PostgreSQL takes a number that is written out for a decimal.
        return f"{digits}::float8"

    def text_of_real(self, sql: str) -> str:
        # By way of a decimal, which has SQLite's 15 digits; SQLite writes 5.0, PostgreSQL 5.
        written = f"CAST(CAST({sql} AS NUMERIC) AS TEXT)"
        return f"REGEXP_REPLACE({written}, '^(-?[0-9]+)$', '\\1.0')"

    def within(self, value: str, query: str, *, few: bool) -> str:
        # Once, and then by an index where there is one. IN is planned as a join, for which the
        # number of rows is guessed: too few of them, and it was looked up for each row anew.
        return f"{value} = ANY (ARRAY{query})" if few else f"{value} IN {query}"

    def null(self, sql: str, kind: SqlKind) -> str:
        return self.cast(sql, _TYPES[kind]) if kind in _TYPES else sql

    def collated(self, text: str) -> str:
        return f'{text} COLLATE "C"'

    def compared(self, left: str, sign: str, right: str, *, text: bool = False) -> str:
        if text and sign not in ("=", "<>"):
            left = self.collated(left)
        return f"{left} {sign} {right}"

    def ordered(self, sql: str, *, text: bool, desc: bool, nulls_first: bool) -> str:
        nulls = f"NULLS {'FIRST' if nulls_first else 'LAST'}"
        if text:
            # These operators compare bytes. COLLATE would do, but not where a column of the
            # result is meant: there, PostgreSQL takes its name and nothing else.
            return f"{sql} USING {'~>~' if desc else '~<~'} {nulls}"
        return f"{sql} {'DESC' if desc else 'ASC'} {nulls}"

    def ordinals(self, texts: Sequence[bool]) -> str:
        return ", ".join(f"{i + 1}{' USING ~<~' if text else ''}" for i, text in enumerate(texts))

    def averaged(self, number: str) -> str:
        return self.cast(number, self.real_type)

    def try_real(self, text: str) -> str:
        found = _LITERAL.fullmatch(text)
        if found is not None and not re.fullmatch(rf"{_NUMBER}\s*", found[1]):
            return "CAST(NULL AS DOUBLE PRECISION)"  # it would be worked out before the CASE is
        return f"CASE WHEN {text} ~ '^{_NUMBER}\\s*$' THEN CAST({text} AS DOUBLE PRECISION) END"

    def number(self, text: str) -> str:
        found = f"CAST(SUBSTRING({text}, '^{_NUMBER}') AS DOUBLE PRECISION)"
        return f"CASE WHEN {text} IS NULL THEN NULL ELSE COALESCE({found}, 0) END"

    def times_whole(self, left: str, right: str) -> str:
        return f"CAST({left} AS BIGINT) * {right}"  # columns of other people may have 32 bits

    def divide_whole(self, left: str, right: str) -> str:
        # Not `/`: a sum of integers is a decimal, of which that would not cut.
        return f"DIV({left}, NULLIF({right}, 0))"

    def like(self, text: str, pattern: str, escape: str | None) -> str:
        # Without an ESCAPE, a backslash would be one.
        return f"{text} ILIKE {pattern} ESCAPE {escape or self.text('')}"

    def glob(self, text: str, pattern: str) -> str:
        found = _LITERAL.fullmatch(pattern)
        if found is None:
            raise Refused("a GLOB pattern that is no literal is not known", "write it out")
        return f"{text} ~ {self.text(_regular(found[1].replace(_TWO, _ONE)))}"

    def any_value(self, sql: str) -> str:
        return f"(ARRAY_AGG({sql}))[1]"

    def value_at(self, sql: str, of: str, way: str) -> str:
        direction = "ASC" if way == "MIN" else "DESC"
        return f"(ARRAY_AGG({sql} ORDER BY {of} {direction} NULLS LAST))[1]"

    def joined(self, text: str, separator: str, distinct: bool) -> str:
        # In order of value: without one, two runs could give it in two orders.
        once = "DISTINCT " if distinct else ""
        return f"STRING_AGG({once}{text}, {separator} ORDER BY {text} USING ~<~)"

    def timestamp(self, text: str) -> str:
        # SQLite takes any day up to the 31st and counts on from the month's last.
        first = f"CAST(OVERLAY({text} PLACING '01' FROM 9 FOR 2) AS TIMESTAMP)"
        days = f"(CAST(SUBSTR({text}, 9, 2) AS INTEGER) - 1) * INTERVAL '1 day'"
        return f"CASE WHEN {text} ~ '{_TIME}' THEN {first} + {days} END"

    def formatted(self, time: str, form: str) -> str:
        pieces: list[str] = []
        plain = ""
        for letter, words in _DIRECTIVE.findall(form):
            if letter in ("w", "W"):
                pieces += [f"TO_CHAR({time}, {self.text(plain)})"] if plain else []
                pieces.append(_weekday(time) if letter == "w" else _week(time))
                plain = ""
            else:
                plain += _FORMATS.get(letter) or _quoted(words or letter)
        pieces += [f"TO_CHAR({time}, {self.text(plain)})"] if plain else []
        return pieces[0] if len(pieces) == 1 else f"({' || '.join(pieces) or self.text('')})"

    def julian_written(self, time: str) -> str:
        # The double to the last of its bits, as a decimal, which then rounds rightly: its fraction
        # of a day is a whole number of 2**-40ths, and that many decimals are exact.
        day = self.julian(time)
        fraction = f"CAST(({day} - TRUNC({day})) * 1099511627776 AS NUMERIC)"
        exact = f"CAST(TRUNC({day}) AS NUMERIC) + {fraction} * {_TINY}"
        return f"CAST(ROUND({exact}, 9) AS DOUBLE PRECISION)"

    def milliseconds(self, time: str) -> str:
        return f"CAST(EXTRACT(EPOCH FROM {time}) * 1000 AS BIGINT)"

    def epoch(self, time: str) -> str:
        return f"CAST(FLOOR(EXTRACT(EPOCH FROM {time})) AS BIGINT)"

    def months(self, count: int) -> str:
        return f"INTERVAL '{count} months'"

    def shifted(self, time: str, seconds: float) -> str:
        if seconds % 86_400 == 0:
            return f"({time} + INTERVAL '{int(seconds // 86_400)} days')"
        return f"({time} + INTERVAL '{round(seconds * 1_000_000)} microseconds')"

    def function(self, name: str, args: Sequence[str]) -> str | None:
        if name in ("ln", "log", "log10", "log2"):
            return _logarithm(name, args)
        if name == "sqrt":
            return f"CASE WHEN {args[0]} >= 0 THEN SQRT({args[0]}) END"
        if name in ("pow", "power"):
            return f"POWER({', '.join(f'CAST({arg} AS DOUBLE PRECISION)' for arg in args)})"
        if name == "sign":
            return f"CAST(SIGN({args[0]}) AS INTEGER)"
        if name == "round":
            return _rounded(args)
        if name == "substr":
            return _part(args)
        return super().function(name, args)


_ONE, _TWO = "'", "''"
_TINY = "0.0000000000009094947017729282379150390625"  # 2**-40, exactly


def _regular(pattern: str) -> str:
    """A GLOB pattern as a regular expression."""
    out = ""
    rest = pattern
    while rest:
        set_ = re.match(r"\[(\^?)(\]?[^]]*)\]", rest)
        if set_:
            inside = set_[2].replace("\\", "\\\\").replace("[", "\\[")
            inside = "\\]" + inside[1:] if inside.startswith("]") else inside
            out += f"[{set_[1]}{inside}]"
            rest = rest[set_.end() :]
            continue
        out += {"*": ".*", "?": "."}.get(rest[0]) or re.sub(r"[^A-Za-z0-9_]", r"\\\g<0>", rest[0])
        rest = rest[1:]
    return f"^{out}$"


def _quoted(words: str) -> str:
    """Words that TO_CHAR leaves alone: in quotes, where it could take them for something."""
    if _SIGNS.fullmatch(words):
        return words
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _weekday(time: str) -> str:
    return f"CAST(EXTRACT(DOW FROM {time}) AS TEXT)"


def _week(time: str) -> str:
    """The week of the year, 00 before its first Monday."""
    monday = f"CAST(EXTRACT(ISODOW FROM {time}) AS INTEGER) - 1"
    weeks = f"(CAST(EXTRACT(DOY FROM {time}) AS INTEGER) + 6 - ({monday})) / 7"
    return f"LPAD(CAST({weeks} AS TEXT), 2, '0')"


def _logarithm(name: str, args: Sequence[str]) -> str:
    if len(args) == 2:  # the base comes first
        parts = [f"LN(CAST({arg} AS DOUBLE PRECISION))" for arg in args]
        good = " AND ".join(f"{arg} > 0" for arg in args)
        return f"CASE WHEN {good} THEN {parts[1]} / NULLIF({parts[0]}, 0) END"
    number = f"CAST({args[0]} AS DOUBLE PRECISION)"
    made = {"ln": f"LN({number})", "log2": f"LN({number}) / LN(2::float8)"}.get(
        name, f"LOG({number})"
    )
    return f"CASE WHEN {args[0]} > 0 THEN {made} END"


def _rounded(args: Sequence[str]) -> str:
    """ROUND of a double, which PostgreSQL does to even numbers and without digits only."""
    digits = ", ".join(["", *args[1:]])
    return f"CAST(ROUND(CAST(CAST({args[0]} AS TEXT) AS NUMERIC){digits}) AS DOUBLE PRECISION)"


def _part(args: Sequence[str]) -> str:
    """SUBSTR, from the end where the start is negative."""
    text, start = args[0], args[1]
    if not start.isdigit():
        start = f"CAST({start} AS INTEGER)"
        start = f"CASE WHEN {start} < 0 THEN LENGTH({text}) + {start} + 1 ELSE {start} END"
    length = args[2] if len(args) > 2 else ""
    if length and not length.isdigit():
        length = f"GREATEST(CAST({length} AS INTEGER), 0)"
    return f"SUBSTR({text}, {start}{', ' if length else ''}{length})"
