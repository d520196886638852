"""Several measures asked at once: a form that gives only one of them is told."""

from __future__ import annotations

import pytest

from ehrqa_cli.engine.measures import left_out


@pytest.mark.parametrize(
    ("question", "form", "word"),
    [
        ("number of stays and average length by unit", "avg_length icustay by careunit", "number"),
        ("min, max and mean <lab>#1", "( min lab #1 ) beside ( max lab #1 )", "mean"),
        ("total <output>#1 plus the average", "avg output #1", "total"),
        ("first and last <lab>#1 of <pat>#2", "value last lab #1 patient #2", "first"),
        ("highest and lowest <vital>#1 of <pat>#2", "max vital #1 patient #2", "lowest"),
    ],
)
def test_one_is_missing(question: str, form: str, word: str) -> None:
    assert left_out(question, form) == word


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("highest and lowest <vital>#1", "( max vital #1 ) beside ( min vital #1 )"),
        (
            "number of admissions and the average age",
            "( count admission ) beside ( avg_age admission )",
        ),
        ("in total, how many admissions", "count admission"),
        ("how many days did stays last, average", "avg_length icustay"),
        (
            "the sum of the number of <lab>#1 and the number of <drug>#2",
            "( count lab #1 ) plus ( count rx #2 )",
        ),
        ("average of patient number <pat>#1, mean of the month", "avg lab patient #1"),
        ("oldest patient and the age", "max_age admission by patients most 1"),
    ],
)
def test_nothing_is_missing(question: str, form: str) -> None:
    assert left_out(question, form) is None
