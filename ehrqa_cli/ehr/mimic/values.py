"""MIMIC-IV's text fields as values: times (shifted), numbers, text.

The fields of hundreds of millions of rows go through here, so the converters are dictionaries
that fill themselves: a date, a clock time or a unit is checked once and then only looked up.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Generic, TypeVar

from ehrqa_cli.ehr.mimic.files import BadField

SHIFT_YEAR = 2100
_YEAR_DAYS = 365  # EHRSQL shifts by whole multiples of 365 days, not by calendar years
_MOST = 50_000  # values that a mapping remembers
_V = TypeVar("_V")
_DATES = 1_000_000
_CLOCK = re.compile(r" ([01]\d|2[0-3]):[0-5]\d:[0-5]\d")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
TIME = "a time YYYY-MM-DD HH:MM:SS"


class Dates(dict[str, str]):
    """``YYYY-MM-DD`` to the same date ``days`` earlier; raises ValueError for what is no date."""

    def __init__(self, days: int) -> None:
        super().__init__()
        self.days = days
        self._by = timedelta(days=days)

    def __missing__(self, text: str) -> str:
        if not _DATE.fullmatch(text):
            raise ValueError(text)
        shifted = str(date.fromisoformat(text) - self._by)
        if len(self) < _DATES:
            self[text] = shifted
        return shifted


class _Clocks(dict[str, str]):
    def __missing__(self, text: str) -> str:
        if not _CLOCK.fullmatch(text):
            raise ValueError(text)
        self[text] = text
        return text


CLOCKS = _Clocks()


class Filling(dict[str, _V], Generic[_V]):
    """Fields to values of ``make``, which raises ValueError for what is not ``wanted``."""

    def __init__(self, make: Callable[[str], _V], wanted: str = "") -> None:
        super().__init__()
        self.make = make
        self.wanted = wanted

    def __missing__(self, text: str) -> _V:
        if len(self) >= _MOST:
            self.clear()  # what is told again is told again soon
        value = self[text] = self.make(text)
        return value


Texts = Filling[str | None]


def plain_text(text: str) -> str | None:
    """A field trimmed, None when nothing is left."""
    return text.strip() or None


def lower_text(text: str) -> str | None:
    """The same in lower case."""
    return text.strip().lower() or None


def moment(dates: Dates, text: str, column: str) -> str:
    """A time, or a date (then at 00:00:00), shifted. Raises BadField."""
    try:
        if len(text) == 10:
            return dates[text] + " 00:00:00"
        return dates[text[:10]] + CLOCKS[text[10:]]
    except (ValueError, OverflowError):
        raise BadField(column, text, TIME) from None


def whole(text: str, column: str) -> int:
    """An integer. Raises BadField."""
    try:
        return int(text)
    except ValueError:
        raise BadField(column, text, "a whole number") from None


def first_shift(first_year: int) -> int:
    """By how many days EHRSQL moves a patient whose first visit is in ``first_year``."""
    return _YEAR_DAYS * (first_year - SHIFT_YEAR)


def birth(anchor_year: int, anchor_age: int, days: int) -> str:
    """The time of birth, shifted: EHRSQL puts it on day 198 of the year, MIMIC-IV has no day."""
    born = date(anchor_year - anchor_age, 1, 1) + timedelta(days=197 - days)
    return f"{born} 00:00:00"
