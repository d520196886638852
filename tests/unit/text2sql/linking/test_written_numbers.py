"""Numbers, ages and lengths of time, however they are written."""

from __future__ import annotations

import time

import pytest

from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.text2sql.linking import Linker
from ehrqa_cli.text2sql.linking.number_words import number

Facts = list[tuple[str, object, str]]


@pytest.fixture(scope="module")
def linker() -> Linker:
    strings = {"lab": ("creatinine",)}
    return Linker(ValueIndex(strings, patients=frozenset({10018081}), years=(2100, 2199)))


def facts(linker: Linker, text: str) -> Facts:
    """Types, values and the words of the links of ``text``."""
    links = linker.link(text, fuzzy=False).links
    return [("+".join(x.types), x.value, text[x.start : x.end]) for x in links]


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("seventeen", 17),
        ("forty five", 45),
        ("a hundred and twenty", 120),
        ("twelve hundred", 1200),
        ("one forty", 140),
        ("two thousand five hundred", 2500),
        ("two hundred and fifty thousand", 250_000),
        ("half a million", 500_000),
        ("2.75 million", 2_750_000),
        ("three dozen", 36),
        ("one point oh five", 1.05),
        ("two and a half", 2.5),
        ("2 and a half", 2.5),
        ("20 000", 20_000),
        ("1,250.5", 1250.5),
        ("3,5", 3.5),
        (".5", 0.5),
    ],
)
def test_one_number_is_one_link(linker: Linker, words: str, value: float) -> None:
    assert number(words) == value
    assert facts(linker, f"creatinine above {words}?")[1:] == [("num", value, words)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("between one hundred and two hundred", [100, 200]),
        ("between a thousand and three thousand", [1000, 3000]),
        ("10-15 mg", [10, 15]),
        ("1, 2, 3", [1, 2, 3]),
        ("11 x10^9/L", [11]),
        ("5 percent, 6%", [5, 6]),
        ("no more than three, at most 4", [3, 4]),
        ("half a liter", [0.5]),
        ("half a page", []),
        ("two-vessel disease", []),
        ("which one of these, and no one", []),
        ("exactly one stay", [1]),
        ("two seventy-year-old women", [2, 70]),
        ("HR in the 120s", []),
        ("on at least three days", [3]),
        ("the top two hours", [2]),
        ("more than $100000", [100_000]),
        ("charges topped 100000", [100_000]),
    ],
)
def test_numbers_in_a_sentence(linker: Linker, text: str, expected: list[float]) -> None:
    found = facts(linker, text)
    assert [value for _, value, _ in found] == expected
    assert {kind for kind, _, _ in found} <= {"num"}


@pytest.mark.parametrize(
    ("text", "kind", "value", "words"),
    [
        ("in her late fifties", "agegrp", "50-59", "fifties"),
        ("the forties", "agegrp", "40-49", "forties"),
        ("septuagenarians", "agegrp", "70-79", "septuagenarians"),
        ("teenagers with asthma", "agegrp", "13-19", "teenagers"),
        ("women between sixty and seventy-five", "agegrp", "60-75", "sixty and seventy-five"),
        ("patients between 40 and 55 with gout", "agegrp", "40-55", "40 and 55"),
        ("between 30 and 40 years", "agegrp", "30-40", "30 and 40"),
        ("65 to 80 year olds", "agegrp", "65-80", "65 to 80"),
        ("65+ on film", "agegrp", "65+", "65+"),
        ("aged 60 or above", "agegrp", "60+", "60 or above"),
        ("in their 60 or above", "agegrp", "60+", "60 or above"),
        ("65 or older", "num", 65, "65"),
        ("sixty-five and over", "num", 65, "sixty-five"),
        ("over eighty", "num", 80, "eighty"),
        ("patients over 80 years", "num", 80, "80"),
        ("younger than 30 years", "num", 30, "30"),
        ("the over-75s", "num", 75, "75s"),
        ("under the 30s age group", "agegrp", "30-39", "30s"),
        ("eighteen-year-olds", "num", 18, "eighteen"),
        ("heart rate 120 or above", "num", 120, "120"),
        ("over 20 years ago", "dur", "20 year", "20 years"),
    ],
)
def test_ages(linker: Linker, text: str, kind: str, value: object, words: str) -> None:
    assert facts(linker, text) == [(kind, value, words)]


@pytest.mark.parametrize(
    "text", ["systolic between 90 and 100", "patients between 3 and 5", "patients with 12 or 14"]
)
def test_a_range_of_something_else_is_no_age(linker: Linker, text: str) -> None:
    assert [kind for kind, _, _ in facts(linker, text)] == ["num", "num"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("within 48h", ["48 hour"]),
        ("twelve hours", ["12 hour"]),
        ("seventy-two hours", ["72 hour"]),
        ("72-hour", ["72 hour"]),
        ("longer than a week", ["7 day"]),
        ("mortality at a year", ["1 year"]),
        ("a day and a half", ["36 hour"]),
        ("two and a half days", ["60 hour"]),
        ("4.5 hours", ["270 minute"]),
        ("half a year", ["6 month"]),
        ("an hour and a half", ["90 minute"]),
        ("a couple of days", ["2 day"]),
        ("24 to 48 hours", ["24 hour", "48 hour"]),
        ("within 24-48h", ["24 hour", "48 hour"]),
        ("between two and three weeks", ["14 day", "21 day"]),
        ("in the hour before dialysis", ["1 hour"]),
        ("over the following month", ["1 month"]),
        ("the day before, and the following day", []),
        ("twelve tablets a day, in the last year", [12]),
    ],
)
def test_lengths_of_time(linker: Linker, text: str, expected: list[object]) -> None:
    assert [value for _, value, _ in facts(linker, text)] == expected


@pytest.mark.parametrize("text", ["within 5m", "within 5 m"])
def test_what_m_stands_for_is_asked_back(linker: Linker, text: str) -> None:
    linked = linker.link(text, fuzzy=False)
    assert [kind for kind, _ in linked.unknown] == ["vague_dur"]
    assert linked.links == ()


@pytest.mark.parametrize(
    "text",
    ["early 2140", "mid-March 2140", "in the second half of 2140", "summer of 2140", "late may"],
)
def test_a_part_of_a_year_without_an_end_is_asked_back(linker: Linker, text: str) -> None:
    assert [kind for kind, _ in linker.link(text, fuzzy=False).unknown] == ["vague_date"]


@pytest.mark.parametrize("text", ["a fall in 2140", "late in the stay", "early may-thurner, 2140"])
def test_other_words_of_parts_are_none(linker: Linker, text: str) -> None:
    assert not linker.link(text, fuzzy=False).unknown


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("creatinine ≥ 3", "<lab>#1 at least <num>#2"),
        ("creatinine>=3", "<lab>#1 at least <num>#2"),
        ("creatinine <3.5?", "<lab>#1 less than <num>#2?"),
        ("creatinine > 5 in 24 h", "<lab>#1 greater than <num>#2 in <dur>#3"),
        ("stays <= 2 days", "stays at most <dur>#1"),
        ("a <- b", "a <- b"),
    ],
)
def test_signs_are_said_in_words(linker: Linker, question: str, text: str) -> None:
    assert linker.link(question, fuzzy=False).text == text


@pytest.mark.parametrize(
    "unit", ["one hundred and ", "1 000 ", "3 to ", "half a ", "a couple of ", "aged 3 to ", "one "]
)
def test_long_runs_of_numbers_are_read_quickly(linker: Linker, unit: str) -> None:
    start = time.perf_counter()
    linker.link(unit * 2000, fuzzy=False)
    assert time.perf_counter() - start < 5
