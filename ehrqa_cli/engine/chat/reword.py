"""Turning a question round: counted instead of listed, when instead of what, a year earlier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from ehrqa_cli.contracts.types import Link
from ehrqa_cli.engine.chat.phrases import DATES, Part
from ehrqa_cli.engine.parts import Linker

# A verb that goes with one kind of event only.
VERB = re.compile(
    r"\b(?:prescri\w+|given|diagnos(?:ed|e)|underg\w+|underw\w+|receiv\w+|taken|took|perform\w+"
    r"|tested|measured|administered|ordered)\b"
)
_YES_NO = re.compile(r"(?i)^(?:was|were|has|have|had|did|does|do|is|are)\b")
_WHICH = re.compile(
    r"(?i)^(?:what|which)\s+(?P<noun>(?:\w+\s+)?(?:diagnoses|procedures|drugs|medications|meds"
    r"|prescriptions|tests|labs|organisms|patients|visits|admissions|stays|inputs|outputs))\b"
)
_THE = re.compile(
    r"(?i)^(?:(?:list|show(?:\s+me)?|give\s+me|tell\s+me|name|find|what\s+(?:are|were)|what're)"
    r"(?:\s+all)?(?:\s+of)?\s+)(?:the\s+)?(?:names?\s+of\s+(?:the\s+)?)?"
)
_WHEN_THE = re.compile(
    r"(?i)^when\s+was\s+the\s+(?:last|first|second|second to last|most recent|latest)\s+time\s+"
    r"(?:that\s+|when\s+)?"
)
_WHEN_WAS = re.compile(r"(?i)^when\s+(?=was|were|did|has|had)")
_WHAT_THE = re.compile(
    r"(?i)^(?:what(?:'s|\s+(?:is|was|were))|tell\s+me|show\s+me|give\s+me)\s+(?=the\s|patient)"
)
_BARE_ORDER = re.compile(r"(?i)^(?=(?:the\s+)?(?:last|first|second|third|latest|most recent)\b)")
_ORDER_WORD = re.compile(
    r"(?i)\s+(?:for\s+the\s+)?(?:last|first|most\s+recently|latest)(?:\s+time)?(?=\s)"
)


def counted(text: str) -> str | None:
    """The question how many there are of what ``text`` asks for; None where it is not clear."""
    if re.match(r"(?i)^(?:how many|count)\b", text):
        return text
    if match := _WHICH.match(text):
        return f"how many {match['noun']}{text[match.end() :]}"
    if match := _THE.match(text):
        return f"how many {text[match.end() :]}"
    if match := _WHEN_THE.match(text):
        return f"count the times that {text[match.end() :]}"
    if match := _WHEN_WAS.match(text):
        rest = _ORDER_WORD.sub("", text[match.end() :], count=1)
        return f"how many times {rest}"
    if match := _YES_NO.match(text):
        return f"how many times {text[:1].lower()}{text[1:]}"
    return None


def timed(text: str) -> str | None:
    """The question when that was which ``text`` asks about; None where it is not clear."""
    if re.match(r"(?i)^when\b", text):
        return text
    if match := _WHAT_THE.match(text):
        return f"when was {text[match.end() :]}"
    if _BARE_ORDER.match(text):
        the = "" if text.lower().startswith("the ") else "the "
        return f"when was {the}{text[:1].lower()}{text[1:]}"
    if _YES_NO.match(text):
        return f"when {text[:1].lower()}{text[1:]}"
    return None


def preposition(text: str, linker: Linker) -> str:
    """``on`` for a day, ``in`` for a month or a year."""
    kinds = {kind for link in linker.link(text).links for kind in link.types}
    return "on" if kinds & {"ymd", "md", "stamp"} else "in"


def moved_time(part: Part, links: Sequence[Link], unit: str, step: int, as_of: str) -> str | None:
    """The time of ``part`` one ``unit`` (year, month, day) earlier or later; None where it has no
    such unit. ``as_of`` (YYYY-MM-DD ...) is what "this" and "last" count from."""
    dates = [x for x in links if part.start <= x.start < part.end and set(x.types) & DATES]
    if len(dates) == 1:
        link = dates[0]
        moved = _moved_date(link, unit, step)
        if moved is None:
            return None
        text = part.text
        return text[: link.start - part.start] + moved + text[link.end - part.start :]
    return None if dates else _moved_word(part.text, unit, step, as_of)


def _moved_date(link: Link, unit: str, step: int) -> str | None:
    kind, text = link.types[0], str(link.value)
    if kind == "year" and unit == "year":
        return str(int(text) + step)
    if kind == "ym" and unit in ("year", "month"):
        year, month = _months(int(text[:4]), int(text[5:7]), step * (12 if unit == "year" else 1))
        return f"{month:02d}/{year}"
    if kind == "ymd":
        year, month, day = (int(x) for x in text.split("-"))
        if unit == "day":
            moved = date(year, month, day) + timedelta(days=step)
            return f"{moved.month:02d}/{moved.day:02d}/{moved.year}"
        year, month = _months(year, month, step * (12 if unit == "year" else 1))
        return f"{month:02d}/{min(day, 28) if day > 28 else day:02d}/{year}"
    return None


def _months(year: int, month: int, more: int) -> tuple[int, int]:
    whole = year * 12 + month - 1 + more
    return whole // 12, whole % 12 + 1


def _moved_word(text: str, unit: str, step: int, as_of: str) -> str | None:
    words = text.split()
    year, month = int(as_of[:4]), int(as_of[5:7])
    now = (
        0 if "this" in words or "current" in words else -1 if {"last", "previous"} & {*words} else 1
    )
    at = now + step
    if words[-1:] == [unit] and unit in ("year", "month") and now <= 0:
        if at in (0, -1):
            return f"{'this' if at == 0 else 'last'} {unit}"
        if unit == "year":
            return f"in {year + at}"
        year, month = _months(year, month, at)
        return f"in {month:02d}/{year}"
    if unit == "day" and words[-1:] in (["today"], ["yesterday"]):
        at = step - (words[-1] == "yesterday")
        if at in (0, -1):
            return "today" if at == 0 else "yesterday"
        moved = date.fromisoformat(as_of[:10]) + timedelta(days=at)
        return f"on {moved.month:02d}/{moved.day:02d}/{moved.year}"
    return None
