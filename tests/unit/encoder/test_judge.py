"""The judge: what it reads, and that the shipped one tells near readings apart."""

from __future__ import annotations

import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.encoder.judge import Judge, marked
from ehrqa_cli.logical_form import describe, parse

TYPES = {"dx": ("dx",), "drug": ("drug",), "lab": ("lab",), "pat": ("pat",), "num": ("num",)}


def linked(text: str, *kinds: str) -> LinkedQuestion:
    return LinkedQuestion("", text, tuple(Link(0, 0, TYPES[kind], "") for kind in kinds))


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge.load(modelstore.models_root())


def test_references_are_marked_as_in_the_question() -> None:
    asked = linked("the last <lab>#1 of <pat>#2", "lab", "pat")
    assert marked("last #1, patient #2, #3", asked) == "last <lab>#1, patient <pat>#2, #3"


@pytest.mark.parametrize(
    ("asked", "right", "wrong"),
    [
        (linked("what was the last <lab>#1 of <pat>#2?", "lab", "pat"),
         "value last lab #1 patient #2", "value first lab #1 patient #2"),
        (linked("how many patients had <dx>#1 and then <drug>#2?", "dx", "drug"),
         "count_patients rx #2 after ( dx #1 )", "count_patients rx #2 before ( dx #1 )"),
        (linked("how many patients with <dx>#1 never had a <lab>#2?", "dx", "lab"),
         "count_patients dx #1 without ( lab #2 )", "count_patients dx #1 with ( lab #2 )"),
        (linked("the highest <lab>#1 <pat>#2 ever had", "lab", "pat"),
         "value highest lab #1 patient #2", "value lowest lab #1 patient #2"),
        (linked("did <pat>#1 ever have <dx>#2?", "pat", "dx"),
         "exists dx #2 patient #1", "count dx #2 patient #1"),
    ],
)  # fmt: skip
def test_the_shipped_judge_puts_the_right_reading_first(
    judge: Judge, asked: LinkedQuestion, right: str, wrong: str
) -> None:
    good, bad = judge.faithful(asked, [describe(parse(form)) for form in (right, wrong)])
    assert good > bad


def test_a_question_that_no_record_answers_is_told_from_one_that_it_does(judge: Judge) -> None:
    patient = ("pat",)
    usual = judge.kinds(linked("when was <pat>#1 last admitted?", *patient))
    odd = judge.kinds(linked("what is the phone number of <pat>#1's wife?", *patient))
    assert usual["answerable"] > -0.1 and odd["answerable"] < -3


def test_it_depends_on_no_other_reading(judge: Judge) -> None:
    asked = linked("what was the last <lab>#1 of <pat>#2?", "lab", "pat")
    one, other = (describe(parse(f"value {x} lab #1 patient #2")) for x in ("last", "first"))
    alone = judge.faithful(asked, [one])[0]
    assert judge.faithful(asked, [one, other, f"{other} {other}"])[0] == pytest.approx(
        alone, abs=0.05
    )


def test_what_is_too_long_to_read_is_not_trusted(judge: Judge) -> None:
    asked = linked("what was the last <lab>#1 of <pat>#2?", "lab", "pat")
    reading = describe(parse("value last lab #1 patient #2"))
    assert judge.faithful(asked, [reading + " and" * 200])[0] <= -5.0
    assert judge.faithful(asked, []) == []


def test_a_word_that_the_reading_leaves_out_is_named(judge: Judge) -> None:
    asked = linked("what was the last fasting <lab>#1 of <pat>#2?", "lab", "pat")
    assert "fasting" in judge.left_out(asked, describe(parse("value last lab #1 patient #2")))
