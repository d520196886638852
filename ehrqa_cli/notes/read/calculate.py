"""Small sums over the numbers and dates of evidence: days between, differences, totals a day."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from ehrqa_cli.contracts.notes import Line
from ehrqa_cli.notes.read.quantities import A_DAY, A_WEEK, Quantity, quantities
from ehrqa_cli.notes.read.question import AnswerKind, NoteQuestion
from ehrqa_cli.notes.read.values import full_dates

_STAY = re.compile(
    r"\b(?:days?|long|length|nights?)\b.*\b(?:stay\w*|hospital\w*|admi\w+|inpatient|los)\b"
    r"|\blength of stay\b",
    re.I,
)
_ADMITTED = re.compile(r"\badmi(?:ssion|tted|t date|tting)|\badm\b", re.I)
_DISCHARGED = re.compile(r"\bdischarged?\b|\bd/c\b|\bdisch\b", re.I)
_FROM_TO = re.compile(
    r"(?:from\s+)?(\d[\d,]*(?:\.\d+)?)\s?[a-zA-Z%/]{0,6}\s+(?:down |up "
    r"|back )?to\s+(?:\w+\s){0,3}?(\d[\d,]*(?:\.\d+)?)",
    re.I,
)
_SUM = re.compile(r"\b(?:total|combined|altogether|in all|sum|together)\b", re.I)
_A_DAY = re.compile(
    r"\b(?:a|per|each|every|whole|in (?:one|a)) (?:whole )?day\b|\bdaily (?:total|dose|amount)\b"
    r"|\bin 24 hours\b|\btotal daily\b",
    re.I,
)
_TOLD = 0.35  # how much a word must tell for a number beside it to be of it
_GAP = 25.0  # characters over which nearness falls to a third
_STOP = re.compile(r"[.;](?:\s|$)|\n")
_FARTHEST = 90  # characters between a number and what it is of
_EACH = 4  # numbers of one text that are used
_ACROSS = 0.8  # what numbers of two texts count against those of one
_BEFORE = 0.6  # of a number that stands before what it is of
_CUT_OFF = 0.4  # of a number in another sentence
_DERIVED_KINDS = (
    AnswerKind.ARITHMETIC,
    AnswerKind.COMPARISON,
    AnswerKind.DURATION,
    AnswerKind.NUMBER,
    AnswerKind.DOSE,
)
Place = tuple[float, int, int]  # how much a word tells, and where it stands


@dataclass(frozen=True)
class Derived:
    """A number worked out of others; ``worth`` 0 to 1, ``texts`` the places of those it is from."""

    number: float
    unit: str
    worth: float
    texts: tuple[int, ...]
    of: tuple[float, ...]


def stay_days(
    asked: NoteQuestion, lines: Sequence[Line], meant: frozenset[str] | None = None
) -> tuple[int, tuple[Line, ...]] | None:
    """The days between the dates of admission and discharge of a note, and their lines.

    ``meant`` are the notes that the question names, if any. None when the question does not ask for
    the days, or the lines do not give both dates of one note.
    """
    if not _STAY.search(asked.text):
        return None
    for note_id in dict.fromkeys(line.note_id for line in lines):
        if meant and note_id not in meant:
            continue
        of_note = sorted((x for x in lines if x.note_id == note_id), key=lambda x: x.number)
        for at, line in enumerate(of_note):
            dates = full_dates(line.text)
            if not dates or not _ADMITTED.search(line.text):
                continue
            if len(dates) > 1 and _DISCHARGED.search(line.text):
                return (dates[1] - dates[0]).days, (line,)
            for other in of_note[at + 1 :]:
                ends = full_dates(other.text)
                if ends and _DISCHARGED.search(other.text) and ends[0] >= dates[0]:
                    return (ends[0] - dates[0]).days, (line, other)
    return None


def difference(text: str) -> tuple[float, float] | None:
    """The two numbers of "from A to B" in ``text``."""
    match = _FROM_TO.search(text)
    if match is None:
        return None
    first, last = (float(part.replace(",", "")) for part in match.groups())
    return first, last


def values_of(text: str, places: Sequence[Place]) -> list[tuple[Quantity, float]]:
    """The quantities of ``text``, each with how near it is to what is asked about, best first."""
    found = []
    for quantity in quantities(text):
        best = 0.0
        for weight, start, end in places:
            if weight < _TOLD or (quantity.start < end and start < quantity.end):
                continue
            after = quantity.start >= end
            gap = quantity.start - end if after else start - quantity.end
            between = text[end : quantity.start] if after else text[quantity.end : start]
            near = weight * math.exp(-gap / _GAP) * (1.0 if after else _BEFORE)
            near *= _CUT_OFF if _STOP.search(between) else 1.0
            near *= _ANOTHERS if after and _labelled(between) else 1.0
            best = max(best, near if gap <= _FARTHEST else 0.0)
        found.append((quantity, best))
    return sorted(found, key=lambda each: -each[1])


def _labelled(between: str) -> bool:
    """Does what stands before a number end with a name that it is of (ESR in "CRP 142, ESR 95")?"""
    word = _LAST_WORD.search(between)
    return word is not None and _JOINING.fullmatch(word.group(1)) is None


_LAST_WORD = re.compile(r"(?:^|[\s,;(])([A-Za-z][A-Za-z-]+)[\s:=-]{1,3}$")
_JOINING = re.compile(
    r"was|were|is|are|of|to|from|at|on|in|now|and|or|then|than|rose|fell|down|up|about|"
    r"only|level|levels|dose|dosed|count|value|x|per|with|for|by|over|under|below|above|"
    r"nearly|almost|measured|showed|reached|came|back|peak|peaked|nadir|low|high|fallen|"
    r"risen|approximately|around|again|last|today|discharge|admission|arrival|raised|"
    r"increased|reduced|lowered|decreased|cut|set|daily|a|an|the",
    re.I,
)
_ANOTHERS = 0.35  # of a number that seems to be of something else


def derived(
    asked: NoteQuestion, texts: Sequence[str], places: Sequence[Sequence[Place]]
) -> list[Derived]:
    """What two numbers of the best texts make, best first: differences, sums, totals a day.

    ``places`` are those of what is asked about, of each text.
    """
    if asked.kind not in _DERIVED_KINDS:
        return []
    values = [
        [each for each in values_of(text, some) if each[1] > 0][: 2 * _EACH]
        for text, some in zip(texts, places, strict=True)
    ]
    found = [one for n, some in enumerate(values) for one in _a_day(asked, n, some)]
    found += [
        one
        for n, some in enumerate(values)
        for m in range(n, len(values))
        for one in _pairs(asked, n, m, some, values[m])
    ]
    return sorted(found, key=lambda each: -each.worth)


def _a_day(asked: NoteQuestion, n: int, values: list[tuple[Quantity, float]]) -> Iterator[Derived]:
    """Doses times how often a day they are taken, the closest that follows."""
    if not _A_DAY.search(asked.text):
        return
    often = sorted((q for q, _ in values if q.unit == A_DAY), key=lambda q: q.start)
    for quantity, near in values:
        if quantity.unit in _NO_DOSE:
            continue
        times = next((q for q in often if 0 <= q.start - quantity.end <= _OFTEN_AFTER), None)
        if times is not None:
            total = quantity.number * times.number
            of = (quantity.number, times.number)
            yield Derived(total, quantity.unit, near, (n,), of)


def _pairs(
    asked: NoteQuestion,
    n: int,
    m: int,
    left: list[tuple[Quantity, float]],
    right: list[tuple[Quantity, float]],
) -> Iterator[Derived]:
    """Differences of two quantities of a unit, days between two dates, and sums if asked for."""
    summed = _SUM.search(asked.text) is not None
    for k, (one, near) in enumerate(left[:_EACH]):
        for other, close in right[k + 1 : _EACH] if n == m else right[:_EACH]:
            units = {one.unit, other.unit} - {""}
            if len(units) > 1 or units & _NO_PAIR:
                continue
            worth = math.sqrt(near * close) * (1.0 if n == m else _ACROSS)
            texts, of = tuple(sorted({n, m})), (one.number, other.number)
            if units == {"date"}:
                yield Derived(_days_between(one.number, other.number), "day", worth, texts, of)
            elif asked.kind is not AnswerKind.DURATION:
                unit = next(iter(units), "")
                yield Derived(round(abs(one.number - other.number), 3), unit, worth, texts, of)
                if summed:
                    yield Derived(round(one.number + other.number, 3), unit, worth, texts, of)


def _days_between(one: float, other: float) -> float:
    """Days from one day to another, as month * 100 + day, of years that are not known."""
    try:
        a, b = (date(2001, int(x // 100), int(x % 100)) for x in sorted((one, other)))
    except ValueError:
        return 0.0
    days = (b - a).days
    return float(min(days, 365 - days))


_NO_DOSE = frozenset({"date", "clock", A_DAY, A_WEEK, "day", "week", "month", "year", "hour"})
_NO_PAIR = frozenset({"clock", A_DAY, A_WEEK})
_OFTEN_AFTER = 25  # characters from a dose to how often it is taken


def plain(number: float) -> str:
    """``number`` as one writes it: 6 and not 6.0."""
    return f"{number:.4f}".rstrip("0").rstrip(".")


def work_out(
    asked: NoteQuestion, texts: Sequence[str], places: Sequence[Sequence[Place]]
) -> tuple[str, tuple[int, ...]] | None:
    """The number to be worked out, if it is plain how, and the places of the texts it is from."""
    pair = difference(texts[0]) if texts else None
    if pair is not None and not _SUM.search(asked.text) and not _A_DAY.search(asked.text):
        told = f"{plain(abs(pair[1] - pair[0]))} (from {plain(pair[0])} to {plain(pair[1])})"
        return told, (0,)
    best = next(iter(derived(asked, texts, places)), None)
    if best is None or best.worth < _PLAIN:
        return None
    unit = f" {best.unit}" if best.unit in ("mg", "mcg", "kg", "ml", "day") else ""
    return f"{plain(best.number)}{unit} (from {' and '.join(map(plain, best.of))})", best.texts


_PLAIN = 0.3  # worth from which a number is told as worked out
