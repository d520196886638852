"""The demo's patients, visits and stays many at a time, as arrays.

What `demo_people` draws for one patient after another is drawn here for thousands at once, with
the same chances and the same vocabulary, so that a million admissions take minutes. The patients
are others (one stream of chance a part, not one a patient); a test holds the distributions of the
two together. Times are seconds since 1970; NEVER is no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ehrqa_cli.ehr.demo import people as one
from ehrqa_cli.ehr.demo.vocabulary import Vocabulary

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
NEVER = int(np.iinfo(np.int64).min)
MINUTE, HOUR, DAY = 60, 3600, 86_400
MOST_VISITS = 5
EMERGENCY = "emergency department"


def seconds(when: Any) -> int:
    """A time of the demo's as seconds since 1970."""
    return int(np.datetime64(when, "s").astype(np.int64))


NOW, YEAR_START = seconds(one.AS_OF), seconds(one._YEAR_START)


class Chance:
    """Chance for whole arrays: everything is made from ``Generator.random``, which is the same on
    every machine, with one stream for each part and purpose."""

    def __init__(self, seed: int, part: int, purpose: int) -> None:
        bits = np.random.Philox(key=[seed & (2**64 - 1), part << 16 | purpose])
        self.random = np.random.Generator(bits).random

    def below(self, share: float | Floats, count: int | tuple[int, ...]) -> Bools:
        """True for this share."""
        found: Bools = self.random(count) < share
        return found

    def between(self, low: float | Floats, high: float | Floats, count: int) -> Floats:
        """Evenly between two numbers."""
        drawn: Floats = low + (high - low) * self.random(count)
        return drawn

    def whole(self, low: int | Ints, high: int | Ints, count: int) -> Ints:
        """Whole numbers, both ends included."""
        drawn: Ints = low + (self.random(count) * (np.asarray(high) - low + 1)).astype(np.int64)
        return drawn

    def bell(self, mean: float | Floats, deviation: float | Floats, count: int) -> Floats:
        """As ``Dice.bell``: a sum of four even numbers."""
        total = self.random(count)
        for _ in range(3):
            total += self.random(count)
        drawn: Floats = mean + deviation * (total - 2.0) * 1.7320508
        return drawn


@dataclass(frozen=True)
class Patients:
    """Arrays over patients; ``chronic`` (patients, conditions)."""

    number: Ints
    male: Bools
    story: Ints
    age: Ints
    born: Ints
    died: Ints
    chronic: Bools
    insurance: Ints
    language: Ints
    marital: Ints

    @property
    def subject_id(self) -> Ints:
        """Their ids."""
        return one.FIRST_PATIENT + self.number


@dataclass(frozen=True)
class Visits:
    """Arrays over visits, a patient's together and in order; ``patient`` is an index."""

    patient: Ints
    number: Ints
    story: Ints
    start: Ints
    end: Ints  # NEVER for those who are in hospital now
    leaves: Ints  # when they end, later than now for those
    died: Bools
    admission_type: Ints
    admission_location: Ints
    discharge_location: Ints

    @property
    def hadm_id(self) -> Ints:
        """Their ids."""
        return one._FIRST_VISIT + self.number

    @property
    def until(self) -> Ints:
        """The end, or now."""
        return np.minimum(self.leaves, NOW)

    def __len__(self) -> int:
        return len(self.patient)


@dataclass(frozen=True)
class Stays:
    """Arrays over stays in a unit, in order; ``visit`` is an index, ``at`` the place in its order,
    ``intensive`` those with a stay_id."""

    visit: Ints
    at: Ints
    unit: Ints
    start: Ints
    end: Ints
    intensive: Bools


@dataclass(frozen=True)
class Names:
    """What codes stand for."""

    admission_type: tuple[str, ...] = (*one._URGENT, "surgical same day admission")
    admission_location: tuple[str, ...] = one._CAME
    discharge_location: tuple[str, ...] = (*one._WENT, "died")
    insurance: tuple[str, ...] = one._INSURANCE
    language: tuple[str, ...] = one._LANGUAGES
    marital: tuple[str, ...] = one._MARITAL


NAMES = Names()


class Crowd:
    """Draws the people of one part: ``first`` is the number of its first patient."""

    def __init__(self, words: Vocabulary, seed: int, part: int, first: int, count: int) -> None:
        self.words = words
        self.seed, self.part = seed, part
        self._first, self._count = first, count
        units = [unit for story in words.stories for unit in story.units]
        self.units = (EMERGENCY, *dict.fromkeys(units))
        self._weights = np.array([story.weight for story in words.stories], dtype=np.float64)
        self.ages = np.array([story.age for story in words.stories], dtype=np.int64)
        self._planned = np.array([story.planned for story in words.stories])
        self.patients, self.visits = self._people()

    def chance(self, purpose: int) -> Chance:
        """A stream of this part for one purpose."""
        return Chance(self.seed, self.part, purpose)

    def _people(self) -> tuple[Patients, Visits]:
        chance, count = self.chance(0), self._count
        male = chance.below(0.5, count)
        cumulative = np.cumsum(self._weights)
        story = np.searchsorted(cumulative, chance.random(count) * cumulative[-1], side="right")
        age = chance.whole(self.ages[story, 0], self.ages[story, 1], count)
        years = np.array([seconds(f"{one.AS_OF.year - a}-01-01") for a in range(0, 130)])
        born = years[age] + chance.whole(0, 364, count) * DAY
        insurance = chance.whole(0, len(NAMES.insurance) - 1, count)
        insurance[(age >= 65) & chance.below(0.8, count)] = NAMES.insurance.index("medicare")
        language = chance.whole(0, len(NAMES.language) - 1, count)
        marital = chance.whole(0, len(NAMES.marital) - 1, count)
        marital[age < 30] = NAMES.marital.index("single")
        shares = np.array([share for share, _ in self.words.chronic.values()])
        scale = np.where(age >= 50, 1.0, 0.3)[:, None]
        chronic = chance.below(shares * scale, (count, len(shares)))
        prostate = [code == "icd10|n400" for code in self.words.chronic]
        chronic[np.ix_(~male, np.array(prostate))] = False
        visits = self._visits(story, age)
        died = self._died(visits)
        number = self._first + np.arange(count, dtype=np.int64)
        return Patients(
            number, male, story, age, born, died, chronic, insurance, language, marital
        ), visits

    def _starts(self) -> Ints:
        """(patients, MOST_VISITS): when visits begin, as ``demo_people._starts``."""
        chance, count = self.chance(1), self._count
        out = np.full((count, MOST_VISITS), NEVER, dtype=np.int64)
        found = YEAR_START + chance.whole(0, 515_000, count) * MINUTE
        going = np.ones(count, dtype=np.bool_)
        for k in range(MOST_VISITS - 1):
            out[going, k] = found[going]
            going = going & chance.below(0.42, count)
            later = chance.between(25.0, 120.0, count) * DAY
            found = found + later.astype(np.int64) + chance.whole(0, 1439, count) * MINUTE
        last = NOW - (chance.between(6.0, 40.0, count) * HOUR).astype(np.int64)
        current = chance.below(one._CURRENT_SHARE, count)
        out[current[:, None] & (out >= last[:, None] - 40 * DAY)] = NEVER
        out[out > NOW - 3 * HOUR] = NEVER
        none = current | (out == NEVER).all(axis=1)
        out[none, (out != NEVER).sum(axis=1)[none]] = last[none]
        return np.where(out == NEVER, NEVER, out // MINUTE * MINUTE)

    def _visits(self, story: Ints, age: Ints) -> Visits:
        chance, starts = self.chance(2), self._starts()
        suits = (self.ages[:, 0] <= age[:, None]) & (age[:, None] <= self.ages[:, 1])
        again = np.cumsum(suits * self._weights, axis=1)
        until = np.full(self._count, NEVER, dtype=np.int64)
        alive = np.ones(self._count, dtype=np.bool_)
        rows: list[dict[str, npt.NDArray[Any]]] = []
        for k in range(MOST_VISITS):
            start = starts[:, k]
            free = (until == NEVER) | (start > until + DAY)
            who = np.flatnonzero((start != NEVER) & alive & free)
            count = len(who)
            drawn = (again[who] <= (chance.random(count) * again[who, -1])[:, None]).sum(axis=1)
            same = chance.below(0.45, count) if k else np.ones(count, dtype=np.bool_)
            row = self._visit(chance, who, np.where(same, story[who], drawn), start[who])
            row["number"] = (self._first + who) * 10 + k
            rows.append(row)
            until[who] = np.minimum(row["leaves"], NOW)
            alive[who] = ~row["died"] & (row["end"] != NEVER)
        every = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
        order = np.argsort(every["number"], kind="stable")
        return Visits(**{name: values[order] for name, values in every.items()})

    def _visit(
        self, chance: Chance, who: Ints, story: Ints, start: Ints
    ) -> dict[str, npt.NDArray[Any]]:
        count = len(who)
        usual = np.array([s.days for s in self.words.stories])[story]
        days = np.maximum(1.2, usual * chance.between(0.5, 1.9, count))
        leaves = (start + (days * DAY).astype(np.int64)) // MINUTE * MINUTE
        over = leaves <= NOW
        deadly = np.array([s.death for s in self.words.stories])[story]
        died = over & chance.below(deadly, count)
        went = chance.whole(0, len(one._WENT) - 1, count)
        kind = chance.whole(0, len(one._URGENT) - 1, count)
        came = chance.whole(0, len(one._CAME) - 1, count)
        planned = self._planned[story]
        return {
            "patient": who,
            "story": story,
            "start": start,
            "end": np.where(over, leaves, NEVER),
            "leaves": leaves,
            "died": died,
            "admission_type": np.where(planned, len(one._URGENT), kind),
            "admission_location": np.where(planned, one._CAME.index("physician referral"), came),
            "discharge_location": np.where(died, len(one._WENT), np.where(over, went, -1)),
        }

    def _died(self, visits: Visits) -> Ints:
        """When each patient died: at the end of the last visit, or some time later."""
        chance, count = self.chance(3), self._count
        last = np.full(count, -1, dtype=np.int64)
        last[visits.patient] = np.arange(len(visits))  # the last one stays
        end, died = visits.end[last], visits.died[last]
        later = end + (chance.between(3.0, 90.0, count) * DAY).astype(np.int64)
        after = ~died & (end != NEVER) & chance.below(0.05, count) & (later <= NOW)
        return np.where(died, end, np.where(after, later, NEVER))

    @cached_property
    def stays(self) -> Stays:
        """The units that visits go through."""
        chance, visits = self.chance(4), self.visits
        count = len(visits)
        stories = self.words.stories
        likely = np.array([s.icu for s in stories])[visits.story]
        unit = np.array([[self.units.index(u) for u in s.units] for s in stories])[visits.story]
        length = visits.leaves - visits.start
        intensive = chance.below(likely, count)
        first = visits.start + (length * chance.between(0.0, 0.1, count)).astype(np.int64)
        first = first // MINUTE * MINUTE
        share = chance.between(0.3, 0.75, count)
        moved = (first + ((visits.leaves - first) * share).astype(np.int64)) // MINUTE * MINUTE
        every = np.arange(count)
        early = intensive & (first > visits.start)
        zero = np.zeros(count, dtype=np.int64)
        legs = (
            (early, zero, visits.start, first, False),
            (intensive, unit[:, 0], first, moved, True),
            (~intensive, unit[:, 1], visits.start, visits.leaves, False),
            (intensive, unit[:, 1], moved, visits.leaves, False),
        )
        parts = [
            (every[m], np.full(m.sum(), k), u[m], s[m], e[m], np.full(m.sum(), icu))
            for k, (m, u, s, e, icu) in enumerate(legs)
        ]
        visit, rank, units, start, end, icu = (
            np.concatenate([p[i] for p in parts]) for i in range(6)
        )
        keep = start <= NOW
        order = np.lexsort((rank[keep], visit[keep]))
        visit, units, start, end, icu = (a[keep][order] for a in (visit, units, start, end, icu))
        begin = np.concatenate([[True], visit[1:] != visit[:-1]])
        firsts = np.flatnonzero(begin)
        at = np.arange(len(visit)) - np.repeat(firsts, np.diff([*firsts, len(visit)]))
        return Stays(visit, at, units, start, np.where(end <= NOW, end, NEVER), icu)
