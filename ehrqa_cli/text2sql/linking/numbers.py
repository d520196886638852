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
_WORDS |= {word: 10 * n for n, word in enumerate(["thirty", "forty", "fifty", "sixty"], 3)}
_WORDS |= {"seventy": 70, "eighty": 80, "ninety": 90, "dozen": 12, "hundred": 100}
_TIMES = {"once": 1, "twice": 2, "thrice": 3}
_TENS = "twenties thirties forties fifties sixties seventies eighties nineties"
_DECADES = {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_DECADES |= {
    f"{word}genarians": 10 * number
    for number, word in enumerate(["sexa", "septua", "octo", "nona"], 6)
}
_UNITS = {"h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year", "mi": "minute"}
_UNIT = r"(?P<unit>minutes?|mins?|hours?|hrs?|days?|weeks?|wks?|months?|mos?|years?|yrs?)"
_WORD = "|".join(_WORDS)
_AMOUNT = r"\d{1,9}(?:\.\d{1,9})?"

_AGE_YEARS = re.compile(
    rf"\b(?P<span>(?P<n>{_AMOUNT}))[\s-]*(?:years?|yrs?|y)"
    r"(?:[\s-]*(?:old|olds)\b|\s+of\s+age|/?o\b)"
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
_RANGE_OLD = re.compile(
    r"(?<![\w./-])(?P<span>(?P<a>\d{1,3})\s*(?:-|to|and|through)\s*(?P<b>\d{1,3}))"
    r"[\s-]*(?:years?|yrs?|y)(?:[\s-]*old\b|\s+of\s+age\b|/?o\b)"
)
_DURATION = re.compile(
    rf"(?<![\w./])(?P<n>{_AMOUNT}|{_WORD}|one|an?(?=[\s-]{_UNIT.replace('?P<unit>', '?:')}\b))"
    rf"[\s-]*{_UNIT}(?![\w]|\s*/)"
)
_SHORT = re.compile(
    r"(?<![\w./])(?P<n>\d{1,6})(?:(?P<unit>h|d|w|y)|\s(?P<unit2>h|d))(?![\w/])(?=\s|$|[.,?!;)])"
)
# Minutes, months, millions, metres, a man's age?
_VAGUE = re.compile(r"(?<![\w./])\d{1,6}\s?m(?![\w/])(?=\s|$|[.,?!;)])")
# (what is written, how long it is)
_SPANS = [
    (re.compile(r"\b(?:a\s+|one\s+)?fortnight\b"), 14, "day"),
    (re.compile(r"\bhalf\s+a\s+year\b"), 6, "month"),
    (re.compile(r"\bhalf\s+an\s+hour\b"), 30, "minute"),
    (re.compile(r"\b(?:a\s+)?couple\s+(?:of\s+)?days\b"), 2, "day"),
    (re.compile(r"\b(?:a\s+)?couple\s+(?:of\s+)?weeks\b"), 14, "day"),
    (re.compile(r"\b(?:a\s+)?couple\s+(?:of\s+)?months\b"), 2, "month"),
    (re.compile(r"\b(?:a\s+)?couple\s+(?:of\s+)?years\b"), 2, "year"),
]
_PAST = re.compile(r"\b(?:past|preceding)\s+(?P<span>(?P<unit>hour|day|week|month|year))\b")
_NUMBER = re.compile(
    r"(?<![\w./])(?<!\d,)(?<!\d:)(?:(?<![a-z]-)|(?<=\btop-))"
    r"(?P<n>\d{1,3}(?:,\d{3}){1,4}(?:\.\d{1,9})?|\d{1,15}(?:\.\d{1,15})?|(?<!\w)\.\d{1,9})"
    r"(?:x|%|(?P<k>k)|(?P<unit>mgs?|mcg|ug|g|gm|kg|lbs?|mls?|dl|l|cc|meq|mmol|mmhg|units?|iu|u|bpm"
    r"|cm|c|f|hz))?(?![\w]|[./:]\d)"
)
_NUMBER_WORD = re.compile(
    rf"(?<!which of the )(?<!of these )\b(?P<n>{_WORD}|once|twice|thrice|one(?=\s+times?\b))\b(?!-)"
)
_COMPOUND = re.compile(
    r"\b(?P<tens>twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[\s-]"
    r"(?P<ones>one|two|three|four|five|six|seven|eight|nine)\b"
)
_MANY = re.compile(
    rf"\b(?P<n>{_WORD}|an?|one|half\s+a|\d{{1,3}}(?:\.\d)?)\s+(?P<unit>dozen|hundred|thousand|million)\b"
)
_MANY_WORTH = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1_000_000}
_QUICK = re.compile(
    rf"\d|\b(?:{_WORD}|one|an?|half|couple|fortnight|past|preceding|once|twice|thrice"
    rf"|{'|'.join(_DECADES)})\b"
)
# How an answer is to be written is no number: "share (0-1)", "1 = yes", "between 0 and 1".
_SCALE = re.compile(
    r"\(\s*0(?:\.0)?\s*(?:-|to|/|or|,|and)\s*(?:1(?:\.0)?|100)\s*%?\s*\)|\(\s*1\s*(?:/|or|,)\s*0\s*\)"
    r"|\b(?:between|from)\s+0\s+(?:and|to)\s+1\b(?!\.\d)"
    r"|\b(?:proportion|share|fraction|ratio|probability|scale|rate)\b[^.?]{0,30}?\b0\s*(?:-|to)\s*1\b(?!\.\d)"
    r"|\b[01]\s*(?:=|for|if|means)\s*(?:yes|no|true|false)\b|\b(?:yes|no|true|false)\s*(?:=|:)\s*[01]\b"
    r"|\b0\s+or\s+1\b|\b1\s+or\s+0\b"
)
# "type 2", "stage 3", "grade 2": part of a name
_PART_OF_NAME = re.compile(r"\b(?:type|stage|grade|class|phase|ckd|dm|version|icd|mobitz)[\s-]+$")
# "a day" and "an hour" are a rate, not a duration, unless something counts from there
_ARTICLE_AFTER = re.compile(r"\s+(?:ago|after|before|earlier|later|following|prior|of|since)\b")
_ARTICLE_BEFORE = re.compile(r"\b(?:within|past|last|for|over|in|during)\s+$")


_ADULT = 18


def find_numbers(folded: str) -> Iterator[Link]:
    """Age groups, durations and plain numbers of folded text; they may overlap with each other."""
    if not _QUICK.search(folded):
        return
    ages = list(_ages(folded))
    yield from ages
    old = {link.start for link in ages if link.how == "age"}
    yield from (link for link in _durations(folded) if link.start not in old)
    scales = [match.span() for match in _SCALE.finditer(folded)]
    for link in _plain(folded):
        scale = any(start <= link.start < end for start, end in scales)
        before = folded[max(0, link.start - 12) : link.start]
        if not scale and not _PART_OF_NAME.search(before):
            yield link


def find_vague(folded: str) -> Iterator[tuple[int, int, str]]:
    """``(start, end, kind)`` of numbers whose unit may be one or another: "5m"."""
    for match in _VAGUE.finditer(folded):
        yield match.start(), match.end(), "vague_dur"


def _plain(folded: str) -> Iterator[Link]:
    for match in _NUMBER.finditer(folded):
        value = _number(match["n"])
        if match["k"]:
            value = _whole(value * 1000)
        end = match.end("k") if match["k"] else match.end("n")
        yield Link(match.start("n"), end, ("num",), value, "number")
    for match in _NUMBER_WORD.finditer(folded):
        word = match["n"]
        value = _TIMES.get(word) or _WORDS.get(word, 1)
        yield Link(match.start(), match.end(), ("num",), value, "number")
    for match in _COMPOUND.finditer(folded):
        value = _WORDS[match["tens"]] + _WORDS.get(match["ones"], 1)
        yield Link(match.start(), match.end(), ("num",), value, "number")
    for match in _MANY.finditer(folded):
        word = match["n"]
        count = 0.5 if word.startswith("half") else 1 if word in ("a", "an", "one") else None
        times = count or _WORDS.get(word) or _number(word)
        value = _whole(times * _MANY_WORTH[match["unit"]])
        yield Link(match.start(), match.end(), ("num",), value, "number")


def _whole(value: int | float) -> int | float:
    return int(value) if value == int(value) else value


def _ages(folded: str) -> Iterator[Link]:
    for match in _RANGE.finditer(folded):
        start, end = match.span("span")
        yield Link(start, end, ("agegrp",), f"{int(match['a'])}-{int(match['b'])}", "number")
    for match in _RANGE_OLD.finditer(folded):
        start, end = match.span("span")
        yield Link(start, end, ("agegrp",), f"{int(match['a'])}-{int(match['b'])}", "number")
    for match in _DECADE.finditer(folded):
        first = _DECADES[match["word"]] if match["word"] else int(match["n"])
        group = f"{first}+" if match["more"] else f"{first}-{first + 9}"
        yield Link(match.start(), match.end(), ("agegrp",), group, "number")
    for match in _OLDER.finditer(folded):
        if match.group().endswith("+") and int(match["n"]) < _ADULT:
            continue  # "10+ visits"
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
        unit = match["unit"] or match["unit2"]
        yield _duration(match.start(), match.end(), int(match["n"]), unit)
    for pattern, number, name in _SPANS:
        for match in pattern.finditer(folded):
            yield Link(match.start(), match.end(), ("dur",), f"{number} {name}", "number")
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
    if plain.startswith("."):
        plain = "0" + plain
    return float(plain) if "." in plain else int(plain)
