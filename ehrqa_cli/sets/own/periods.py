"""Does a time filter of a form cover an event? For drawing filters that leave something over.

The meaning is the compiler's (docs/logical-form.md); a wrong answer here costs a draw, nothing
else, since every question is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from ehrqa_cli.sets.own.people import Event, Person

Stay = TypeVar("Stay")
_WITHIN = re.compile(r'(this|last)_(year|month) at "?([\d-]+)"?')
_AGO = re.compile(r'(since|until)_ago "(\d+) (\w+)"')
_DATE = re.compile(r'(in|since|before_date) "?([\d: -]+?)"?')
_VISIT = re.compile(r"(visit|icu) (\w+)")
_DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}


class Now:
    """What the relative filters are relative to."""

    def __init__(self, as_of: str) -> None:
        self.moment = datetime.fromisoformat(as_of)
        first = self.moment.replace(day=1)
        self.prefixes = {
            "this_year": f"{self.moment.year:04d}",
            "last_year": f"{self.moment.year - 1:04d}",
            "this_month": f"{self.moment:%Y-%m}",
            "last_month": f"{first - timedelta(days=1):%Y-%m}",
            "today": f"{self.moment:%Y-%m-%d}",
            "yesterday": f"{self.moment - timedelta(days=1):%Y-%m-%d}",
        }

    def covers(self, form: str, event: Event, person: Person) -> bool:
        """Is the event inside the filter? An empty one covers everything."""
        if not form:
            return True
        if form in self.prefixes:
            return event.time.startswith(self.prefixes[form])
        if found := _WITHIN.fullmatch(form):
            start = self.prefixes[f"{found[1]}_{found[2]}"]
            return event.time.startswith(start) and _part(event.time, found[2], found[3])
        if found := _AGO.fullmatch(form):
            return self._ago(event.time, found[1] == "since", int(found[2]), found[3])
        if found := _VISIT.fullmatch(form):
            return _visited(event, person, found[1], found[2])
        if found := _DATE.fullmatch(form):
            return self._date(event.time, found[1], found[2])
        return True

    def _ago(self, time: str, since: bool, count: int, unit: str) -> bool:
        limit = self.moment - timedelta(days=count * _DAYS.get(unit, 1.0))
        return (time >= f"{limit:%Y-%m-%d %H:%M:%S}") == since

    def _date(self, time: str, how: str, date: str) -> bool:
        if len(date) < 4 or re.fullmatch(r"\d\d-\d\d", date):  # of this year
            date = self.prefixes["this_year"] + "-" + date.zfill(2)
        start = time[: len(date)]
        return start == date if how == "in" else start >= date if how == "since" else start < date


def _part(time: str, unit: str, part: str) -> bool:
    if unit == "month":
        return int(time[8:10]) == int(part)
    return time[5:10] == part if "-" in part else int(time[5:7]) == int(part)


def _visited(event: Event, person: Person, kind: str, order: str) -> bool:
    if kind == "visit":
        if order == "current":
            return event.stay is not None and event.stay == person.present
        return event.stay is not None and _nth(person.stays, order) == event.stay
    if order == "current":
        chosen = next((stay for stay in person.icu if not stay[2]), None)
    else:
        chosen = _nth(tuple(stay for stay in person.icu if stay[2]), order)
    return (
        chosen is not None
        and event.stay == chosen[0]
        and chosen[1] <= event.time
        and (not chosen[2] or event.time <= chosen[2])
    )


def _nth(found: Sequence[Stay], order: str) -> Stay | None:
    at = {"first": 0, "second": 1, "third": 2, "second_last": -2}.get(order, -1)
    return found[at] if -len(found) <= at < len(found) else None
