"""Values in clinical text, and sums over them."""

from __future__ import annotations

from datetime import date

import pytest

from ehrqa_cli.contracts.notes import Line
from ehrqa_cli.notes.read import calculate
from ehrqa_cli.notes.read.compose import places
from ehrqa_cli.notes.read.quantities import agree, quantities
from ehrqa_cli.notes.read.question import AnswerKind, ask
from ehrqa_cli.notes.read.values import fits, full_dates, numbers, reason_clause, spans_of


@pytest.mark.parametrize(
    ("kind", "text", "values"),
    [
        (AnswerKind.DOSE, "Torsemide 60 mg PO daily", ["60 mg"]),
        (AnswerKind.DOSE, "a drip at 10 mg/hr, then 1.5 g", ["10 mg/hr", "1.5 g"]),
        (AnswerKind.FREQUENCY, "Carvedilol 6.25 mg PO BID", ["BID"]),
        (AnswerKind.FREQUENCY, "taken three times a day", ["three times a day"]),
        (AnswerKind.DATE, "pulled on 6/29, seen 2144-02-25", ["6/29", "2144-02-25"]),
        (AnswerKind.DURATION, "stopped after 20 hours", ["20 hours"]),
        (AnswerKind.DURATION, "for two weeks", ["two weeks"]),
        (AnswerKind.COUNT, "received three units", ["three"]),
        (AnswerKind.NUMBER, "a 3.4 x 2.9 cm mass", ["3.4 x 2.9 cm"]),
        (AnswerKind.NUMBER, "BP 142/88", ["142/88"]),
        (AnswerKind.PERSON, "by Dr. Haldane", ["Dr. Haldane"]),
        (AnswerKind.DOSE, "no values here", []),
    ],
)
def test_values_are_found(kind: AnswerKind, text: str, values: list[str]) -> None:
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
    assert fits(AnswerKind.REASON, said)


def _line(number: int, text: str) -> Line:
    return Line("n", number, 0, len(text), text)


def test_sums() -> None:
    stay = ask("How many days did he stay in the hospital?")
    lines = [_line(0, "Admission Date: 2144-02-03"), _line(1, "Discharge Date: 2144-02-11")]
    assert calculate.stay_days(stay, lines) == (8, tuple(lines))
    assert calculate.stay_days(stay, lines[:1]) is None
    assert calculate.stay_days(ask("What was the dose?"), lines) is None
    other = frozenset({"another note"})
    assert calculate.stay_days(stay, lines, other) is None


@pytest.mark.parametrize(
    ("question", "texts", "said", "of"),
    [
        ("By how much did the creatinine go up?", ["Creatinine rose from 0.9 to 1.6"],
         "0.7 (from 0.9 to 1.6)", (0,)),
        ("How many milligrams of tacrolimus did she take per day in total?",
         ["tacrolimus 3 mg twice daily"], "6 mg (from 3 and 2)", (0,)),
        ("How much weight did she lose between the stays?",
         ["Weight 71 kg, height 160 cm.", "Weight 66.5 kg."], "4.5 kg (from 71 and 66.5)", (0, 1)),
        ("By how much did the CRP fall?", ["CRP 142, ESR 95", "CRP 31 at discharge"],
         "111 (from 142 and 31)", (0, 1)),
    ],
)  # fmt: skip
def test_numbers_are_worked_out(
    question: str, texts: list[str], said: str, of: tuple[int, ...]
) -> None:
    asked = ask(question)
    found = calculate.work_out(asked, texts, [places(asked, text) for text in texts])
    assert found == (said, of)


def test_nothing_is_worked_out_of_other_numbers() -> None:
    risen = ask("By how much did the creatinine go up?")
    for text in ("Creatinine was stable", "Weight 70 kg; sodium 140"):
        assert calculate.work_out(risen, [text], [places(risen, text)]) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("for 6 mo", [(6, "month")]),
        ("x7d, then two weeks", [(7, "day"), (2, "week")]),
        ("on 04/05", [(4, ""), (405, "date"), (5, "")]),
        ("April 5, 2131", [(405, "date")]),
        ("[**2151-4-21**]", [(421, "date")]),
        ("at 10:12", [(1012, "clock")]),
        ("500 mg q8h", [(500, "mg"), (3, "a day")]),
        ("1,100 mL", [(1100, "ml")]),
        ("five mgs", [(5, "")]),
        ("nothing", []),
    ],
)
def test_numbers_with_their_units(text: str, found: list[tuple[float, str]]) -> None:
    assert sorted((q.number, q.unit) for q in quantities(text)) == sorted(found)
    assert all(0 <= q.start < q.end <= len(text) for q in quantities(text))


def test_six_months_are_no_six_days() -> None:
    (months,), (days,), (bare,) = (quantities(x) for x in ("6 months", "six days", "6"))
    assert agree(months, days) == 0 < agree(months, bare) < agree(months, months) == 1
