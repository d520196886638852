"""How a patient's records are moved."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

import pytest

from ehrqa_cli.sets.prepare.frame import Frame, Patient, Visit, draw
from ehrqa_cli.sets.prepare.images import Study

FRAME = Frame(date(2100, 1, 1), datetime(2105, 12, 31, 23, 59), datetime(2190, 12, 31, 23, 59))


def _patient(*spans: tuple[str, str | None], study: str = "") -> Patient:
    visits = tuple(Visit(i, begin, end, 50) for i, (begin, end) in enumerate(spans))
    return Patient(1, visits, (Study(1, 5, "i", study, "PA"),) if study else ())


def _all(days: list[tuple[int, int]]) -> set[int]:
    return {d for first, last in days for d in range(first, last + 1)}


def _moved(time: str, days: int) -> datetime:
    return datetime.fromisoformat(time) + timedelta(days=days)


def test_every_shift_is_allowed_exactly_once() -> None:
    patient = _patient(
        ("2150-03-01 10:00:00", "2150-03-09 12:00:00"),
        ("2151-06-01 23:59:00", "2151-06-02 00:10:00"),
        ("2153-01-01 00:00:00", "2153-02-20 08:00:00"),
        study="2150-03-04 09:00:00",
    )
    now, away = _all(FRAME.shifts(patient, True)), _all(FRAME.shifts(patient, False))
    assert now and away and not now & away
    for days in range(-20_000, -15_000):
        study = _moved("2150-03-04 09:00:00", days)
        fits = FRAME.first <= study.date() and study <= FRAME.now
        fits = fits and _moved("2150-03-01 10:00:00", days) <= FRAME.now
        inside = any(
            _moved(v.begin, days) <= FRAME.now < _moved(v.end or "", days) for v in patient.visits
        )
        assert (days in now) == (fits and inside), days
        assert (days in away) == (fits and not inside), days


def test_a_visit_that_lasts_cannot_have_ended() -> None:
    patient = _patient(
        ("2188-01-01 00:00:00", "2188-02-01 00:00:00"), ("2190-12-20 00:00:00", None)
    )
    assert FRAME.shifts(patient, False) == []
    for days in _all(FRAME.shifts(patient, True)):
        assert _moved("2190-12-20 00:00:00", days) <= FRAME.now
        assert _moved("2190-12-31 23:59:00", days) >= FRAME.now - timedelta(days=1)


def test_the_first_visit_stands_in_for_a_first_study() -> None:
    days = _all(FRAME.shifts(_patient(("2150-03-01 10:00:00", "2150-03-09 12:00:00")), False))
    found = {_moved("2150-03-01 10:00:00", d).date() for d in days}
    assert min(found) == date(2100, 1, 1) and max(found) == date(2105, 12, 23)


def test_nobody_fits_whose_study_is_years_before_the_first_visit() -> None:
    patient = _patient(("2160-03-01 10:00:00", "2160-03-09 12:00:00"), study="2150-01-01 00:00:00")
    assert not FRAME.shifts(patient, True) and not FRAME.shifts(patient, False)


@pytest.mark.parametrize("days", [[(3, 3)], [(-4, -2), (5, 5), (9, 12)]])
def test_each_shift_is_drawn(days: list[tuple[int, int]]) -> None:
    rng = random.Random(1)
    assert {draw(days, rng) for _ in range(300)} == _all(days)
