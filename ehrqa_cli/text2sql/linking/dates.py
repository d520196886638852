"""Calendar dates: year, year-month, full date, month-day, time stamp; and months or days on their
own beside "this year", "last month" and the like (EHRSQL writes ``07/this year``: type ``num``).
A month by name without a year ("in March") is of type ``mon``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ehrqa_cli.contracts.types import Link

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTH_NUMBER = {name: number for number, name in enumerate(_MONTHS.split(), 1)}
_M = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_Y = r"(?:19|2[0-2])\d\d"
_D = r"(?:0?[1-9]|[12]\d|3[01])"
_N = r"(?:0?[1-9]|1[0-2])"
_TIME = r"(?:(?:t|,?\s+(?:at\s+)?)(?P<h>[01]?\d|2[0-3]):(?P<mi>[0-5]\d)(?::(?P<s>[0-5]\d))?)?"
_L = r"(?<![\w./-])"
_R = r"(?![\w%]|[./-]\d)"
_RELATIVE = r"(?:this|last|current|previous|the same|the current|the last)"

# (pattern, what it gives), the most telling first; a later one takes only what is left
_PATTERNS = [
    (re.compile(rf"{_L}(?P<y>{_Y})[-/.](?P<m>{_N})[-/.](?P<d>{_D}){_TIME}{_R}"), "ymd"),
    (re.compile(rf"{_L}(?P<m>{_N})[-/.](?P<d>{_D})[-/.](?P<y>{_Y}){_TIME}{_R}"), "ymd"),
    (
        re.compile(
            rf"\b(?P<mn>{_M})\.?\s+(?:the\s+)?(?P<d>{_D})(?:st|nd|rd|th)?,?"
            rf"\s+(?:of\s+|in\s+)?(?P<y>{_Y}){_TIME}{_R}"
        ),
        "ymd",
    ),
    (
        re.compile(
            rf"{_L}(?P<d>{_D})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<mn>{_M})\.?,?"
            rf"\s+(?:of\s+)?(?P<y>{_Y}){_TIME}{_R}"
        ),
        "ymd",
    ),
    (re.compile(rf"{_L}(?P<d>{_D})[-/.](?P<mn>{_M})[-/.](?P<y>{_Y}){_TIME}{_R}"), "ymd"),
    (re.compile(rf"{_L}(?P<m>{_N})/(?P<d>{_D})/(?P<yy>\d\d){_R}"), "ymd"),
    (re.compile(rf"\b(?P<mn>{_M})\.?,?\s+'(?P<yy>\d\d){_R}"), "ym"),
    (re.compile(rf"{_L}(?P<y>{_Y})[-/](?P<m>0[1-9]|1[0-2]){_R}"), "ym"),
    (re.compile(rf"{_L}(?P<m>{_N})[-/](?P<y>{_Y}){_R}"), "ym"),
    (re.compile(rf"\b(?P<mn>{_M})\.?,?\s+(?:of\s+(?:the\s+year\s+)?|in\s+)?(?P<y>{_Y}){_R}"), "ym"),
    (re.compile(rf"{_L}(?P<m>{_N})/(?P<d>{_D})(?=/(?:this|last) year)"), "md"),
    (re.compile(rf"{_L}(?P<m>{_N})(?=/(?:this|last) year)"), "month"),
    (re.compile(rf"(?<=(?:this|last) month/)(?P<d>{_D}){_R}"), "day"),
    (re.compile(rf"\b(?P<mn>{_M})\.?\s+(?:the\s+)?(?P<d>{_D})(?:st|nd|rd|th)?{_R}"), "md"),
    (re.compile(rf"{_L}(?P<d>{_D})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<mn>{_M})\b{_R}"), "md"),
    (re.compile(rf"{_L}(?P<m>0[1-9]|1[0-2])/(?P<d>0[1-9]|[12]\d|3[01]){_R}"), "md"),
    (
        re.compile(
            rf"\b(?:on|since|from|before|after|until|by|till|between)\s+(?:the\s+)?"
            rf"(?P<span>(?P<m>{_N})/(?P<d>{_D})){_R}"
        ),
        "md",
    ),
    (
        re.compile(
            rf"\b{_N}/{_D}\s+(?:and|to|through)\s+(?P<span>(?P<m>{_N})/(?P<d>{_D})){_R}"
        ),
        "md",
    ),
    (re.compile(rf"\b(?P<mn>{_M})\.?(?=,?\s+(?:of\s+|in\s+)?{_RELATIVE}\s+year\b)"), "month"),
    (
        re.compile(
            rf"\b{_RELATIVE}\s+year,?\s+(?:in\s+|since\s+|(?!may\b))(?P<span>(?P<mn>{_M}))\b"
        ),
        "month",
    ),
    (
        re.compile(
            rf"\b(?:in|since|during|until|till|before|after|throughout|last|this|of|between|from|by)"
            rf"\s+(?:(?:early|late|mid)[\s-])?"
            rf"(?:the\s+month\s+of\s+)?(?P<span>(?P<mn>{_M}))\b(?!['-])"
        ),
        "mon",
    ),
    (
        re.compile(
            rf"\b(?:between|from)\s+{_M}\s+(?:and|to|through)\s+(?:(?:early|late|mid)[\s-])?"
            rf"(?P<span>(?P<mn>{_M}))\b(?!['-])"
        ),
        "mon",
    ),
    (
        re.compile(
            rf"{_L}(?P<d>{_D})(?:st|nd|rd|th)\b(?=\s+(?:day\s+)?(?:of\s+|in\s+)?{_RELATIVE}\s+month\b)"
        ),
        "day",
    ),
    (
        re.compile(
            rf"\b{_RELATIVE}\s+month,?\s+on\s+(?:the\s+)?(?P<span>(?P<d>{_D}))(?:st|nd|rd|th)\b"
        ),
        "day",
    ),
]  # fmt: skip

_QUICK = re.compile(rf"\d|\b{_M}\b")
_YEAR = re.compile(rf"(?:{_L}|(?<={_Y}-))(?P<y>{_Y})(?!\d|[./]\d|\s*%)(?![^\W\d_])")
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
    if not _QUICK.search(folded):
        return
    taken = bytearray(len(folded))
    for pattern, kind in _PATTERNS:
        for match in pattern.finditer(folded):
            name = "span" if "span" in pattern.groupindex else 0
            start, end = match.span(name)
            if 1 in taken[start:end]:
                continue
            link = _link(match.groupdict(), kind, start, end, years)
            if link is not None:
                taken[start:end] = b"\1" * (end - start)
                yield link
    for match in _YEAR.finditer(folded):
        start, end = match.span()
        if 1 not in taken[start:end] and _is_year(folded, start, end, int(match["y"]), years):
            yield Link(start, end, ("year",), match["y"], "date")


def _link(
    parts: dict[str, str | None], kind: str, start: int, end: int, years: tuple[int, int] | None
) -> Link | None:
    name = parts.get("mn")
    month = _MONTH_NUMBER[name[:3]] if name else int(parts.get("m") or 0)
    day = int(parts.get("d") or 0)
    year = parts.get("y")
    if parts.get("yy"):
        year = _full_year(int(parts["yy"] or 0), years)
        if year is None:
            return None
    if day and month and day > _DAYS[month - 1]:
        return None
    if kind == "mon":
        return Link(start, end, ("mon",), month, "date")
    if kind == "month":
        return Link(start, end, ("num",), month, "date")
    if kind == "day":
        return Link(start, end, ("num",), day, "date")
    if kind == "md":
        return Link(start, end, ("md",), f"{month:02d}-{day:02d}", "date")
    if kind == "ym":
        return Link(start, end, ("ym",), f"{year}-{month:02d}", "date")
    date = f"{year}-{month:02d}-{day:02d}"
    if parts.get("h"):
        time = f"{int(parts['h'] or 0):02d}:{parts['mi']}:{parts['s'] or '00'}"
        return Link(start, end, ("stamp",), f"{date} {time}", "date")
    return Link(start, end, ("ymd",), date, "date")


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
