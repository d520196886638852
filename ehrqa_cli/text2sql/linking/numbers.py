"""Numbers, durations and age groups."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ehrqa_cli.contracts.types import Link

_COUNTS = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_WORDS = {word: number for number, word in enumerate(_COUNTS.split(), 2)}
_TIMES = {"once": 1, "twice": 2, "thrice": 3}
_TENS = "twenties thirties forties fifties sixties seventies eighties nineties"
_DECADES = {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_UNITS = {"h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year", "mi": "minute"}
_UNIT = r"(?P<unit>minutes?|mins?|hours?|hrs?|days?|weeks?|wks?|months?|mos?|years?|yrs?)"
_WORD = "|".join(_WORDS)
_AMOUNT = r"\d{1,9}(?:\.\d{1,9})?"

_AGE_YEARS = re.compile(
    rf"\b(?P<span>(?P<n>{_AMOUNT}))[\s-]*(?:years?|yrs?|y)"
    r"(?:[\s-]*(?:old|olds)\b|\s+of\s+age|/o\b)"
    r"|\b(?:aged?|older than|younger than|ages?)\s+(?:of\s+)?"
    r"(?P<span2>\d{1,3})\s+(?:years?|yrs?)\b"
)
_DECADE = re.compile(
    r"(?<![\w.])(?P<n>[1-9]0)(?:'?s)\b(?P<more>\s*(?:or|and)\s+(?:above|older|over|up|more))?"
    rf"|\b(?P<word>{'|'.join(_DECADES)})\b"
)
_OLDER = re.compile(
    r"(?<![\w.])(?P<n>\d{2,3})(?:\+|\s*(?:years?|yrs?)?(?:\s+(?:old|of age))?"
    r"\s*(?:or|and)\s+(?:above|older|over|up)\b(?=[^\w]|$))"
)
_RANGE = re.compile(
    r"\b(?:aged?|ages|between the ages of|age group|age range|ages between)\s+"
    r"(?:of\s+|from\s+|between\s+)?"
    r"(?P<span>(?P<a>\d{1,3})\s*(?:-|to|and|through)\s*(?P<b>\d{1,3}))\b"
)
_DURATION = re.compile(
    rf"(?<![\w./])(?P<n>{_AMOUNT}|{_WORD}|one|an?(?=[\s-]{_UNIT.replace('?P<unit>', '?:')}\b))"
    rf"[\s-]*{_UNIT}(?![\w]|\s*/)"
)
_SHORT = re.compile(r"(?<![\w./])(?P<n>\d{1,6})(?P<unit>h|d|w|m|y)(?![\w/])(?=\s|$|[.,?!;)])")
_PAST = re.compile(r"\b(?:past|preceding)\s+(?P<span>(?P<unit>hour|day|week|month|year))\b")
_NUMBER = re.compile(
    r"(?<![\w./])(?<!\d,)(?<![a-z]-)"
    r"(?P<n>\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,9})?|\d{1,15}(?:\.\d{1,15})?)"
    r"(?:x|%)?(?![\w]|[./]\d)"
)
_NUMBER_WORD = re.compile(
    rf"(?<!which of the )(?<!of these )\b(?P<n>{_WORD}|once|twice|thrice|one(?=\s+times?\b))\b(?!-)"
)
_QUICK = re.compile(
    rf"\d|\b(?:{_WORD}|one|an?|past|preceding|once|twice|thrice|{'|'.join(_DECADES)})\b"
)
# "a day" and "an hour" are a rate, not a duration, unless something counts from there
_ARTICLE_AFTER = re.compile(r"\s+(?:ago|after|before|earlier|later|following|prior|of|since)\b")
_ARTICLE_BEFORE = re.compile(r"\b(?:within|past|last|for|over|in|during)\s+$")


def find_numbers(folded: str) -> Iterator[Link]:
    """Age groups, durations and plain numbers of folded text; they may overlap with each other."""
    if not _QUICK.search(folded):
        return
    ages = list(_ages(folded))
    yield from ages
    old = {link.start for link in ages if link.how == "age"}
    yield from (link for link in _durations(folded) if link.start not in old)
    for match in _NUMBER.finditer(folded):
        yield Link(match.start(), match.end("n"), ("num",), _number(match["n"]), "number")
    for match in _NUMBER_WORD.finditer(folded):
        word = match["n"]
        value = _TIMES.get(word) or _WORDS.get(word, 1)
        yield Link(match.start(), match.end(), ("num",), value, "number")


def _ages(folded: str) -> Iterator[Link]:
    for match in _RANGE.finditer(folded):
        start, end = match.span("span")
        yield Link(start, end, ("agegrp",), f"{int(match['a'])}-{int(match['b'])}", "number")
    for match in _DECADE.finditer(folded):
        first = _DECADES[match["word"]] if match["word"] else int(match["n"])
        group = f"{first}+" if match["more"] else f"{first}-{first + 9}"
        yield Link(match.start(), match.end(), ("agegrp",), group, "number")
    for match in _OLDER.finditer(folded):
        yield Link(match.start(), match.end(), ("agegrp",), f"{int(match['n'])}+", "number")
    for match in _AGE_YEARS.finditer(folded):
        name = "span" if match["span"] else "span2"
        start, end = match.span(name)
        yield Link(start, end, ("num",), _number(match[name]), "age")


def _durations(folded: str) -> Iterator[Link]:
    for match in _DURATION.finditer(folded):
        word = match["n"]
        if word in ("a", "an"):
            counted = _ARTICLE_AFTER.match(folded, match.end())
            if not counted and not _ARTICLE_BEFORE.search(folded, 0, match.start()):
                continue
        number = 1 if word in ("a", "an", "one") else _WORDS.get(word) or _number(word)
        yield _duration(match.start(), match.end(), number, match["unit"])
    for match in _SHORT.finditer(folded):
        unit = "mo" if match["unit"] == "m" else match["unit"]
        yield _duration(match.start(), match.end(), int(match["n"]), unit)
    for match in _PAST.finditer(folded):
        start, end = match.span("span")
        yield _duration(start, end, 1, match["unit"])


def _duration(start: int, end: int, number: int | float, unit: str) -> Link:
    name = _UNITS["mi" if unit.startswith("mi") else unit[:2] if unit[:2] == "mo" else unit[0]]
    if name == "week":  # SQLite knows no weeks
        number, name = number * 7, "day"
    return Link(start, end, ("dur",), f"{number} {name}", "number")


def _number(text: str) -> int | float:
    plain = text.replace(",", "")
    return float(plain) if "." in plain else int(plain)
