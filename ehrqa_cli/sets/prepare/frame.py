"""The time frame: each patient's records are moved by a number of days of their own.

As EHRXQA (Bae et al. 2023, section 4.1.1 and appendix C.1.1): a patient's first study comes to a
random day of the frame, what lies between two records stays as it was, and what happens after the
frame's end, which is now, is left out. Whole days, so that the time of day stays. Who is in
hospital now is chosen rather than left to chance: their shift is drawn among those that put now
into one of their visits, everybody else's among those that do not.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from ehrqa_cli.sets.prepare.images import Study

Days = tuple[int, int]
"""A first and a last shift, in days."""
_DAY = 86_400


@dataclass(frozen=True)
class Visit:
    """A hospital visit; ``end`` is None while it lasts."""

    number: int
    begin: str
    end: str | None
    age: int


@dataclass(frozen=True)
class Patient:
    """Visits and studies in the order of time."""

    id: int
    visits: tuple[Visit, ...]
    studies: tuple[Study, ...] = ()

    @property
    def open(self) -> bool:
        """Does a visit of theirs last beyond the end of the source's data?"""
        return any(v.end is None for v in self.visits)


@dataclass(frozen=True)
class Frame:
    """From ``first`` to ``now``; ``before`` is what was now in the source."""

    first: date
    now: datetime
    before: datetime

    def shifts(self, patient: Patient, current: bool) -> list[Days]:
        """The shifts that leave a patient in hospital now, or not; the first study (without one
        the first visit) lies in the frame, and a visit has begun. Empty: there are none."""
        begins = datetime.fromisoformat(patient.visits[0].begin)
        anchor = datetime.fromisoformat(patient.studies[0].time) if patient.studies else begins
        whole = ((self.first - anchor.date()).days, min(self._until(anchor), self._until(begins)))
        inside = [self._inside(v) for v in patient.visits if v.end is None or not patient.open]
        now = _joined(_cut(days, whole) for days in inside)
        if current:
            return now
        # A visit without an end lasts: whoever has one is in hospital now, or not used at all.
        return [] if patient.open else _without(whole, now)

    def _until(self, moment: datetime) -> int:
        """The most days by which a moment can be moved and still not lie after now."""
        return int((self.now - moment).total_seconds() // _DAY)

    def _inside(self, visit: Visit) -> Days:
        """The shifts for which a visit has begun and not ended."""
        begun = self._until(datetime.fromisoformat(visit.begin))
        if visit.end is None:  # it lasted to the end of the data; less than a day may be added
            return self._until(self.before), begun
        return self._until(datetime.fromisoformat(visit.end)) + 1, begun


def draw(days: Sequence[Days], rng: random.Random) -> int:
    """One of the shifts, each as likely."""
    at = rng.randrange(sum(last - first + 1 for first, last in days))
    for first, last in days:
        if at <= last - first:
            return first + at
        at -= last - first + 1
    raise AssertionError("not reached")


def _cut(days: Days, whole: Days) -> Days:
    return max(days[0], whole[0]), min(days[1], whole[1])


def _joined(found: Iterable[Days]) -> list[Days]:
    """Overlapping ones made one, empty ones left out, ascending."""
    out: list[Days] = []
    for first, last in sorted(d for d in found if d[0] <= d[1]):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out


def _without(whole: Days, gaps: Sequence[Days]) -> list[Days]:
    out: list[Days] = []
    start = whole[0]
    for first, last in gaps:
        out.append((start, first - 1))
        start = last + 1
    return [d for d in (*out, (start, whole[1])) if d[0] <= d[1]]
