"""Time filters: how people say when, and the filter of the form that it means.

The thirty-odd filters follow EHRSQL (Lee et al. 2022, appendix on time templates): absolute
dates, relative ones, dates within a relative year or month, and hospital or ICU visits.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August",
    "September", "October", "November", "December",
)  # fmt: skip

_IN = ("in", "in", "in", "in", "in", "during", "throughout", "within")
_SINCE = ("since", "since", "since", "since", "since", "since", "from", "starting from")
_PAST = (
    "in the past {}", "in the last {}", "over the last {}", "over the past {}",
    "within the last {}", "within the past {}", "during the past {}", "during the last {}",
    "the past {}", "for the past {}",
)  # fmt: skip
_RELATIVE = {
    "this_year": (
        "this year", "this year", "this year", "in this year", "during this year",
        "throughout this year", "so far this year", "in the current year", "within this year",
        "this calendar year",
    ),
    "last_year": (
        "last year", "last year", "last year", "in the last year", "during the last year",
        "in the previous year", "during the previous year", "the previous year",
        "throughout last year", "the year before this one", "in the past year",
    ),
    "this_month": (
        "this month", "this month", "this month", "in this month", "during this month",
        "in the current month", "so far this month", "throughout this month", "within this month",
    ),
    "last_month": (
        "last month", "last month", "last month", "in the last month", "during the last month",
        "in the previous month", "during the previous month", "the previous month",
        "on last month", "throughout last month",
    ),
    "today": ("today", "today", "today", "on today", "so far today", "during today"),
    "yesterday": ("yesterday", "yesterday", "yesterday", "on yesterday", "during yesterday"),
}  # fmt: skip
_NTH = {
    "first": ("first", "first", "first", "first", "initial", "very first", "earliest"),
    "last": ("last", "last", "last", "last", "most recent", "latest", "final"),
    "second": ("second", "2nd"),
    "second_last": ("second to last", "second-to-last", "penultimate"),
}


@dataclass(frozen=True)
class Spoken:
    """What the question says, and the fragment of the form it means."""

    text: str
    form: str


NOTHING = Spoken("", "")


def quoted(text: str) -> str:
    """A literal of the form; the values hold no quotation marks or backslashes."""
    return '"' + text.replace("\\", "").replace('"', "") + '"'


def duration(count: int, unit: str, rng: random.Random) -> Spoken:
    """``155 days`` and its literal ``"155 day"``."""
    plural = unit if count == 1 else unit + "s"
    if rng.random() < 0.01 and count < len(_SMALL):
        return Spoken(f"{_SMALL[count]} {plural}", quoted(f"{count} {unit}"))
    return Spoken(f"{count} {plural}", quoted(f"{count} {unit}"))


_SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def random_duration(rng: random.Random) -> tuple[int, str]:
    """A count and unit of time back from now; days mostly, as EHRSQL has them."""
    roll = rng.random()
    if roll < 0.45:
        return rng.choice((rng.randint(2, 400), rng.randint(1, 60))), "day"
    if roll < 0.75:
        return rng.randint(1, 30), "month"
    if roll < 0.92:
        return rng.choice((1, 1, 1, 1, 2, 3, 4, 5)), "year"
    if roll < 0.97:
        return rng.randint(1, 12), "week"
    return rng.randint(2, 72), "hour"


class TimeSampler:
    """Draws time filters; ``years`` are those of the EHR's admissions."""

    def __init__(self, years: tuple[int, ...], rng: random.Random) -> None:
        self._years = years
        self._rng = rng
        self._makers: dict[str, Callable[[], Spoken]] = {
            "none": lambda: NOTHING,
            "in_year": self._in_year,
            "since_year": self._since_year,
            "in_month": self._in_month,
            "since_month": self._since_month,
            "in_day": self._in_day,
            "since_day": self._since_day,
            "before": self._before,
            "since_ago": self._since_ago,
            "until_ago": self._until_ago,
            "at_month": self._at_month,
            "at_md": self._at_md,
            "at_day": self._at_day,
            "stamp": self._stamp,
            "visit": lambda: self.visit(rng.choice(("first", "last", "last", "first", "current"))),
            "icu": lambda: self.icu(rng.choice(("first", "last", "last", "first", "current"))),
            "rare_visit": lambda: self.visit(rng.choice(("second", "second_last"))),
            **{name: self._relative(name) for name in _RELATIVE},
        }

    def draw(self, kind: str) -> Spoken:
        """One filter of this kind. Raises KeyError for an unknown one."""
        return self._makers[kind]()

    def year(self) -> int:
        """A year of the EHR, seldom one just beyond it."""
        if self._rng.random() < 0.08:
            return self._rng.choice(self._years) + self._rng.choice((-1, 1))
        return self._rng.choice(self._years)

    def visit(self, order: str) -> Spoken:
        """A hospital visit."""
        return Spoken(self._stay(order, "hospital"), f"visit {order}")

    def icu(self, order: str) -> Spoken:
        """An ICU visit."""
        return Spoken(self._stay(order, "ICU"), f"icu {order}")

    def _stay(self, order: str, place: str) -> str:
        rng = self._rng
        preposition = rng.choice(("on", "on", "during", "in", "during", "for", "from", "at"))
        if preposition in ("for", "from", "at"):
            preposition = rng.choice(("on", "during", "in", preposition))
        noun = rng.choice(
            ("visit", "visit", "visit", "encounter", "stay", "stay", "admission")
            if place == "hospital"
            else ("visit", "visit", "stay", "stay", "stay", "encounter", "admission")
        )
        if place == "hospital" and rng.random() < 0.06:
            name = "hospitalization"
        elif place == "hospital" and rng.random() < 0.04:
            name = "admission"
        else:
            name = f"{place} {noun}"
        if order == "current":
            which = rng.choice(
                ("this", "this", "the current", "the current", "their current", "the present",
                 "the ongoing", "his current", "her current")
            )  # fmt: skip
            return f"{preposition} {which} {name}"
        owner = rng.choice(("the", "the", "the", "the", "their", "their", "his", "her", "its"))
        return f"{preposition} {owner} {rng.choice(_NTH[order])} {name}"

    def _relative(self, name: str) -> Callable[[], Spoken]:
        return lambda: Spoken(self._rng.choice(_RELATIVE[name]), name)

    def _in_year(self) -> Spoken:
        year = self.year()
        word = self._rng.choice(
            (*_IN, "in the year", "in the course of", "during the year", "for", "in year")
        )
        return Spoken(f"{word} {year}", f'in "{year}"')

    def _since_year(self) -> Spoken:
        year = self.year()
        text = self._rng.choice(
            (*(f"{word} {year}" for word in _SINCE), f"from {year} onwards", f"from {year} on",
             f"since the year {year}", f"since the beginning of {year}", f"{year} onwards",
             f"starting in {year}")
        )  # fmt: skip
        if text.startswith("from ") and "on" not in text.split():
            text = f"since {year}"
        return Spoken(text, f'since "{year}"')

    def month_text(self, year: int, month: int) -> str:
        """``07/2100``, seldom in another of the usual spellings."""
        roll = self._rng.random()
        if roll < 0.62:
            return f"{month:02d}/{year}"
        name = MONTHS[month - 1]
        return self._rng.choice(
            (f"{year}-{month:02d}", f"{name} {year}", f"{name} {year}", f"{name} of {year}",
             f"{name[:3]} {year}", f"{name.lower()} {year}")
        )  # fmt: skip

    def day_text(self, year: int, month: int, day: int) -> str:
        """``07/23/2100``, seldom in another of the usual spellings."""
        roll = self._rng.random()
        if roll < 0.62:
            return f"{month:02d}/{day:02d}/{year}"
        name = MONTHS[month - 1]
        return self._rng.choice(
            (f"{year}-{month:02d}-{day:02d}", f"{year}-{month:02d}-{day:02d}",
             f"{name} {day}, {year}", f"{day} {name} {year}", f"{name[:3]} {day}, {year}",
             f"{day} {name[:3]} {year}", f"{name} {day} {year}")
        )  # fmt: skip

    def _date(self) -> tuple[int, int, int]:
        return self.year(), self._rng.randint(1, 12), self._rng.randint(1, 28)

    def _in_month(self) -> Spoken:
        year, month, _ = self._date()
        return Spoken(
            f"{self._rng.choice(_IN)} {self.month_text(year, month)}", f'in "{year}-{month:02d}"'
        )

    def _since_month(self) -> Spoken:
        year, month, _ = self._date()
        text = self.month_text(year, month)
        said = self._rng.choice((*["since"] * 8, "starting", "starting from", "from * onwards"))
        said = said.replace("*", text) if "*" in said else f"{said} {text}"
        return Spoken(said, f'since "{year}-{month:02d}"')

    def _in_day(self) -> Spoken:
        year, month, day = self._date()
        word = self._rng.choice(("on", "on", "on", "on", "on the day of", "for"))
        return Spoken(
            f"{word} {self.day_text(year, month, day)}", f'in "{year}-{month:02d}-{day:02d}"'
        )

    def _since_day(self) -> Spoken:
        year, month, day = self._date()
        text = self.day_text(year, month, day)
        said = self._rng.choice((*["since"] * 8, "starting", "starting from", "from * onwards"))
        said = said.replace("*", text) if "*" in said else f"{said} {text}"
        return Spoken(said, f'since "{year}-{month:02d}-{day:02d}"')

    def _before(self) -> Spoken:
        year, month, day = self._date()
        word = self._rng.choice(("before", "before", "prior to", "until before"))
        roll = self._rng.random()
        if roll < 0.4:
            return Spoken(f"{word} {year}", f'before_date "{year}"')
        if roll < 0.7:
            text = self.month_text(year, month)
            return Spoken(f"{word} {text}", f'before_date "{year}-{month:02d}"')
        text = self.day_text(year, month, day)
        return Spoken(f"{word} {text}", f'before_date "{year}-{month:02d}-{day:02d}"')

    def _since_ago(self) -> Spoken:
        spoken = duration(*random_duration(self._rng), self._rng)
        if self._rng.random() < 0.55:
            return Spoken(f"since {spoken.text} ago", f"since_ago {spoken.form}")
        text = self._rng.choice(_PAST).format(spoken.text)
        return Spoken(text, f"since_ago {spoken.form}")

    def _until_ago(self) -> Spoken:
        spoken = duration(*random_duration(self._rng), self._rng)
        word = self._rng.choice(("until", "until", "up to", "before", "more than"))
        return Spoken(f"{word} {spoken.text} ago", f"until_ago {spoken.form}")

    def _at_month(self) -> Spoken:
        which, month = self._rng.choice(("this", "this", "last")), self._rng.randint(1, 12)
        form = f"{which}_year at {month}"
        if self._rng.random() < 0.06:
            return Spoken(f"in {MONTHS[month - 1]} of {which} year", form)
        return Spoken(f"{self._rng.choice(_IN)} {month:02d}/{which} year", form)

    def _at_md(self) -> Spoken:
        which = self._rng.choice(("this", "this", "this", "last"))
        month, day = self._rng.randint(1, 12), self._rng.randint(1, 28)
        form = f'{which}_year at "{month:02d}-{day:02d}"'
        if self._rng.random() < 0.06:
            return Spoken(f"on {MONTHS[month - 1]} {day} of {which} year", form)
        return Spoken(f"on {month:02d}/{day:02d}/{which} year", form)

    def _at_day(self) -> Spoken:
        which, day = self._rng.choice(("this", "last")), self._rng.randint(1, 31)
        form = f"{which}_month at {day}"
        word = self._rng.choice(("on", "on", "on", "in"))
        return Spoken(f"{word} {which} month/{day:02d}", form)

    def _stamp(self) -> Spoken:
        year, month, day = self._date()
        hour = self._rng.randint(0, 23)
        minute = self._rng.choice((0, 0, self._rng.randint(0, 59)))
        stamp = f"{year}-{month:02d}-{day:02d} {hour:02d}:{minute:02d}:00"
        return Spoken(f"at {stamp}", f"in {quoted(stamp)}")
