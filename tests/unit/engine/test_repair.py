"""Slips of the model that the question mends, and what is left alone."""

from __future__ import annotations

import pytest

from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.engine.repair import repaired
from ehrqa_cli.logical_form import parse, print_form


def _mended(form: str, text: str, *kinds: str) -> str:
    links = tuple(Link(n, n + 1, (kind,), kind) for n, kind in enumerate(kinds))
    return print_form(repaired(parse(form), LinkedQuestion(text, text, links)))


@pytest.mark.parametrize(
    ("form", "kinds", "wanted"),
    [
        ("count_patients dx #1 with ( dx #1 )", "dx dx", "count_patients dx #1 with ( dx #2 )"),
        ("count_patients dx #1 with ( dx #1 )", "dx drug", "count_patients dx #1 with ( rx #2 )"),
        ("patients dx #1 after ( dx #1 )", "dx lab", "patients dx #1 after ( lab #2 )"),
        # nothing was left out, or two were, or it is no event
        ("patients dx #1 after ( dx #1 )", "dx", "patients dx #1 after ( dx #1 )"),
        ("patients dx #1 after ( dx #1 )", "dx lab drug", "patients dx #1 after ( dx #1 )"),
        ("patients dx #1 after ( dx #1 )", "dx num", "patients dx #1 after ( dx #1 )"),
        # it relates two things already
        ("patients dx #1 with ( rx #2 )", "dx drug lab", "patients dx #1 with ( rx #2 )"),
        ("patients rx with ( rx #1 )", "drug", "patients rx #1"),
    ],
)
def test_the_name_that_was_left_out(form: str, kinds: str, wanted: str) -> None:
    assert _mended(form, "", *kinds.split()) == wanted


@pytest.mark.parametrize(
    ("form", "text", "wanted"),
    [
        ("count dx #1", "In how many admissions was <dx>#1 diagnosed?", "count_visits dx #1"),
        ("count dx #1", "during how many different hospital stays", "count_visits dx #1"),
        ("count dx #1", "how many times was <dx>#1 diagnosed?", "count dx #1"),
        ("count_patients dx #1", "in how many admissions", "count_patients dx #1"),
    ],
)
def test_admissions_are_counted_where_they_are_asked_for(form: str, text: str, wanted: str) -> None:
    assert _mended(form, text, "dx") == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("how many patients had a positive culture?", "count_patients organism"),
        ("how many patients had each organism?", "count_patients organism by name"),
        ("number of patients by organism", "count_patients organism by name"),
    ],
)
def test_one_number_is_not_one_a_group(text: str, wanted: str) -> None:
    assert _mended("count_patients organism by name", text) == wanted
