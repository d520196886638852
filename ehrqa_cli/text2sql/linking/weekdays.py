"""Days of the week: "Monday", "on Mondays", "every Fri", "Sat/Sun"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ehrqa_cli.contracts.types import Link

_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NAMES = {day[:3]: day for day in _DAYS.split()}
DAY = rf"(?:{'|'.join(_DAYS.split())})"
_SHORT = r"(?:mons?|tues?|weds?|thurs?|thu|fri|sat|sun)\.?"
_DAY = re.compile(rf"\b{DAY}s?\b")
_QUICK = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)")
_JOIN = r"\s*(?:,|/|-|&|and|or|to|through)\s*"
# "sat" and "sun" are words too: short names only where a day is expected
_SHORTS = [
    re.compile(rf"\b(?:on|every|each)\s+(?:an?\s+)?(?P<day>{_SHORT})(?![\w%])(?!\s*\d)"),
    re.compile(rf"\b(?P<day>{_SHORT})(?={_JOIN}(?:{DAY}s?|{_SHORT})(?!\w))"),
    re.compile(rf"\b(?:{DAY}s?|{_SHORT}){_JOIN}(?P<day>{_SHORT})(?!\w)"),
]


def find_weekdays(folded: str) -> Iterator[Link]:
    """The days of the week of folded text; their values are whole names."""
    if not _QUICK.search(folded):
        return
    for match in _DAY.finditer(folded):
        yield _link(match.span(), match.group())
    for pattern in _SHORTS:
        for match in pattern.finditer(folded):
            yield _link(match.span("day"), match["day"])


def _link(span: tuple[int, int], word: str) -> Link:
    return Link(*span, ("dow",), _NAMES[word[:3]], "date")
