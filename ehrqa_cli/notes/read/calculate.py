"""Small sums over the numbers and dates of evidence: days between, differences, totals a day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from ehrqa_cli.contracts.notes import Line
from ehrqa_cli.notes.read.question import Asked, Kind
from ehrqa_cli.notes.read.values import full_dates, numbers

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
_TIMES_A_DAY = (
    (r"\b(?:b\.?i\.?d|twice (?:a day|daily)|two times|every 12 hours|q12h)\b", 2),
    (r"\b(?:t\.?i\.?d|three times (?:a day|daily)|every 8 hours|q8h)\b", 3),
    (r"\b(?:q\.?i\.?d|four times (?:a day|daily)|every 6 hours|q6h)\b", 4),
    (r"\b(?:every 4 hours|q4h)\b", 6),
)
_SUM = re.compile(r"\b(?:total|combined|altogether|in all|sum|together)\b", re.I)
_A_DAY = re.compile(r"\b(?:a|per|each|every) day\b|\bdaily\b", re.I)
_ACROSS = 0.6  # what numbers of two texts count against those of one
_LIMIT = 12  # numbers of the evidence that are paired


def stay_days(asked: Asked, lines: Sequence[Line]) -> tuple[int, tuple[Line, ...]] | None:
    """The days between the dates of admission and discharge of a note, and their lines.

    None when the question does not ask for them, or the lines do not give both of one note.
    """
    if not _STAY.search(asked.text):
        return None
    for note_id in dict.fromkeys(line.note_id for line in lines):
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


def times_a_day(text: str) -> int | None:
    """How often a day a medication is taken by what ``text`` says; None where it does not say."""
    return next((n for pattern, n in _TIMES_A_DAY if re.search(pattern, text, re.I)), None)


def a_day(asked: Asked, text: str) -> float | None:
    """A dose times how often it is taken, where the question asks what that is in a day."""
    often = times_a_day(text)
    dose = re.search(r"(\d+(?:\.\d+)?)\s?(?:mg|mcg|g|units?|ml|meq|puffs?)\b", text, re.I)
    if often is None or dose is None or not _A_DAY.search(asked.text):
        return None
    return float(dose.group(1)) * often


def derived(asked: Asked, texts: Sequence[str]) -> dict[float, float]:
    """The numbers that two numbers of ``texts`` make by a sum, a difference or a product.

    Each with how near it is: 1 for two numbers of one text, less for two texts. Best texts first.
    """
    found: dict[float, float] = {}
    if asked.kind is not Kind.ARITHMETIC:
        return found
    given = [(n, k) for k, text in enumerate(texts) for n in numbers(text)][:_LIMIT]
    for (a, first), (b, second) in combinations(given, 2):
        worth = (1.0 if first == second else _ACROSS) / (1 + min(first, second))
        made = (abs(a - b),) if not _SUM.search(asked.text) else (a + b, a * b, abs(a - b))
        for number in made:
            key = round(number, 2)
            found[key] = max(found.get(key, 0.0), worth)
    return {number: worth for number, worth in found.items() if number}


def plain(number: float) -> str:
    """``number`` as one writes it: 6 and not 6.0."""
    return f"{number:.4f}".rstrip("0").rstrip(".")


def work_out(asked: Asked, texts: Sequence[str]) -> str | None:
    """The number to be worked out from the best lines, if it is plain how."""
    for text in texts[:1]:
        total = a_day(asked, text)
        if total is not None:
            return plain(total)
    pair = difference(texts[0]) if texts else None
    if pair is not None and not _SUM.search(asked.text):
        return f"{plain(abs(pair[1] - pair[0]))} (from {plain(pair[0])} to {plain(pair[1])})"
    return None
