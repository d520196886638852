"""Numbers with their units, so that "6 mo" is six months and no 6 of anything else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ehrqa_cli.notes.read.values import NUMBER, SPELT, spelt

_UNITS: dict[str, str] = {
    "hour": r"hours?|hrs?|h", "minute": r"minutes?|mins?", "day": r"days?|d", "night": r"nights?",
    "week": r"weeks?|wks?|wk", "month": r"months?|mos?", "year": r"years?|yrs?|y/?o",
    "mg": r"mg|milligrams?", "mcg": r"mcg|micrograms?|µg|ug", "g": r"grams?|gm|g",
    "kg": r"kg|kilograms?|kilos?", "lb": r"pounds?|lbs?|lb", "ml": r"ml|cc|milliliters?",
    "l": r"liters?|litres?|l", "unit": r"units?|u|iu", "cm": r"cm|centimeters?",
    "mm": r"mm|millimeters?", "percent": r"%|percent", "mmhg": r"mm ?hg", "meq": r"meq",
    "foot": r"feet|ft", "pack": r"ppd|packs?", "puff": r"puffs?",
    "times": r"times|x\b",
}  # fmt: skip
_UNIT = "|".join(
    f"(?P<{name}>{pattern})" for name, pattern in sorted(_UNITS.items(), key=lambda x: -len(x[1]))
)
_QUANTITY = re.compile(
    rf"(?:(?<![\w.,])|(?<=\bx))(?P<n>{NUMBER}|{SPELT})(?:\s?(?:-|\+)?\s?)(?:(?:{_UNIT})(?![a-z0-9]))?",
    re.I,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED_DAY = re.compile(
    rf"\b({'|'.join(_MONTHS)})[a-z]*\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?", re.I
)
_ISO_DAY = re.compile(r"\b\d{4}-(\d{1,2})-(\d{1,2})\b")
_SLASH_DAY = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?:/(?:\d{4}|\d\d))?(?![\d/%])")
_CLOCK = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")
_LEAST = {"night": "day"}
A_DAY, A_WEEK = "a day", "a week"  # units of how often
_OFTEN = tuple(
    (re.compile(rf"(?<![\w.])(?:{pattern})(?!\w)", re.I), float(number), unit)
    for pattern, number, unit in (
        (r"every other day|q\.?o\.?d\.?|qod", 0.5, A_DAY),
        (r"b\.?i\.?d\.?|twice (?:a day|daily|each day|per day)|two times (?:a day|daily)"
         r"|every (?:12|twelve) hours|q12h?(?:rs?|ours)?", 2, A_DAY),
        (r"t\.?i\.?d\.?|(?:three|3) times (?:a day|daily|each day|per day)|every (?:8|eight) hours"
         r"|q8h?(?:rs?|ours)?|with (?:each meal|every meal|meals)", 3, A_DAY),
        (r"q\.?i\.?d\.?|(?:four|4) times (?:a day|daily|each day|per day)|every (?:6|six) hours"
         r"|q6h?(?:rs?|ours)?", 4, A_DAY),
        (r"every (?:4|four) hours|q4h?(?:rs?|ours)?", 6, A_DAY),
        (r"(?:once )?(?:a |each |per |every )week|(?:once )?weekly", 1, A_WEEK),
        (r"(?:once (?:a day|daily)|daily|q\.?d\.?|every day|each day|q\.?h\.?s\.?|nightly"
         r"|at (?:bedtime|night)|every (?:night|morning|evening)|q ?[ap]m)", 1, A_DAY),
    )
)  # fmt: skip


@dataclass(frozen=True)
class Quantity:
    """A number, its unit in one form ("" where none follows), and where it stands in its text."""

    number: float
    unit: str
    start: int
    end: int


@lru_cache(maxsize=16384)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The quantities of ``text`` in their order; numbers in words too.

    Days of the year have the unit ``date`` and the number month * 100 + day, times of day ``clock``
    and hour * 100 + minute. "4/5" may be a date or not: it gives both.
    """
    found = [*_days(text), *_often(text)]
    taken = [(q.start, q.end) for q in found if "/" not in text[q.start : q.end]]
    for match in _QUANTITY.finditer(text):
        if any(a <= match.start("n") < b for a, b in taken):
            continue
        raw = match.group("n").lower().replace(",", "")
        number = spelt(raw)
        unit = match.lastgroup or "n"
        found.append(
            Quantity(
                float(raw) if number is None else number,
                "" if unit == "n" else _LEAST.get(unit, unit),
                *match.span(),
            )
        )
    return tuple(sorted(found, key=lambda q: (q.start, q.end)))


def _often(text: str) -> list[Quantity]:
    found: list[Quantity] = []
    for pattern, number, unit in _OFTEN:
        for match in pattern.finditer(text):
            if not any(q.start < match.end() and match.start() < q.end for q in found):
                found.append(Quantity(number, unit, *match.span()))
    return found


def _days(text: str) -> list[Quantity]:
    found = []
    for match in _NAMED_DAY.finditer(text):
        month = _MONTHS.index(match.group(1).lower()[:3]) + 1
        found.append((month, int(match.group(2)), match))
    for pattern in (_ISO_DAY, _SLASH_DAY):
        found += [(int(m.group(1)), int(m.group(2)), m) for m in pattern.finditer(text)]
    days = [
        Quantity(float(month * 100 + day), "date", *match.span())
        for month, day, match in found
        if 1 <= month <= 12 and 1 <= day <= 31
    ]
    clocks = [
        Quantity(float(int(m.group(1)) * 100 + int(m.group(2))), "clock", *m.span())
        for m in _CLOCK.finditer(text)
    ]
    return days + clocks


def agree(one: Quantity, other: Quantity) -> float:
    """1 for the same number and unit, less where a unit is not said, 0 for another."""
    if abs(one.number - other.number) > 1e-6:
        return 0.0
    if one.unit == other.unit:
        return 1.0
    return _UNSAID if not one.unit or not other.unit else 0.0


_UNSAID = 0.7
