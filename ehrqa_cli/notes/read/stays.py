"""Which of a patient's notes a question names: by year, month, season, or as the first or last."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ehrqa_cli.contracts.notes import FoundLine

_EVENT = (
    r"(?:stays?|admissions?|hospitali[sz]ations?|visits?|discharges?|hospital(?: stay)?|"
    r"encounters?|summary|summaries|notes?|time|consultations?|appointments?|operations?|surgery|surgeries|"
    r"procedures?|delivery|episodes?)"
)
_BETWEEN = (
    r"(?:\s+(?:\w+\s+){0,2}?|\s+(?:and|or|to|than)\s+(?:(?:at|in|on|during)\s+)?(?:the\s+)?\w+\s+)"
)
_ORDINALS: tuple[tuple[str, int], ...] = (
    (r"(?:first|1st|initial|earli(?:er|est)|previous|prior|index|original)", 0),
    (r"(?:second|2nd)", 1),
    (r"(?:third|3rd)", 2),
    (r"(?:last|latest|later|most recent|latter|final|subsequent|recent|next)", -1),
)
_NAMED = tuple(
    (re.compile(rf"\b{word}{_BETWEEN}{_EVENT}\b", re.I), place) for word, place in _ORDINALS
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(
    r"(?:\b(?:in|the|of|from|between|since|during|late|early|mid|and|to|that)[ -])"
    r"(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|e|y|ust|t"
    r"|ember|tember|ober)?\b(?! \d)",
    re.I,
)
_SEASONS = {
    "winter": (12, 1, 2), "spring": (3, 4, 5), "summer": (6, 7, 8),
    "fall": (9, 10, 11), "autumn": (9, 10, 11),
}  # fmt: skip
_SEASON = re.compile(r"\b(?:in|the|that|of|last) (winter|spring|summer|fall|autumn)\b", re.I)
_YEAR = re.compile(r"\b(?:19|20|21|22)\d\d\b")


def named(question: str, found: Sequence[FoundLine]) -> frozenset[str] | None:
    """The ids of the notes that ``question`` names; None where it names none, or all of them.

    Notes are told apart by their ``charttime``; those without one are never named.
    """
    times = {each.line.note_id: each.charttime for each in found if each.charttime}
    if len({each.line.note_id for each in found}) < 2 or not times:
        return None
    ordered = sorted(times, key=lambda note: (times[note], note))
    meant: set[str] = set()
    for pattern, place in _NAMED:
        if pattern.search(question) and place < len(ordered):
            meant.add(ordered[place])
    years = set(_YEAR.findall(question))
    meant |= {note for note, time in times.items() if time[:4] in years}
    months = _months(question)
    meant |= {note for note, time in times.items() if _in(time, months)}
    return frozenset(meant) if 0 < len(meant) < len(times) else None


def _months(question: str) -> set[int]:
    found = {_MONTHS.index(m.group(1).lower()[:3]) + 1 for m in _MONTH.finditer(question)}
    for match in _SEASON.finditer(question):
        found.update(_SEASONS[match.group(1).lower()])
    return found


def _in(time: str, months: set[int]) -> bool:
    """Is ``time`` (ISO 8601) in one of ``months``, or early in the next (it began there)?"""
    match = re.match(r"\d{4}-(\d\d)(?:-(\d\d))?", time)
    if match is None or not months:
        return False
    month, day = int(match.group(1)), int(match.group(2) or 15)
    return month in months or (day <= _EARLY and (month - 2) % 12 + 1 in months)


_EARLY = 10  # day of a month up to which a stay is taken to have begun the month before
