"""Spark SQL's words (its documentation, "SQL Reference", with ANSI mode on; measured on 4.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from ehrqa_cli.contracts.dialect import NUMBER, Dialect
from ehrqa_cli.contracts.errors import Refused

_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?$"
_FORMATS = {
    "%Y": "yyyy",
    "%m": "MM",
    "%d": "dd",
    "%H": "HH",
    "%M": "mm",
    "%S": "ss",
    "%f": "ss.SSS",
    "%j": "DDD",
    "%%": "%",
}
_PARTS = re.compile(r"%[a-zA-Z%]|[^%]+")
_GLOB = re.compile(r"\[\^?\]?[^\]]*\]|.", re.S)
_UNITS = ((86_400, "DAY"), (3600, "HOUR"), (60, "MINUTE"))
_RESERVED = (
    "all and anti any array as at between both by case cast check collate column constraint",
    "create cross cube current_date current_time current_timestamp current_user date day default",
    "delete desc describe distinct drop else end escape except exists external false fetch filter",
    "for foreign from full function global grant group grouping having hour in inner insert",
    "intersect interval into is join lateral leading left like limit local map minus minute month",
    "natural no not null of offset on only or order out outer overlaps partition position primary",
    "range references revoke right rollback rollup row rows second select semi session_user set",
    "setminus some start struct table tablesample then time timestamp to trailing true truncate",
    "union unique unknown unpivot pivot update user using values when where window with year",
)


class Spark(Dialect):
    """Spark SQL."""

    name: ClassVar[str] = "spark"
    reserved: ClassVar[frozenset[str]] = frozenset(" ".join(_RESERVED).split())
    text_type: ClassVar[str] = "STRING"
    materializes: ClassVar[bool] = False
    using_moves: ClassVar[bool] = True
    queries_in_joins: ClassVar[bool] = False
    renamed: ClassVar[dict[str, str]] = {
        "unicode": "ASCII",
        "ceiling": "CEIL",
        "log10": "LOG10",
        "pow": "POWER",
        "instr": "INSTR",
    }

    def identifier(self, name: str) -> str:
        plain = super().identifier(name)
        return plain if not plain.startswith('"') else "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def text_of_real(self, sql: str) -> str:
        # Java writes 1.0E7 where SQLite writes 10000000.0.
        plain = f"REGEXP_REPLACE(CAST(TRY_CAST({sql} AS DECIMAL(38, 18)) AS STRING), '0+$', '')"
        plain = f"REGEXP_REPLACE({plain}, '[.]$', '.0')"
        between = f"ABS({sql}) >= 1e-4 AND ABS({sql}) < 1e15"
        return f"CASE WHEN {between} THEN {plain} ELSE CAST({sql} AS STRING) END"

    def steady(self, name: str, number: str) -> str | None:
        # Machines add in the order in which they are done, and each order has other last digits.
        # Whole numbers have one sum: of millionths (2^-20) and what is left (in 2^-50), which is
        # all of a number from 8 to 8e12 and more than enough below.
        parts = f"{number} * 1048576e0"
        rest = f"TRY_CAST(({parts} - FLOOR({parts})) * 1073741824e0 AS BIGINT)"
        whole = f"TRY_SUM(FLOOR({parts})) + TRY_SUM({rest}) / 1073741824e0"
        fits = f"MAX(ABS({number})) < 8e12"
        total = f"CASE WHEN {fits} THEN ({whole}) / 1048576e0 ELSE SUM({number}) END"
        return f"({total} / COUNT({number}))" if name == "AVG" else f"({total})"

    def try_real(self, text: str) -> str:
        # Java takes 5d and NaN for numbers too.
        whole = self.text(NUMBER + r"\s*$")
        return f"CASE WHEN {text} RLIKE {whole} THEN TRY_CAST({text} AS DOUBLE) END"

    def number(self, text: str) -> str:
        found = f"TRY_CAST(REGEXP_EXTRACT({text}, {self.text(NUMBER)}, 0) AS DOUBLE)"
        return f"CASE WHEN {text} IS NULL THEN NULL ELSE COALESCE({found}, 0e0) END"

    def whole(self, number: str) -> str:
        return f"CAST({number} AS BIGINT)"

    def times_whole(self, left: str, right: str) -> str:
        return f"CAST({left} AS BIGINT) * {right}"  # a literal has 32 bits

    def divide_whole(self, left: str, right: str) -> str:
        return f"{left} DIV NULLIF({right}, 0)"

    def like(self, text: str, pattern: str, escape: str | None) -> str:
        if escape:
            return f"{text} ILIKE {pattern} ESCAPE {escape}"
        # A backslash escapes in Spark, and not in SQLite.
        literal = re.fullmatch(r"'[^'\\]*'", pattern)
        if not literal:
            pattern = f"REPLACE({pattern}, '\\\\', '\\\\\\\\')"
        return f"{text} ILIKE {pattern}"

    def glob(self, text: str, pattern: str) -> str:
        if not re.fullmatch(r"'[^'\\]*'", pattern):
            raise Refused("GLOB of what is not a literal is not known on spark", "use LIKE")
        made = "".join(map(_regex, _GLOB.findall(pattern[1:-1])))
        return f"{text} RLIKE {self.text(f'^{made}$')}"

    def any_value(self, sql: str) -> str:
        # FIRST would be another row's from run to run.
        return f"MIN({sql})"

    def value_at(self, sql: str, of: str, way: str) -> str:
        # Of several such rows always the same one.
        by = f"CASE WHEN {of} IS NOT NULL THEN STRUCT({of}, {sql}) END"
        return f"{way}_BY({sql}, {by})"

    def joined(self, text: str, separator: str, distinct: bool) -> str:
        listed = f"LISTAGG({'DISTINCT ' if distinct else ''}{text}, {separator})"
        return f"{listed} WITHIN GROUP (ORDER BY {text})"

    def timestamp(self, text: str) -> str:
        # '12:30' would be today at 12:30 to Spark.
        iso = self.text(_ISO)
        return f"CASE WHEN {text} RLIKE {iso} THEN TRY_CAST({text} AS TIMESTAMP) END"

    def formatted(self, time: str, form: str) -> str:
        week = f"(DAYOFYEAR({time}) + 6 - WEEKDAY({time})) DIV 7"
        own = {
            "%w": f"CAST(DAYOFWEEK({time}) - 1 AS STRING)",
            "%W": f"LPAD(CAST({week} AS STRING), 2, '0')",
            "%s": self.cast(self.epoch(time), "STRING"),
        }
        made: list[str] = []
        pattern = ""
        for part in _PARTS.findall(form):
            if part in own:
                made += [f"DATE_FORMAT({time}, {self.text(pattern)})"] if pattern else []
                made.append(own[part])
                pattern = ""
            else:
                pattern += _FORMATS.get(part) or _quoted(part)
        made += [f"DATE_FORMAT({time}, {self.text(pattern)})"] if pattern or not made else []
        return made[0] if len(made) == 1 else f"CONCAT({', '.join(made)})"

    def julian_written(self, time: str) -> str:
        # Java rounds what it would print, C what the number is. A Julian day of the years 1030 to
        # 6770 is a multiple of 2^-31, so its ninth digit comes of whole numbers alone.
        day = self.julian(time)
        rest = f"CAST(({day} - FLOOR({day})) * 2147483648e0 AS BIGINT)"
        digits = f"SHIFTRIGHT({rest} * 1000000000 + 1073741824, 31)"
        return f"((FLOOR({day}) * 1000000000 + {digits}) / 1e9)"

    def milliseconds(self, time: str) -> str:
        return f"UNIX_MILLIS({time})"

    def epoch(self, time: str) -> str:
        return f"UNIX_SECONDS({time})"

    def cut(self, time: str, unit: str) -> str:
        return f"DATE_TRUNC('{unit}', {time})"

    def months(self, count: int) -> str:
        return f"INTERVAL '{count}' MONTH"

    def shifted(self, time: str, seconds: float) -> str:
        for size, unit in _UNITS:
            if seconds % size == 0:
                return f"({time} + INTERVAL '{int(seconds // size)}' {unit})"
        return f"({time} + INTERVAL '{seconds:.6f}' SECOND)"

    def function(self, name: str, args: Sequence[str]) -> str | None:
        if name == "substr":
            places = [arg if arg.isdigit() else f"CAST({arg} AS INT)" for arg in args[1:]]
            return f"SUBSTR({', '.join([args[0], *places])})"
        if name in ("trim", "ltrim", "rtrim") and len(args) == 2:
            side = {"trim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[name]
            return f"TRIM({side} {args[1]} FROM {args[0]})"
        if name == "concat":
            return "CONCAT_WS('', " + ", ".join(args) + ")"
        if name == "sign":
            return f"CAST(SIGN({args[0]}) AS INT)"
        if name == "trunc":
            return f"CAST(CAST({args[0]} AS BIGINT) AS DOUBLE)"
        if name == "log":
            return f"LOG10({args[0]})" if len(args) == 1 else f"LOG({', '.join(args)})"
        return super().function(name, args)


def _regex(part: str) -> str:
    """A part of a GLOB as a regular expression: a wildcard, a set or a character."""
    if part in ("*", "?"):
        return "(?s:.*)" if part == "*" else "(?s:.)"
    if len(part) == 1:
        return re.escape(part)
    negated = "^" if part.startswith("[^") else ""
    held = part[2:] if negated else part[1:]
    return f"[{negated}" + re.sub(r"([\\\[\]&^])", r"\\\1", held[:-1]) + "]"


def _quoted(part: str) -> str:
    """Text within a format of DATE_FORMAT, where letters and brackets mean something."""
    if re.fullmatch(r"[-:/., _]*", part):
        return part
    return "'" + part.replace("'", "''") + "'"
