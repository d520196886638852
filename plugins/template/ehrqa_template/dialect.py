"""How SQL is written for ``database.py``: in SQLite's own words, which yours need not have.

The program finds out what every expression holds, and calls these methods for the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ehrqa_cli.contracts.dialect import TIME_FORMAT, Dialect
from ehrqa_cli.contracts.errors import Refused

# What is written here calls these, and the program's own statements no others.
AS_REAL = "text_as_real"  # made by database.py
_LISTS = (
    "abs avg ceil ceiling coalesce concat count cume_dist datetime dense_rank exp first_value",
    "floor glob group_concat iif instr julianday lag last_value lead length like ln log log10 log2",
    "lower ltrim max min nth_value ntile nullif percent_rank pi pow power rank replace round",
    "row_number rtrim sign sqrt strftime substr sum trim trunc typeof unicode upper",
)
FUNCTIONS = frozenset([AS_REAL, *" ".join(_LISTS).split()])


class Words(Dialect):
    """SQLite's, with times as text."""

    name: ClassVar[str] = "template"
    text_type: ClassVar[str] = "TEXT"
    real_type: ClassVar[str] = "REAL"
    renamed: ClassVar[dict[str, str]] = {
        "greatest": "MAX",
        "least": "MIN",
        "instr": "INSTR",
    }

    def identifier(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def same(self, left: str, right: str, negated: bool) -> str:
        return f"{left} IS {'NOT ' if negated else ''}{right}"

    def derived(self, query: str, alias: str, columns: Sequence[str]) -> str:
        if not columns:
            return f"({query}) AS {alias}"
        return f"(WITH c({', '.join(columns)}) AS ({query}) SELECT * FROM c) AS {alias}"

    def try_real(self, text: str) -> str:
        return f"{AS_REAL}({text})"

    def number(self, text: str) -> str:
        return self.cast(text, "REAL")

    def whole(self, number: str) -> str:
        return self.cast(number, "INTEGER")

    def divide_whole(self, left: str, right: str) -> str:
        return f"{left} / NULLIF({right}, 0)"

    def like(self, text: str, pattern: str, escape: str | None) -> str:
        return f"{text} LIKE {pattern}" + (f" ESCAPE {escape}" if escape else "")

    def glob(self, text: str, pattern: str) -> str:
        return f"{text} GLOB {pattern}"

    def any_value(self, sql: str) -> str:
        return sql  # SQLite takes a column of one of the group's rows

    def value_at(self, sql: str, of: str, way: str) -> str:
        return sql  # and, beside a lone MIN or MAX, of that row

    def joined(self, text: str, separator: str, distinct: bool) -> str:
        if not distinct:
            return f"GROUP_CONCAT({text}, {separator})"
        if separator != "','":
            raise Refused("DISTINCT with a separator is not known here", "leave one of them out")
        return f"GROUP_CONCAT(DISTINCT {text})"

    def timestamp(self, text: str) -> str:
        # The word 'now' is a time to SQLite, and the computer's clock is nobody's business.
        return f"CASE WHEN {text} GLOB '[0-9]*' THEN DATETIME({text}) END"

    def timestamp_literal(self, text: str) -> str:
        return self.text(text)

    def formatted(self, time: str, form: str) -> str:
        return time if form == TIME_FORMAT else f"STRFTIME({self.text(form)}, {time})"

    def julian(self, time: str) -> str:
        return f"JULIANDAY({time})"

    def julian_written(self, time: str) -> str:
        return self.cast(f"STRFTIME('%J', {time})", "REAL")

    def milliseconds(self, time: str) -> str:
        return f"({self.epoch(time)} * 1000)"

    def epoch(self, time: str) -> str:
        return self.cast(f"STRFTIME('%s', {time})", "INTEGER")

    def cut(self, time: str, unit: str) -> str:
        return f"DATETIME({time}, 'start of {unit}')"

    def months(self, count: int) -> str:
        return f"'{count:+d} months'"

    def months_later(self, time: str, months: int, first_day: bool) -> str:
        del first_day
        return f"DATETIME({time}, {self.months(months)})"

    def shifted(self, time: str, seconds: float) -> str:
        return f"DATETIME({time}, '{seconds:+.3f} seconds')"
