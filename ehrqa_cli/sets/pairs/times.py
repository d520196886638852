"""Time filters: how people say when, and the filter of the form that it means.

The thirty-odd filters follow EHRSQL (Lee et al. 2022, appendix on time templates): absolute
dates, relative ones, dates within a relative year or month, and hospital or ICU visits.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ehrqa_cli.sets.data import table

_SAID = table("pairs/words/times")
_MONTHS: list[str] = _SAID["months"]
_NUMBERS: list[str] = table("pairs/words/slots")["numbers"]


def _contexts() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = dict(_SAID["weights"])
    admission = found["admission"]
    found |= {"group_icu": found["group"], "new": found["visit"]}
    return found | {
        "admission_rare": admission | {"none": 130},
        "admission_visit": admission | {"visit": 22},
    }


# Which kinds of filter each context draws, with weights.
TIME_WEIGHTS = _contexts()


@dataclass(frozen=True)
class Spoken:
    """What the question says, and the fragment of the form it means."""

    text: str
    form: str


# Values by the canonical name of their slot, and by the style that they are said in.
Styles = dict[str, Spoken]
Drawn = dict[str, Styles]
NOTHING = Spoken("", "")


def quoted(text: str) -> str:
    """A literal of the form; the values hold no quotation marks or backslashes."""
    return '"' + text.replace("\\", "").replace('"', "") + '"'


def duration(count: int, unit: str, rng: random.Random) -> Spoken:
    """``155 days`` and its literal ``"155 day"``."""
    plural = unit if count == 1 else unit + "s"
    form = quoted(f"{count} {unit}")
    roll = rng.random()
    if roll < 0.03 and count < len(_NUMBERS):
        return Spoken(f"{_NUMBERS[count]} {plural}", form)
    if roll < 0.05 and count == 1:
        return Spoken(f"{'an' if unit == 'hour' else 'a'} {unit}", form)
    if 0.05 < roll < 0.1:
        short = rng.choice(_SAID["short"][unit])
        return Spoken(f"{count}{short}" if len(short) == 1 else f"{count} {short}", form)
    return Spoken(f"{count} {plural}", form)


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
            "none": self._none,
            "in_year": self._in_year,
            "since_year": self._since_year,
            "in_month": lambda: self._dated("in", "in_time"),
            "since_month": lambda: self._dated("since", "since_date"),
            "in_day": lambda: self._dated("in", "on_day", to_the_day=True),
            "since_day": lambda: self._dated("since", "since_day", to_the_day=True),
            "before": self._before,
            "since_md": self._since_md,
            "before_md": self._before_md,
            "since_ago": self._since_ago,
            "until_ago": self._until_ago,
            "at_month": self._at_month,
            "at_md": self._at_md,
            "at_day": self._at_day,
            "stamp": self._stamp,
            "visit": lambda: self.visit(rng.choice(("first", "last", "last", "first", "current"))),
            "icu": lambda: self.icu(rng.choice(("first", "last", "last", "first", "current"))),
            "rare_visit": lambda: self.visit(rng.choice(("second", "second_last"))),
            **{name: self._relative(name) for name in _SAID["relative"]},
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

    def _say(self, name: str, /, *values: object, **named: object) -> str:
        """One of the ways to say it, with the values in it."""
        return str(self._rng.choice(_SAID[name])).format(*values, **named)

    def _none(self) -> Spoken:
        return Spoken(self._say("any_time"), "") if self._rng.random() < 0.05 else NOTHING

    def _stay(self, order: str, place: str) -> str:
        rng = self._rng
        if order == "current" and rng.random() < 0.2:
            return str(rng.choice(_SAID["now_in"][place]))
        preposition = self._say("stay_preposition")
        if preposition in ("for", "from", "at"):
            preposition = rng.choice(("on", "during", "in", preposition))
        noun = rng.choice(_SAID["stay"][place])
        name = f"{place} {noun}"
        if place == "hospital" and rng.random() < 0.18:
            name = self._say("stay_named")
        elif rng.random() < 0.06:
            name = self._say("icu_named")
            name = name if place == "ICU" else f"hospital {noun}"
        if order == "current":
            return f"{preposition} {self._say('stay_now')} {name}"
        nth = rng.choice(_SAID["nth"][order])
        if rng.random() < 0.05:
            return f"{preposition} {nth} {name}"
        return f"{preposition} {self._say('stay_owner')} {nth} {name}"

    def _relative(self, name: str) -> Callable[[], Spoken]:
        return lambda: Spoken(self._rng.choice(_SAID["relative"][name]), name)

    def _in_year(self) -> Spoken:
        year = self.year()
        return Spoken(self._say("in_year", year), f'in "{year}"')

    def _since_year(self) -> Spoken:
        year = self.year()
        return Spoken(self._say("since_year", year), f'since "{year}"')

    def month_text(self, year: int, month: int) -> str:
        """``07/2100``, in one of three in another of the usual spellings."""
        if self._rng.random() < 0.58:
            return f"{month:02d}/{year}"
        name = _MONTHS[month - 1]
        return self._say("month", y=year, m=month, name=name, lower=name.lower())

    def day_text(self, year: int, month: int, day: int) -> str:
        """``07/23/2100``, in one of three in another of the usual spellings."""
        if self._rng.random() < 0.58:
            return f"{month:02d}/{day:02d}/{year}"
        iso = f"{year}-{month:02d}-{day:02d}"
        return self._rng.choice(
            (iso, iso, f"{self.month_day(month, day)}, {year}", f"{month}/{day}/{year}",
             f"{self.month_day(month, day)} {year}", f"{self.month_day(month, day)} {year}",
             f"{year}/{month:02d}/{day:02d}")
        )  # fmt: skip

    def month_day(self, month: int, day: int) -> str:
        """``July 23`` and its like, the month in letters."""
        name = _MONTHS[month - 1]
        name = self._rng.choice((name, name, name[:3]))
        return self._say("month_day", name=name, day=day, nth=_nth(day))

    def _date(self) -> tuple[int, int, int]:
        return self.year(), self._rng.randint(1, 12), self._rng.randint(1, 28)

    def _dated(self, name: str, said: str, *, to_the_day: bool = False) -> Spoken:
        """A filter by a month or a day, in one of the ways that ``said`` names."""
        year, month, day = self._date()
        how = self._rng.choice(_SAID[said])
        if to_the_day:
            text, iso = self.day_text(year, month, day), f"{year}-{month:02d}-{day:02d}"
        else:
            text, iso = self.month_text(year, month), f"{year}-{month:02d}"
        return Spoken(how.format(text), f'{name} "{iso}"')

    def _month_day_alone(self) -> tuple[str, str]:
        """A day of this year, said without the year, and its literal (months: the number)."""
        _, month, day = self._date()
        text = self.month_day(month, day)
        if self._rng.random() < 0.3:
            text = self._rng.choice((f"{month:02d}/{day:02d}", f"{month}/{day}"))
        return text, f'"{month:02d}-{day:02d}"'

    def _since_md(self) -> Spoken:
        if self._rng.random() < 0.3:
            month = self._rng.randint(1, 12)
            return Spoken(self._say("since_month", _MONTHS[month - 1]), f"since {month}")
        text, form = self._month_day_alone()
        return Spoken(self._say("since_md", text), f"since {form}")

    def _before_md(self) -> Spoken:
        if self._rng.random() < 0.3:
            month = self._rng.randint(1, 12)
            said = self._say("before_month", _MONTHS[month - 1])
            return Spoken(said, f"before_date {month}")
        text, form = self._month_day_alone()
        word = self._rng.choice(_SAID["before_md"])
        if "/" not in text:
            word = self._rng.choice((word, "prior to {}", "ahead of {}"))
        return Spoken(word.format(text), f"before_date {form}")

    def _before(self) -> Spoken:
        year, month, day = self._date()
        word = self._rng.choice(_SAID["before"])
        roll = self._rng.random()
        if roll < 0.4:
            return Spoken(word.format(year), f'before_date "{year}"')
        if roll < 0.7:
            text = self.month_text(year, month)
            return Spoken(word.format(text), f'before_date "{year}-{month:02d}"')
        text = self.day_text(year, month, day)
        return Spoken(word.format(text), f'before_date "{year}-{month:02d}-{day:02d}"')

    def _since_ago(self) -> Spoken:
        if self._rng.random() < 0.05:
            unit = self._rng.choice(("year", "year", "month", "week", "day", "hour"))
            return Spoken(self._say("past_one", unit), f'since_ago "1 {unit}"')
        spoken = duration(*random_duration(self._rng), self._rng)
        if self._rng.random() < 0.5:
            return Spoken(f"since {spoken.text} ago", f"since_ago {spoken.form}")
        return Spoken(self._say("past", spoken.text), f"since_ago {spoken.form}")

    def _until_ago(self) -> Spoken:
        spoken = duration(*random_duration(self._rng), self._rng)
        return Spoken(self._say("until_ago", spoken.text), f"until_ago {spoken.form}")

    def _at_month(self) -> Spoken:
        which, month = self._rng.choice(("this", "this", "last")), self._rng.randint(1, 12)
        form = f"{which}_year at {month}"
        roll = self._rng.random()
        if roll > 0.4:
            return Spoken(self._say("in_time", f"{month:02d}/{which} year"), form)
        name = _MONTHS[month - 1]
        if roll < 0.22 and which == "this":
            return Spoken(self._say("this_month_name", name), f"in {month}")
        return Spoken(self._say("at_month", m=name, w=which), form)

    def _at_md(self) -> Spoken:
        which = self._rng.choice(("this", "this", "this", "last"))
        month, day = self._rng.randint(1, 12), self._rng.randint(1, 28)
        form = f'{which}_year at "{month:02d}-{day:02d}"'
        roll = self._rng.random()
        if roll > 0.4:
            return Spoken(f"on {month:02d}/{day:02d}/{which} year", form)
        text = self.month_day(month, day)
        if roll < 0.25 and which == "this":
            text = text if roll < 0.2 else f"{month}/{day}"
            return Spoken(f"on {text}", f'in "{month:02d}-{day:02d}"')
        return Spoken(f"on {text} {self._rng.choice(('of ', ''))}{which} year", form)

    def _at_day(self) -> Spoken:
        which, day = self._rng.choice(("this", "last")), self._rng.randint(1, 31)
        form = f"{which}_month at {day}"
        if self._rng.random() < 0.2:
            return Spoken(self._say("at_day", n=_nth(day), w=which), form)
        word = self._rng.choice(("on", "on", "on", "in"))
        return Spoken(f"{word} {which} month/{day:02d}", form)

    def _stamp(self) -> Spoken:
        year, month, day = self._date()
        hour = self._rng.randint(0, 23)
        minute = self._rng.choice((0, 0, self._rng.randint(0, 59)))
        stamp = f"{year}-{month:02d}-{day:02d} {hour:02d}:{minute:02d}:00"
        return Spoken(f"at {stamp}", f"in {quoted(stamp)}")


def _nth(day: int) -> str:
    if 10 < day < 14:
        return f"{day}th"
    return f"{day}{({1: 'st', 2: 'nd', 3: 'rd'}).get(day % 10, 'th')}"
