"""Calendar dates: year, year-month, full date, month-day, time stamp; and months or days on their
own beside "this year", "last month" and the like (EHRSQL writes ``07/this year``: type ``num``).
A month by name without a year ("in March") is of type ``mon``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ehrqa_cli.contracts.types import Link
from ehrqa_cli.text2sql.linking.date_patterns import (
    CLOCK,
    DAY_NUMBER,
    LEFT,
    QUARTERS,
    YEAR,
    dated,
)
from ehrqa_cli.text2sql.linking.weekdays import DAY

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTH_NUMBER = {name: number for number, name in enumerate(_MONTHS.split(), 1)}
_YEAR = re.compile(
    rf"(?:{LEFT}|(?<={YEAR}-))(?P<y>{YEAR})(?!\d|[./]\d|\s*%|(?<=0)'s\b)(?![^\W\d_])"
)
# Before a day: "Monday, 4/12/2133", "8:00 on March 4, 2155"
_WEEKDAY_BEFORE = re.compile(rf"\b{DAY},?\s+(?:the\s+)?$")
_CLOCK_BEFORE = re.compile(rf"(?<![\w./:-]){CLOCK},?\s+(?:on\s+)?(?:the\s+)?$")
_LOOK_BACK = 24
_YEAR_BEFORE = re.compile(
    r"\b(?:in|since|of|from|year|during|before|after|until|till|by|for|to|and|or|throughout|within|"
    r"late|early|end of|mid|between|to)\s*(?:the\s+year\s+)?(?:of\s+)?$"
)
_AMOUNT_BEFORE = re.compile(
    r"\b(?:value|level|dose|dosage|result|reading|count|amount|volume|rate|weight|than|above|"
    r"below|over|under|least|most|exactly|equals?|codes?|=|<|>)\s*(?:of\s+|to\s+|a\s+)?$"
)
_UNIT_AFTER = re.compile(
    r"\s*(?:mg|ml|mcg|g|gm|kg|units?|u|meq|mmol|mm|l|cc|iu|times?|patients?|days?|hours?|dollars?|usd)\b"
)


def find_dates(folded: str, years: tuple[int, int] | None = None) -> Iterator[Link]:
    """The dates of folded text, none overlapping.

    ``years`` are the first and last year of the database: a bare four-digit number is a year when
    it lies there or stands after a word such as "in"; never where an amount is meant.
    """
    taken = bytearray(len(folded))
    for match, kind in dated(folded):
        parts = match.groupdict()
        start, end = match.span("span" if "span" in parts else 0)
        if 1 in taken[start:end]:
            continue
        if kind in ("ymd", "md"):
            start = _whole_start(folded, start, parts if kind == "ymd" else {})
        link = _link(parts, kind, start, end, years)
        if link is not None:
            taken[start:end] = b"\1" * (end - start)
            yield link
    for match in _YEAR.finditer(folded):
        start, end = match.span()
        if 1 not in taken[start:end] and _is_year(folded, start, end, int(match["y"]), years):
            yield Link(start, end, ("year",), match["y"], "date")


def _whole_start(folded: str, start: int, parts: dict[str, str | None]) -> int:
    """Where a day begins, with the day of the week, and the time of day, that stand before it.
    The time goes into ``parts``."""
    base = max(0, start - _LOOK_BACK)
    if parts and not parts.get("h") and (clock := _CLOCK_BEFORE.search(folded[base:start])):
        parts.update(clock.groupdict())
        return base + clock.start()
    day = _WEEKDAY_BEFORE.search(folded[base:start])
    return base + day.start() if day else start


def _link(
    parts: dict[str, str | None], kind: str, start: int, end: int, years: tuple[int, int] | None
) -> Link | None:
    name = parts.get("mn")
    month = _MONTH_NUMBER[name[:3]] if name else int(parts.get("m") or 0)
    word = (parts.get("dw") or "").replace(" ", "-")
    day = DAY_NUMBER[word] if word else int(parts.get("d") or 0)
    year = parts.get("y")
    if parts.get("yy"):
        year = _full_year(int(parts["yy"] or 0), years)
        if year is None:
            return None
    if day and month and day > _DAYS[month - 1]:
        return None
    if kind == "mon":
        return Link(start, end, ("mon",), month, "date")
    if kind in ("month", "day"):
        return Link(start, end, ("num",), month if kind == "month" else day, "date")
    if kind == "quarter":
        quarter = parts.get("q") or parts.get("qw") or ""
        number = QUARTERS.get(quarter) or int(quarter[0])
        return Link(start, end, ("quarter",), f"{year}-Q{number}", "date")
    if kind == "md":
        return Link(start, end, ("md",), f"{month:02d}-{day:02d}", "date")
    if kind == "ym":
        return Link(start, end, ("ym",), f"{year}-{month:02d}", "date")
    date = f"{year}-{month:02d}-{day:02d}"
    if parts.get("h"):
        return Link(start, end, ("stamp",), f"{date} {_time(parts)}", "date")
    return Link(start, end, ("ymd",), date, "date")


def _time(parts: dict[str, str | None]) -> str:
    """Hours, minutes and seconds: "3:05 pm" is 15:05:00."""
    hour = int(parts["h"] or 0)
    if parts.get("half"):
        hour = hour % 12 + (12 if parts["half"] == "p" else 0)
    return f"{hour:02d}:{parts.get('mi') or '00'}:{parts.get('s') or '00'}"


def _full_year(digits: int, years: tuple[int, int] | None) -> str | None:
    """The one year of the database that ends in these two digits."""
    if years is None:
        return None
    found = [year for year in range(years[0] - 1, years[1] + 2) if year % 100 == digits]
    return str(found[0]) if len(found) == 1 else None


_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_year(folded: str, start: int, end: int, year: int, years: tuple[int, int] | None) -> bool:
    before = folded[max(0, start - 24) : start]
    if _AMOUNT_BEFORE.search(before) or _UNIT_AFTER.match(folded, end):
        return False
    if years is not None and years[0] - 1 <= year <= years[1] + 1:
        return True
    return _YEAR_BEFORE.search(before) is not None
