"""Which time filters cover an event."""

from __future__ import annotations

import pytest

from ehrqa_cli.sets.own.people import Event, Person
from ehrqa_cli.sets.own.periods import Now

NOW = Now("2100-12-31 23:59:00")
PERSON = Person(1, {}, stays=(10, 11, 12), present=13, icu=((11, "2100-05-01", "2100-05-04"),))
EVENT = Event({}, "2100-05-02 08:00:00", 11)


@pytest.mark.parametrize(
    "form",
    ["", "this_year", "this_year at 5", 'this_year at "05-02"', 'in "2100"', 'in "2100-05-02"',
     'since "2100-05"', "in 5", 'in "05-02"', "since 4", 'before_date "2100-06"', "visit second",
     "visit second_last", "icu first", "icu last", 'since_ago "9 month"', 'until_ago "1 day"'],
)  # fmt: skip
def test_it_covers(form: str) -> None:
    assert NOW.covers(form, EVENT, PERSON)


@pytest.mark.parametrize(
    "form",
    ["last_year", "this_month", "last_month", "today", "yesterday", "this_year at 6", 'in "2099"',
     'this_year at "05-03"', 'since "2100-06"', "in 6", 'before_date "2100-05"', "visit first",
     "visit last", "visit current", "icu current", 'since_ago "1 month"', 'until_ago "9 month"'],
)  # fmt: skip
def test_it_does_not(form: str) -> None:
    assert not NOW.covers(form, EVENT, PERSON)


def test_last_month_of_january_is_in_the_year_before() -> None:
    assert Now("2101-01-05 00:00:00").covers(
        "last_month at 2", Event({}, "2100-12-02 01:00:00", None), PERSON
    )
