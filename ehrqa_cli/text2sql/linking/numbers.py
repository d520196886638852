"""Numbers, with durations and age groups."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ehrqa_cli.contracts.types import Link
from ehrqa_cli.text2sql.linking.ages import find_ages
from ehrqa_cli.text2sql.linking.durations import find_durations
from ehrqa_cli.text2sql.linking.number_words import DIGITS, SOME, WORDS, number, whole

_TIMES = {"once": 1, "twice": 2, "thrice": 3}
_UNIT = r"mgs?|mcg|ug|g|gm|kg|lbs?|mls?|dl|l|cc|meq|mmol|mmhg|units?|iu|u|bpm|cm|c|f|hz"
_NUMBER = re.compile(
    rf"(?<![\w./^])(?<!\d,)(?<!\d:)(?:(?<![a-z]-)|(?<=\btop-))(?P<n>{DIGITS})"
    rf"(?:x|%|(?P<k>k)|(?:{_UNIT}))?(?![\w^]|[./:]\d|(?<=\d\d\d0)'s\b)"
)
_IN_WORDS = re.compile(
    rf"(?<!which of the )(?<!of these )(?<![\w.,/])(?P<n>{WORDS}|once|twice|thrice)\b(?!-)"
)
# "half a liter" is an amount, "half a day" a duration, "half a" anything else no number
_HALF = re.compile(rf"\b(?P<n>half\s+an?)(?=\s+(?:{_UNIT}|liters?|litres?|grams?|pounds?)\b)")
# "one" alone is a number only there
_ALONE = re.compile(r"\bexactly\s+one\b|\bone\s+times?\b")
_WORD = re.compile(rf"\b(?:{SOME}|once|twice|thrice)\b")
_QUICK = re.compile(
    rf"\d|\b(?:{SOME}|an?|couple|fortnight|past|preceding|next|following|subsequent|the|once|twice"
    r"|thrice|teen\w*|\w+ties|\w+genarians?)\b"
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


def find_numbers(folded: str) -> Iterator[Link]:
    """Age groups, durations and plain numbers of folded text; they may overlap with each other."""
    if not _QUICK.search(folded):
        return
    ages = list(find_ages(folded))
    yield from ages
    old = {link.start for link in ages if link.how == "age"}
    yield from (link for link in find_durations(folded) if link.start not in old)
    scales = [match.span() for match in _SCALE.finditer(folded)]
    for link in _plain(folded):
        scale = any(start <= link.start < end for start, end in scales)
        before = folded[max(0, link.start - 12) : link.start]
        if not scale and not _PART_OF_NAME.search(before):
            yield link


def _plain(folded: str) -> Iterator[Link]:
    for match in _NUMBER.finditer(folded):
        value = number(match["n"])
        if match["k"]:
            value = whole(value * 1000)
        end = match.end("k") if match["k"] else match.end("n")
        yield Link(match.start("n"), end, ("num",), value, "number")
    for match in _IN_WORDS.finditer(folded) if _WORD.search(folded) else ():
        word, start = match["n"], max(0, match.start() - 12)
        if word != "one" or _ALONE.search(folded, start, match.end() + 12):
            value = _TIMES.get(word) or number(word)
            yield Link(match.start(), match.end(), ("num",), value, "number")
    for match in _HALF.finditer(folded):
        yield Link(match.start(), match.end(), ("num",), 0.5, "number")
