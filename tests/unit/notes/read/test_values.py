"""Values in clinical text, and sums over them."""

from __future__ import annotations

from datetime import date

import pytest

from ehrqa_cli.contracts.notes import Line
from ehrqa_cli.notes.read import calculate
from ehrqa_cli.notes.read.question import Kind, ask
from ehrqa_cli.notes.read.values import fits, full_dates, numbers, reason_clause, spans_of


@pytest.mark.parametrize(
    ("kind", "text", "values"),
    [
        (Kind.DOSE, "Torsemide 60 mg PO daily", ["60 mg"]),
        (Kind.DOSE, "a drip at 10 mg/hr, then 1.5 g", ["10 mg/hr", "1.5 g"]),
        (Kind.FREQUENCY, "Carvedilol 6.25 mg PO BID", ["BID"]),
        (Kind.FREQUENCY, "taken three times a day", ["three times a day"]),
        (Kind.DATE, "pulled on 6/29, seen 2144-02-25", ["6/29", "2144-02-25"]),
        (Kind.DURATION, "stopped after 20 hours", ["20 hours"]),
        (Kind.DURATION, "for two weeks", ["two weeks"]),
        (Kind.COUNT, "received three units", ["three"]),
        (Kind.NUMBER, "a 3.4 x 2.9 cm mass", ["3.4 x 2.9 cm"]),
        (Kind.NUMBER, "BP 142/88", ["142/88"]),
        (Kind.PERSON, "by Dr. Haldane", ["Dr. Haldane"]),
        (Kind.DOSE, "no values here", []),
    ],
)
def test_values_are_found(kind: Kind, text: str, values: list[str]) -> None:
    assert [text[a:b] for a, b in spans_of(kind, text)] == values


def test_numbers_are_read() -> None:
    assert numbers("spent 4,200 dollars on two things, 0.84") == [4200.0, 2.0, 0.84]
    assert full_dates("2144-02-03 to 02/11/2144, never 13/45/2144") == [
        date(2144, 2, 3),
        date(2144, 2, 11),
    ]


def test_a_reason_is_cut_out() -> None:
    said = "Lisinopril was held because of hyperkalemia."
    assert reason_clause(said) == "hyperkalemia"
    assert reason_clause("Lisinopril was held.") is None
    assert fits(Kind.REASON, said)


def _line(number: int, text: str) -> Line:
    return Line("n", number, 0, len(text), text)


def test_sums() -> None:
    stay = ask("How many days did he stay in the hospital?")
    lines = [_line(0, "Admission Date: 2144-02-03"), _line(1, "Discharge Date: 2144-02-11")]
    assert calculate.stay_days(stay, lines) == (8, tuple(lines))
    assert calculate.stay_days(stay, lines[:1]) is None
    assert calculate.stay_days(ask("What was the dose?"), lines) is None
    risen = ask("By how much did the creatinine go up?")
    assert calculate.work_out(risen, ["Creatinine rose from 0.9 to 1.6"]) == "0.7 (from 0.9 to 1.6)"
    day = ask("How many milligrams did she take per day in total?")
    assert calculate.work_out(day, ["tacrolimus 3 mg twice daily"]) == "6"
    assert calculate.work_out(risen, ["Creatinine was stable"]) is None
