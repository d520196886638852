"""The demo EHR's imaginary patients and their hospital visits.

Everything about a patient is drawn from one stream of chance that is seeded with the patient's
number, so whatever is made for a patient later (chest X-rays, notes) draws from a stream of its
own and leaves the rest as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import TypeVar

from ehrqa_cli.ehr.demo.vocabulary import Story, Vocabulary, vocabulary

AS_OF = datetime(2100, 12, 31, 23, 59)
FIRST_PATIENT = 10_000_001
FIRST_VISIT = 20_000_001
_FIRST_STAY = 30_000_001
YEAR_START = datetime(2100, 1, 1)
_CURRENT_SHARE = 0.05
_T = TypeVar("_T")

_INSURANCE = ("medicare", "medicaid", "private", "other")
_LANGUAGES = ("english", "english", "english", "english", "english", "spanish", "chinese", "?")
_MARITAL = ("married", "married", "single", "widowed", "divorced")
_URGENT = (
    "ew emer.", "ew emer.", "ew emer.", "urgent", "observation admit", "direct emer.",
)  # fmt: skip
_CAME = ("emergency room", "emergency room", "transfer from hospital", "physician referral")
_WENT = (
    "home", "home", "home", "home health care", "home health care", "skilled nursing facility",
    "rehab", "chronic/long term acute care", "against advice",
)  # fmt: skip


class Dice:
    """Chance that gives the same on every machine: all is made from ``Random.random``."""

    def __init__(self, seed: int, stream: str) -> None:
        self._next = Random(f"{seed}:{stream}").random

    def chance(self, share: float) -> bool:
        """True for this share of calls."""
        return self._next() < share

    def between(self, low: float, high: float) -> float:
        """Evenly between two numbers."""
        return low + (high - low) * self._next()

    def whole(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + int(self._next() * (high - low + 1))

    def pick(self, options: Sequence[_T]) -> _T:
        """One of them."""
        return options[int(self._next() * len(options))]

    def bell(self, mean: float, deviation: float) -> float:
        """About normal: a sum of four even numbers, never further off than 3.5 deviations."""
        total = self._next() + self._next() + self._next() + self._next()
        return mean + deviation * (total - 2.0) * 1.7320508

    def weighted(self, stories: Sequence[Story]) -> Story:
        """A story, by weight."""
        left = self._next() * sum(s.weight for s in stories)
        for story in stories:
            left -= story.weight
            if left < 0:
                return story
        return stories[-1]


@dataclass(frozen=True)
class Stay:
    """Time in one unit. ``stay_id`` when it is an intensive care; ``end`` None: still there."""

    unit: str
    start: datetime
    end: datetime | None
    stay_id: int | None = None


@dataclass(frozen=True)
class Visit:
    """One hospital visit. ``end`` is None for a patient who is in hospital now."""

    hadm_id: int
    story: Story
    start: datetime
    end: datetime | None
    died: bool
    facts: dict[str, str | None] = field(hash=False)
    stays: tuple[Stay, ...] = ()

    @property
    def until(self) -> datetime:
        """The end, or now."""
        return self.end or AS_OF


@dataclass(frozen=True)
class Person:
    """One patient with all visits, the earliest first."""

    subject_id: int
    gender: str
    born: datetime
    died: datetime | None
    chronic: tuple[str, ...]
    visits: tuple[Visit, ...]

    def age(self, at: datetime) -> int:
        """Age in years, as MIMIC-IV counts it: by the year alone."""
        return at.year - self.born.year


def minute(when: datetime) -> datetime:
    """Without seconds."""
    return when.replace(second=0, microsecond=0)


def _stays(dice: Dice, story: Story, number: int, start: datetime, end: datetime) -> list[Stay]:
    icu, ward = story.units
    if not dice.chance(story.icu):
        return [Stay(ward, start, end)]
    first = minute(start + (end - start) * dice.between(0.0, 0.1))
    share = dice.between(0.3, 0.75)
    moved = minute(first + (end - first) * share)
    out = [Stay("emergency department", start, first)] if first > start else []
    return [*out, Stay(icu, first, moved, _FIRST_STAY + number), Stay(ward, moved, end)]


def _clip(stays: list[Stay]) -> tuple[Stay, ...]:
    """What has happened by now; a stay that goes on has no end."""
    kept = [s for s in stays if s.start <= AS_OF]
    return tuple(
        Stay(s.unit, s.start, s.end if s.end and s.end <= AS_OF else None, s.stay_id) for s in kept
    )


def _visit(dice: Dice, story: Story, number: int, start: datetime, facts: list[str]) -> Visit:
    days = max(1.2, story.days * dice.between(0.5, 1.9))
    end = minute(start + timedelta(days=days))
    died = end <= AS_OF and dice.chance(story.death)
    insurance, language, marital = facts
    went = "died" if died else dice.pick(_WENT)
    said: dict[str, str | None] = {
        "admission_type": "surgical same day admission" if story.planned else dice.pick(_URGENT),
        "admission_location": "physician referral" if story.planned else dice.pick(_CAME),
        "discharge_location": went if end <= AS_OF else None,
        "insurance": insurance,
        "language": language,
        "marital_status": marital,
    }
    stays = _clip(_stays(dice, story, number, start, end))
    closed = end if end <= AS_OF else None
    return Visit(FIRST_VISIT + number, story, start, closed, died, said, stays)


def _chronic(dice: Dice, words: Vocabulary, age: int, gender: str) -> tuple[str, ...]:
    scale = 1.0 if age >= 50 else 0.3
    found = [code for code, (share, _) in words.chronic.items() if dice.chance(share * scale)]
    return tuple(c for c in found if gender == "m" or c != "icd10|n400")


def _starts(dice: Dice, current: bool) -> list[datetime]:
    """When the visits begin: one to four of them, weeks apart; a current one in the last days."""
    out = [YEAR_START + timedelta(minutes=dice.whole(0, 515_000))]
    while dice.chance(0.42) and len(out) < 4:
        out.append(out[-1] + timedelta(days=dice.between(25, 120), minutes=dice.whole(0, 1439)))
    last = AS_OF - timedelta(hours=dice.between(6, 40))
    if current:
        out = [s for s in out if s < last - timedelta(days=40)] + [last]
    return [minute(s) for s in out if s <= AS_OF - timedelta(hours=3)] or [minute(last)]


def person(seed: int, number: int) -> Person:
    """Patient ``number`` (from 0) of the demo with this seed."""
    words = vocabulary()
    dice = Dice(seed, f"patient {number}")
    gender = dice.pick(("f", "m"))
    story = dice.weighted(words.stories)
    age = dice.whole(*story.age)
    born = datetime(AS_OF.year - age, 1, 1) + timedelta(days=dice.whole(0, 364))
    facts = [
        "medicare" if age >= 65 and dice.chance(0.8) else dice.pick(_INSURANCE),
        dice.pick(_LANGUAGES),
        "single" if age < 30 else dice.pick(_MARITAL),
    ]
    chronic = _chronic(dice, words, age, gender)
    visits: list[Visit] = []
    for i, start in enumerate(_starts(dice, dice.chance(_CURRENT_SHARE))):
        if visits and start <= visits[-1].until + timedelta(days=1):
            continue
        again = [s for s in words.stories if s.age[0] <= age <= s.age[1]]
        why = story if i == 0 or dice.chance(0.45) else dice.weighted(again)
        visits.append(_visit(dice, why, number * 10 + i, start, facts))
        if visits[-1].died or visits[-1].end is None:
            break
    died = visits[-1].end if visits[-1].died else None
    if died is None and visits[-1].end is not None and dice.chance(0.05):
        later = visits[-1].end + timedelta(days=dice.between(3, 90))
        died = later if later <= AS_OF else None
    return Person(FIRST_PATIENT + number, gender, born, died, chronic, tuple(visits))


def people(seed: int, patients: int) -> list[Person]:
    """All patients of the demo, in order of their ids."""
    return [person(seed, number) for number in range(patients)]
