"""Text as it may be shown: clinical text is never markup, and control characters are visible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ehrqa_cli.cli.output import safe
from ehrqa_cli.contracts.types import Status

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.values import Turn

_BARS = "▁▂▃▄▅▆▇█"
_CELL = 200  # characters of a cell of a table; the whole is in the export


def text(what: object, style: str = "") -> Text:
    """``what`` literally."""
    return Text(safe(str(what)), style=style)


def cell(what: object) -> Text:
    """A value of a table on one line; NULL is dim."""
    if what is None:
        return Text("NULL", style="dim")
    shown = safe(str(what).replace("\n", " ").replace("\t", " "))
    return Text(shown if len(shown) <= _CELL else shown[: _CELL - 1] + "…")


def one_line(what: str, most: int) -> str:
    """``what`` on one line of at most ``most`` characters."""
    shown = safe(" ".join(what.split()))
    return shown if len(shown) <= most else shown[: max(0, most - 1)] + "…"


def sparkline(values: Sequence[float]) -> str:
    """One bar for each value, from the least to the greatest of them."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    span = high - low
    if span <= 0:
        return _BARS[3] * len(values)
    return "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in values)


def summary_line(turn: Turn) -> str:
    """What stands under an answer: choice, confidence, what is cited, how long it took."""
    answer = turn.answer
    parts = [f"choice {answer.choice}"] if answer.choice else []
    if len(answer.rows) > 1 or len(answer.columns) > 1:
        parts.append(_count(len(answer.rows), "row") + (" (cut off)" if answer.truncated else ""))
    if answer.confidence is not None:
        parts.append(f"confidence {answer.confidence:.3f}")
    kinds = [str(item.get("kind")) for item in answer.evidence]
    for kind, word in (("row", "row"), ("image", "finding"), ("note", "line of notes")):
        if number := kinds.count(kind):
            done = "looked at" if answer.status is Status.ABSTAINED else "cited"
            parts.append(f"{_count(number, word)} {done}")
    if "total" in answer.timings:
        parts.append(f"{answer.timings['total']:.2f} s")
    return " · ".join(parts)


def _count(number: int, word: str) -> str:
    plural = "lines of notes" if word == "line of notes" else f"{word}s"
    return f"{number:,} {word if number == 1 else plural}"
