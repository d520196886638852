"""DuckDB's words (its documentation, "SQL Functions"; measured on 1.4 and 2.0)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ehrqa_cli.contracts.dialect import NUMBER, Dialect
from ehrqa_cli.contracts.errors import Refused

_RESERVED = (
    "all analyse analyze and any array as asc asymmetric between both by case cast check collate",
    "column columns constraint create cross default deferrable desc describe distinct do else end",
    "except exclude exists false fetch filter for foreign from full group grouping having ilike in",
    "initially inner intersect into is isnull join lambda lateral leading left like limit map",
    "natural not notnull null of offset on only or order outer over pivot placing primary qualify",
    "references right returning rows select semi set show similar some summarize symmetric table",
    "then to trailing true union unique unpivot using values variadic when where window with",
)


class DuckDb(Dialect):
    """DuckDB."""

    name: ClassVar[str] = "duckdb"
    reserved: ClassVar[frozenset[str]] = frozenset(" ".join(_RESERVED).split())
    renamed: ClassVar[dict[str, str]] = {
        "unicode": "UNICODE",
        "ceil": "CEIL",
        "ceiling": "CEIL",
        "log": "LOG10",
        "log10": "LOG10",
        "pow": "POWER",
        "power": "POWER",
    }

    def summing(self, name: str, *, real: bool) -> str:
        # Kahan's sums: plain ones of 20 million numbers were another from run to run.
        return f"F{name}" if real else name

    def order_all(self, texts: Sequence[bool]) -> str:
        return "ALL" if texts else ""

    def try_real(self, text: str) -> str:
        return f"TRY_CAST({text} AS DOUBLE)"

    def number(self, text: str) -> str:
        found = f"TRY_CAST(REGEXP_EXTRACT({text}, '{NUMBER}') AS DOUBLE)"
        return f"CASE WHEN {text} IS NULL THEN NULL ELSE COALESCE({found}, 0e0) END"

    def divide_whole(self, left: str, right: str) -> str:
        return f"{left} // NULLIF({right}, 0)"

    def like(self, text: str, pattern: str, escape: str | None) -> str:
        return f"{text} ILIKE {pattern}" + (f" ESCAPE {escape}" if escape else "")

    def glob(self, text: str, pattern: str) -> str:
        # A set that is not meant begins with ^ to SQLite and with ! to DuckDB.
        if not pattern.startswith("'") or "[!" in pattern:
            raise Refused("a GLOB pattern like this is not known", "write a literal without [!")
        return f"{text} GLOB {pattern.replace('[^', '[!')}"

    def any_value(self, sql: str) -> str:
        return f"FIRST({sql})"

    def value_at(self, sql: str, of: str, way: str) -> str:
        return f"ARG_{way}({sql}, {of})"

    def joined(self, text: str, separator: str, distinct: bool) -> str:
        # In order of value: without one, two runs could give it in two orders.
        return f"STRING_AGG({'DISTINCT ' if distinct else ''}{text}, {separator} ORDER BY {text})"

    def timestamp(self, text: str) -> str:
        return f"TRY_CAST({text} AS TIMESTAMP)"

    def formatted(self, time: str, form: str) -> str:
        return f"STRFTIME({time}, {self.text(form.replace('%f', '%S.%g'))})"

    def julian_written(self, time: str) -> str:
        return f"CAST(PRINTF('%.9f', {self.julian(time)}) AS DOUBLE)"

    def milliseconds(self, time: str) -> str:
        return f"EPOCH_MS({time})"

    def epoch(self, time: str) -> str:
        return f"(EPOCH_MS({time}) // 1000)"

    def months(self, count: int) -> str:
        return f"INTERVAL ({count}) MONTH"

    def shifted(self, time: str, seconds: float) -> str:
        if seconds % 86_400 == 0:
            return f"({time} + INTERVAL ({int(seconds // 86_400)}) DAY)"
        return f"({time} + INTERVAL ({round(seconds * 1_000_000)}) MICROSECONDS)"

    def function(self, name: str, args: Sequence[str]) -> str | None:
        if name == "substr":
            return f"SUBSTR({', '.join(args)})"
        return super().function(name, args)
