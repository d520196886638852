"""Dates, quarters and days of the week, however they are written."""

from __future__ import annotations

import pytest

from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.logical_form.grammar import TYPES
from ehrqa_cli.text2sql.linking import Linker
from ehrqa_cli.text2sql.linking.render import ORDER


@pytest.fixture(scope="module")
def linker() -> Linker:
    return Linker(ValueIndex({}, years=(2100, 2199)))


def facts(linker: Linker, text: str) -> list[tuple[str, object, str]]:
    links = linker.link(text, fuzzy=False).links
    return [(x.types[0], x.value, text[x.start : x.end]) for x in links]


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        ("in Q4 2100", "2100-Q4", "Q4 2100"),
        ("Q4 of 2100", "2100-Q4", "Q4 of 2100"),
        ("since 2141-Q3", "2141-Q3", "2141-Q3"),
        ("Q2 '41", "2141-Q2", "Q2 '41"),
        ("fourth quarter of 2100", "2100-Q4", "fourth quarter of 2100"),
        ("in the 3rd quarter of the year 2141", "2141-Q3", "3rd quarter of the year 2141"),
        ("the last quarter of 2140", "2140-Q4", "last quarter of 2140"),
    ],
)
def test_quarters(linker: Linker, text: str, value: str, words: str) -> None:
    assert facts(linker, text) == [("quarter", value, words)]


@pytest.mark.parametrize(
    "text", ["three quarters of them", "the first quarter", "q4h", "a quarter of all in 2140"]
)
def test_no_quarter_of_a_year(linker: Linker, text: str) -> None:
    assert "quarter" not in {kind for kind, _, _ in facts(linker, text)}


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on Mondays", ["monday"]),
        ("every Fri", ["friday"]),
        ("Saturday's films", ["saturday"]),
        ("Sat/Sun", ["saturday", "sunday"]),
        ("Mon through Fri", ["monday", "friday"]),
        ("Tuesday or Thurs", ["tuesday", "thursday"]),
        ("his sat was low in the sun", []),
        ("they wed in may", []),
    ],
)
def test_days_of_the_week(linker: Linker, text: str, days: list[str]) -> None:
    assert [value for kind, value, _ in facts(linker, text) if kind == "dow"] == days


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("the 3rd of May 2133", "ymd", "2133-05-03"),
        ("the third of May 2133", "ymd", "2133-05-03"),
        ("the twenty-third of May", "md", "05-23"),
        ("May 3rd, '33", "ymd", "2133-05-03"),
        ("3 May '33", "ymd", "2133-05-03"),
        ("3 May", "md", "05-03"),
        ("3.5.2133", "ymd", "2133-03-05"),
        ("22.11.2137", "ymd", "2137-11-22"),
        ("31/12/2135", "ymd", "2135-12-31"),
        ("31/12/35", "ymd", "2135-12-31"),
        ("on the 14th of last month", "num", 14),
        ("03/2140", "ym", "2140-03"),
        ("2131's stays", "year", "2131"),
        ("last year's October", "num", 10),
        ("2140-03-05T10:00:00Z", "stamp", "2140-03-05 10:00:00"),
        ("8:00 on March 4, 2155", "stamp", "2155-03-04 08:00:00"),
        ("March 4, 2155 at 3 pm", "stamp", "2155-03-04 15:00:00"),
        ("3/4/2155 12:30 AM", "stamp", "2155-03-04 00:30:00"),
        ("monday 4/12/2133", "ymd", "2133-04-12"),
    ],
)
def test_one_date(linker: Linker, text: str, kind: str, value: object) -> None:
    assert [found[:2] for found in facts(linker, text)] == [(kind, value)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("July through September 2141", ["2141-07", "2141-09"]),
        ("January, March and May 2141", ["2141-01", "2141-03", "2141-05"]),
        ("March 3-5, 2140", ["2140-03-03", "2140-03-05"]),
        ("from 3 to 5 March 2140", ["2140-03-03", "2140-03-05"]),
        ("from March 3 to April 5, 2140", ["2140-03-03", "2140-04-05"]),
        ("Q1 or Q2 2135", ["2135-Q1", "2135-Q2"]),
        ("Q1 2135 vs Q2 2135", ["2135-Q1", "2135-Q2"]),
    ],
)
def test_what_shares_a_year_has_it(linker: Linker, text: str, values: list[str]) -> None:
    assert [value for _, value, _ in facts(linker, text)] == values


@pytest.mark.parametrize("text", ["the 2140s", "in the 2140's"])
def test_a_decade_is_no_year(linker: Linker, text: str) -> None:
    assert facts(linker, text) == []


def test_the_types_are_those_of_the_grammar() -> None:
    assert tuple(ORDER) == TYPES
