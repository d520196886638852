"""Known questions: which are near, and whose values stand in them."""

from __future__ import annotations

import re

import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.logical_form import normalise, parse, print_form
from ehrqa_cli.text2sql.known import KnownQuestions, fill, wanted, with_values

KNOWN = KnownQuestions(
    [
        ("what was the last <lab>#1 of <pat>#2?", "value last lab #1 patient #2"),
        ("what was <pat>#1's first <lab>#2?", "value first lab #2 patient #1"),
        ("how many patients had <dx>#1?", "count_patients dx #1"),
        ("when did <pat>#1 die?", "time death patient #1"),
    ]
)


def linked(question: str, *links: tuple[str, tuple[str, ...], str]) -> LinkedQuestion:
    found = [
        Link(question.index(words), question.index(words) + len(words), types, value)
        for words, types, value in links
    ]
    return LinkedQuestion(question, question, tuple(found))


ASKED = linked(
    "7's latest sodium, please", ("7", ("pat",), "7"), ("sodium", ("lab", "drug"), "sodium")
)


def test_the_nearest_forms_come_first_with_our_values() -> None:
    found = KNOWN.nearest("value last lab #2 patient #1", ASKED, 3)
    assert [near.form for near in found[:2]] == [
        "value last lab #2 patient #1",
        "value first lab #2 patient #1",
    ]
    assert found[0].alike == 1.0 and found[0].unused == 0
    assert all("dx" not in near.form for near in found), "there is no diagnosis to put in"


def test_one_that_leaves_a_value_out_says_so() -> None:
    (died,) = [n for n in KNOWN.nearest("time death patient #1", ASKED, 4) if "death" in n.form]
    assert (died.form, died.unused) == ("time death patient #1", 1)


def test_a_reference_takes_what_fits_everywhere() -> None:
    assert fill("value last lab #1 patient #2", [("pat",), ("lab", "drug")]) == (
        "value last lab #2 patient #1",
        0,
    )
    assert fill("value last lab #1 patient #2", [("pat",)]) is None
    assert fill("no form at all", [("pat",)]) is None
    assert [name for name, _ in wanted("value last lab #1 patient #2")] == ["#1", "#2"]


def test_the_own_words_stand_in_the_question() -> None:
    text = "what was the last <lab>#1 of <pat>#2?"
    assert with_values(text, ASKED) == "what was the last sodium of 7?"
    assert with_values("how many had <dx>#1?", ASKED) is None


@pytest.fixture(scope="module")
def shipped() -> list[tuple[str, str]]:
    found = KnownQuestions.load(modelstore.models_root())
    return [(text, form) for text, form, _ in found._known]


def test_every_shipped_one_is_a_form_and_its_text_has_its_references(
    shipped: list[tuple[str, str]],
) -> None:
    assert len(shipped) > 1000
    for text, form in shipped:
        assert print_form(normalise(parse(form))) == form, form
        assert set(re.findall(r"#\d+", form)) <= set(re.findall(r"#\d+", text)), text
