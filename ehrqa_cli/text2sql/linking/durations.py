"""Lengths of time: "48h", "two and a half days", "a couple of weeks", "in the hour before"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ehrqa_cli.contracts.types import Link
from ehrqa_cli.text2sql.linking.date_patterns import MONTH
from ehrqa_cli.text2sql.linking.number_words import DIGITS, WORDS, number, whole

_UNITS = {"h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year", "mi": "minute"}
# Halves are told in the next smaller unit. SQLite knows no weeks.
_SMALLER = {
    **{"year": ("month", 12), "month": ("day", 30)},
    **{"day": ("hour", 24), "hour": ("minute", 60)},
}
_PARTS = {"half": 0.5, "quarter": 0.25}
_NAME = r"minutes?|mins?|hours?|hrs?|days?|weeks?|wks?|months?|mos?|years?|yrs?"
_UNIT = rf"(?P<unit>{_NAME})(?:\s+and\s+an?\s+(?P<part>half|quarter)\b)?(?!\w|\s*/)"
_NUMBER = rf"(?:{WORDS}|{DIGITS})"
_DURATION = re.compile(
    rf"(?<![\w./,])(?P<n>{_NUMBER}|(?:a\s+)?couple(?:\s+of)?|(?:half\s+)?an?(?=[\s-](?:{_NAME})\b))"
    rf"[\s-]*{_UNIT}"
)
_SHORT = re.compile(
    r"(?<![\w./])(?P<n>\d{1,6}(?:\.\d{1,3})?)(?:(?P<unit>h|d|w|y)|\s(?P<unit2>h|d))(?![\w/])"
    r"(?=\s|$|[.,:?!;)-])"
)
# Minutes, months, millions, metres, a man's age?
_VAGUE = re.compile(r"(?<![\w./])\d{1,6}\s?m(?![\w/])(?=\s|$|[.,?!;)])")
# Parts of a year or month that begin and end where the speaker thinks.
_VAGUE_DATE = re.compile(
    r"\b(?:early|mid|late|(?:first|1st|second|2nd|latter)\s+half\s+of|spring|summer|autumn|winter"
    rf"|(?:spring|summer|autumn|winter|fall)\s+of)[\s-]+(?:the\s+year\s+)?(?:{MONTH}|\d{{4}})(?![\w-])"
)
# (what is written, how long it is)
_SPANS = [(re.compile(r"\b(?:a\s+|one\s+)?fortnight\b"), 14, "day")]
# "a day" and "an hour" are a rate, not a duration, unless something counts from there
_ARTICLE_AFTER = re.compile(r"\s+(?:ago|after|before|earlier|later|following|prior|of|since)\b")
_ARTICLE_BEFORE = re.compile(
    r"\b(?:within|past|last|next|for|over|under|in|inside(?:\s+of)?|during|than|after|at|at\s+least"
    r"|at\s+most|up\s+to|beyond|exceed(?:s|ed|ing)?)\s+$"
)
# "on at least three days", "the top two hours": so many of them, no length of time
_COUNTED = re.compile(
    r"\b(?:top|on(?:\s+(?:at\s+(?:least|most)|(?:more|less|fewer)\s+than|over|under|exactly))?)\s+$"
)
# "the day before" and "the following day" are days of the calendar
_ALONE = [
    re.compile(
        r"\b(?:past|preceding|the\s+prior)\s+(?P<span>(?P<unit>hour|day|week|month|year))\b"
    ),
    re.compile(
        r"\bthe\s+(?:next|following|subsequent)\s+(?P<span>(?P<unit>hour|week|month|year))\b"
    ),
    re.compile(
        r"\b(?:in|within|during|over|for)\s+the\s+(?P<span>(?P<unit>hour|week|month|year))"
        r"(?=\s+(?:before|after|prior|preceding|following)\b)"
    ),
]
# "24 to 48 hours", "between two and three days": both are lengths
_RANGE = re.compile(rf"(?<![\w./,-])(?P<n>{_NUMBER})\s*(?:-|to|or|(?P<and>and))\s*$")
_QUICK = re.compile(rf"{_NAME}|fortnight|\d\s?[hdwy]\b")
_BETWEEN = re.compile(r"\bbetween\s+$")
_LOOK_BACK = 40


def find_durations(folded: str) -> Iterator[Link]:
    """The durations of folded text; they may overlap with each other."""
    if not _QUICK.search(folded):
        return
    for match in _DURATION.finditer(folded):
        how_many = _count(folded, match)
        counted = _COUNTED.search(folded, max(0, match.start() - _LOOK_BACK), match.start())
        if how_many is not None and not counted:
            yield _link(match.start(), match.end(), how_many, match["unit"])
            yield from _before(folded, match.start(), match["unit"])
    for match in _SHORT.finditer(folded):
        unit = match["unit"] or match["unit2"]
        yield _link(match.start(), match.end(), number(match["n"]), unit)
        yield from _before(folded, match.start(), unit)
    for pattern, times, name in _SPANS:
        for match in pattern.finditer(folded):
            yield Link(match.start(), match.end(), ("dur",), f"{times} {name}", "number")
    for pattern in _ALONE:
        for match in pattern.finditer(folded):
            start, end = match.span("span")
            yield _link(start, end, 1, match["unit"])


def find_vague(folded: str) -> Iterator[tuple[int, int, str]]:
    """``(start, end, kind)`` of numbers whose unit may be one or another ("5m"), and of parts of a
    year or month without an end of their own ("early 2100", "the summer of 2100")."""
    for kind, pattern in (("vague_dur", _VAGUE), ("vague_date", _VAGUE_DATE)):
        for match in pattern.finditer(folded):
            yield match.start(), match.end(), kind


def _count(folded: str, match: re.Match[str]) -> int | float | None:
    """How many of the unit; None where "a day" is a rate."""
    word, part = match["n"], _PARTS.get(match["part"] or "", 0)
    if "couple" in word:
        return 2 + part
    if word.startswith("half a"):
        return 0.5 if len(word.split()) == 2 else number(word)
    if word not in ("a", "an"):
        return number(word) + part
    counted = _ARTICLE_AFTER.match(folded, match.end())
    if (
        part
        or counted
        or _ARTICLE_BEFORE.search(folded, max(0, match.start() - _LOOK_BACK), match.start())
    ):
        return 1 + part
    return None


def _before(folded: str, end: int, unit: str) -> Iterator[Link]:
    """The lower end of a range, which has no unit of its own."""
    start = max(0, end - _LOOK_BACK)
    match = _RANGE.search(folded[start:end])
    if match is None:
        return
    first = start + match.start()
    if not match["and"] or _BETWEEN.search(folded, max(0, first - _LOOK_BACK), first):
        yield _link(first, start + match.end("n"), number(match["n"]), unit)


def _link(start: int, end: int, count: int | float, unit: str) -> Link:
    name = _UNITS["mi" if unit.startswith("mi") else unit[:2] if unit[:2] == "mo" else unit[0]]
    if name == "week":
        count, name = count * 7, "day"
    while count != int(count) and name in _SMALLER:
        name, times = _SMALLER[name]
        count = round(count * times, 6)
    return Link(start, end, ("dur",), f"{whole(round(count, 6))} {name}", "number")
