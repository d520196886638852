"""Ages: of one year ("45 years old", "over 80 years") and groups ("forties", "60 or above")."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ehrqa_cli.contracts.types import Link
from ehrqa_cli.text2sql.linking.number_words import WORDS, number, whole

_TENS = "twenties thirties forties fifties sixties seventies eighties nineties"
_DECADES = {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_GREEK = "sexa septua octo nona"
_DECADES |= {f"{word}genarian": 10 * number for number, word in enumerate(_GREEK.split(), 6)}
# (what people are called, the ages)
_CALLED = [(re.compile(r"\bteen(?:s|agers?|aged?)\b"), "13-19")]
_ADULT, _OLDEST = 18, 120

_N = rf"(?:\d{{1,3}}(?:\.\d{{1,2}})?|{WORDS})"
_YEARS = r"(?:years?|yrs?|y)"
_TO = r"\s*(?:-|to|and|through)\s*"
_PEOPLE = (
    r"(?:patients?|people|persons?|men|women|males?|females?|adults?|pts?|ppl|those|anyone|anybody"
    r"|someone|individuals?|subjects?|ladies|gentlemen)"
)
_AGE_YEARS = [
    re.compile(rf"(?<![\w.])(?P<span>{_N})[\s-]*{_YEARS}(?:[\s-]*olds?\b|\s+of\s+age\b|/?o\b)"),
    re.compile(
        rf"\b(?:aged?|older than|younger than|ages?)\s+(?:of\s+)?(?P<span>{_N})\s+(?:years?|yrs?)\b"
    ),
]
# Nothing else in a question takes that many years.
_COMPARED = re.compile(
    rf"\b(?:over|under|above|below|at\s+least|at\s+most|(?:more|less)\s+than)\s+"
    rf"(?P<span>{_N})\s+(?:years?|yrs?)\b"
    r"(?!\s+(?:ago|before|after|apart|since|later|earlier|prior|from|following|between))"
)
_OVERS = re.compile(
    rf"\b(?:over|under)[\s-](?P<span>(?P<n>\d{{2,3}})'?s|(?P<word>{_TENS.replace(' ', '|')}))\b"
)
_DECADE = re.compile(
    r"(?<![\w.])(?P<n>[1-9]0)(?:'?s)\b(?P<more>\s*(?:or|and)\s+(?:above|older|over|up|more))?"
    rf"|\b(?P<word>{'|'.join(_DECADES)})s?\b"
)
_OLDER = re.compile(
    rf"(?:\b(?P<aged>aged?|ages|their|the|groups?|(?:who|that)\s+(?:are|were))\s+(?:of\s+)?|(?<![\w.]))"
    rf"(?P<span>(?P<n>\d{{2,3}}|{WORDS})(?:(?P<plus>\+)(?!\w)|\s*(?:years?|yrs?)?"
    r"(?:\s+(?:old|of age))?\s*(?:or|and)\s+(?:above|older|over|up)\b(?=[^\w]|$)))"
)
_RANGES = [
    re.compile(
        r"\b(?:aged?|ages|between the ages of|age group|age range|ages between)\s+"
        rf"(?:of\s+|from\s+|between\s+)?(?P<span>(?P<a>{_N}){_TO}(?P<b>{_N}))(?![\w.%])"
    ),
    re.compile(
        rf"(?<![\w./-])(?P<span>(?P<a>{_N}){_TO}(?P<b>{_N}))"
        rf"[\s-]*{_YEARS}(?:[\s-]*olds?\b|\s+of\s+age\b|/?o\b)"
    ),
]
# Where neither "aged" nor "old" is said: people of 15 and more, and no other unit.
_LOOSE_RANGES = [
    re.compile(
        rf"\b{_PEOPLE},?\s+(?:who\s+(?:are|were)\s+)?(?:between\s+(?P<span>(?P<a>{_N})\s+and\s+(?P<b>{_N}))"
        rf"|(?P<span2>(?P<a2>\d\d)\s*(?:-|to)\s*(?P<b2>\d\d)))(?![\w.%])(?=\s*(?:[?.,;:]|$|{_YEARS}\b"
        r"|who\b|with\b|that\b|had\b|have\b|has\b|and\b|in\b|on\b|got\b|were\b|was\b|are\b|died\b))"
    ),
    re.compile(
        rf"\bbetween\s+(?P<span>(?P<a>{_N})\s+and\s+(?P<b>{_N}))\s+(?:years?|yrs?)\b"
        r"(?!\s+(?:ago|before|after|apart|since|later|earlier|prior|from|following))"
    ),
]
_YOUNGEST = 15
# A quick look: what the patterns that begin with a number need further on.
_SAYS_OLD = re.compile(r"old|\byoung|\bage|y/?o\b")
_SAYS_MORE = re.compile(r"\d\+|\b(?:or|and)\s+(?:above|older|over|up)\b")


def find_ages(folded: str) -> Iterator[Link]:
    """Age groups, and single ages (``how`` is "age"), of folded text."""
    yield from _groups(folded)
    for pattern in _AGE_YEARS if _SAYS_OLD.search(folded) else ():
        for match in pattern.finditer(folded):
            yield _age(match)
    for match in _COMPARED.finditer(folded):
        if _ADULT <= number(match["span"]) <= _OLDEST:
            yield _age(match)
    for match in _OVERS.finditer(folded):
        years = int(match["n"]) if match["n"] else _DECADES[match["word"]]
        yield Link(*match.span("span"), ("num",), years, "age")


def _groups(folded: str) -> Iterator[Link]:
    for pattern in _RANGES if _SAYS_OLD.search(folded) else ():
        for match in pattern.finditer(folded):
            low, high = whole(number(match["a"])), whole(number(match["b"]))
            yield _group(match.span("span"), f"{low}-{high}")
    for pattern in _LOOSE_RANGES:
        for match in pattern.finditer(folded):
            parts = match.groupdict()
            more = "" if parts["a"] else "2"
            low, high = number(parts[f"a{more}"] or ""), number(parts[f"b{more}"] or "")
            if _YOUNGEST <= low < high <= _OLDEST:
                yield _group(match.span(f"span{more}"), f"{low}-{high}")
    for match in _DECADE.finditer(folded):
        first = _DECADES[match["word"]] if match["word"] else int(match["n"])
        yield _group(match.span(), f"{first}+" if match["more"] else f"{first}-{first + 9}")
    for named, ages in _CALLED:
        for match in named.finditer(folded):
            yield _group(match.span(), ages)
    for match in _OLDER.finditer(folded) if _SAYS_MORE.search(folded) else ():
        # "65 or older" is a number to compare with; "10+ visits" are no ages
        if number(match["n"]) >= _ADULT if match["plus"] else match["aged"]:
            yield _group(match.span("span"), f"{whole(number(match['n']))}+")


def _group(span: tuple[int, int], ages: str) -> Link:
    return Link(*span, ("agegrp",), ages, "number")


def _age(match: re.Match[str]) -> Link:
    return Link(*match.span("span"), ("num",), number(match["span"]), "age")
