"""Rows to one value and to a sentence."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Result, Row, Scalar

SHOWN = 10
MAX_QUESTION = 2_000


def clean_question(text: str) -> str:
    """The question without control characters, spaces trimmed. Raises UsageError."""
    if len(text) > MAX_QUESTION:
        raise UsageError(
            f"the question has {len(text):,} characters", f"ask it in at most {MAX_QUESTION:,}"
        )
    plain = "".join(" " if _is_control(c) else c for c in text)
    plain = " ".join(plain.split())
    if not plain:
        raise UsageError("the question is empty", 'ask something, e.g. "last weight of patient 1?"')
    return plain


def _is_control(char: str) -> bool:
    # Cc: control codes; Cf: invisible marks that can reorder text; Cs: half a character.
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def value_of(rows: Sequence[Row]) -> Any:
    """One cell as itself, one row or one column as a list, anything else as a list of lists."""
    if len(rows) == 1:
        return rows[0][0] if len(rows[0]) == 1 else list(rows[0])
    if rows and len(rows[0]) == 1:
        return [row[0] for row in rows]
    return [list(row) for row in rows]


def sentence(result: Result, description: str | None, *, yes_no: bool = False) -> str:
    """The answer in words: a lead-in from the description, at most SHOWN values, what was cut."""
    lead = _lead(description)
    if yes_no and len(result.rows) == 1 and result.rows[0][0] in (0, 1):
        return f"{lead}: {'yes' if result.rows[0][0] else 'no'}."
    shown = in_words(result.rows, result.truncated)
    cut = f" (Only the first {len(result.rows):,} rows were read.)" if result.truncated else ""
    return f"{lead}: {shown}.{cut}"


def in_words(rows: Sequence[Row], truncated: bool = False) -> str:
    """The first SHOWN rows on a line, and how many more there are."""
    shown = "; ".join(_row(row) for row in rows[:SHOWN])
    more = len(rows) - SHOWN
    return shown + (f"; and {'at least ' if truncated else ''}{more} more" if more > 0 else "")


def _lead(description: str | None) -> str:
    plain = (description or "").strip().rstrip(".:?")
    return plain[:1].upper() + plain[1:] if plain else "The answer"


def _row(row: Row) -> str:
    return ", ".join(_cell(cell) for cell in row)


def _cell(cell: Scalar) -> str:
    if cell is None:
        return "not recorded"
    if isinstance(cell, float):
        return f"{round(cell, 3):g}" if abs(cell) < 1e6 else f"{cell:,.3f}".rstrip("0").rstrip(".")
    return str(cell)
