"""The shipped second opinion, where it is there and onnxruntime is installed."""

from __future__ import annotations

import re

import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.logical_form import parse
from ehrqa_cli.text2sql.second import SecondOpinion

pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def second() -> SecondOpinion:
    root = modelstore.models_root()
    if not all((root / name / "manifest.json").is_file() for name in ("answerability", "nearest")):
        pytest.skip("no second opinion is shipped")
    return SecondOpinion.load(root)


def linked(text: str) -> LinkedQuestion:
    marks = re.findall(r"((?:<[a-z]+>)+)#\d", text)
    links = tuple(Link(0, 0, tuple(re.findall(r"[a-z]+", mark)), 1) for mark in marks)
    return LinkedQuestion("q", text, links)


ASKED = "what was the last <lab>#1 value of patient <pat>#2?"
FORM = "value last lab #1 patient #2"


def test_a_plain_question_and_its_form(second: SecondOpinion) -> None:
    scores = second.scores(linked(ASKED), FORM)
    assert set(scores) == {
        "p_unanswerable", "nearest_distance", "agreement", "retrieved", "lexeme_surprise",
        "lexeme_gap",
    }  # fmt: skip
    assert scores["retrieved"] == 1.0
    assert scores["p_unanswerable"] < 0.2
    assert 0.0 <= scores["lexeme_gap"] <= scores["lexeme_surprise"]
    for wrong in ("value first lab #1 patient #2", "count lab #1 patient #2"):
        worse = second.scores(linked(ASKED), wrong)
        assert worse["agreement"] < scores["agreement"]
        assert worse["lexeme_gap"] > scores["lexeme_gap"] + 1.0
        assert worse["lexeme_surprise"] > scores["lexeme_surprise"] + 1.0


def test_what_has_no_answer(second: SecondOpinion) -> None:
    scores = second.scores(linked("which nurse took care of patient <pat>#1 last night?"), None)
    assert set(scores) == {"p_unanswerable", "nearest_distance"}
    assert scores["p_unanswerable"] > 0.8


@pytest.mark.parametrize(
    "text",
    [
        "what was the last <lab>#1 value of patient {}?",
        "has patient {} any appointment in another department?",
        "tell me the blood type of patient {}.",
        "how many <drug>#1 prescriptions did patient {} get in <year>#2?",
    ],
)
def test_whether_an_id_is_known_changes_nothing(second: SecondOpinion, text: str) -> None:
    place = text.count("#", 0, text.index("{}")) + 1
    known = text.format(f"<pat>#{place}").replace("<year>#2", "<year>#3")
    a, b = linked(known), linked(text.format("<nopat>"))
    assert second.scores(a, None)["p_unanswerable"] == second.scores(b, None)["p_unanswerable"]


def test_neighbours_are_forms_over_our_references(second: SecondOpinion) -> None:
    found = second.nearest(linked(ASKED), 3)
    assert 1 <= len(found) <= 3
    assert len({n.form for n in found}) == len(found)
    assert [n.distance for n in found] == sorted(n.distance for n in found)
    for neighbour in found:
        parse(neighbour.form)
        assert not re.search(r"#([3-9]|\d\d)", neighbour.form)
        assert "#" not in neighbour.template_text
    assert FORM in {n.form for n in found}


def test_two_ways_to_write_one_form_are_rated_alike(second: SecondOpinion) -> None:
    question = linked("how old was patient <pat>#1 on the last hospital visit?")
    one = second.scores(question, "age last admission patient #1")
    assert second.scores(question, "age admission patient #1 visit last") == one


def test_nothing_fits_a_question_without_values(second: SecondOpinion) -> None:
    for neighbour in second.nearest(LinkedQuestion("q", "hello", ()), 3):
        assert "#" not in neighbour.form


def test_twice_the_same_and_odd_input(second: SecondOpinion) -> None:
    again = SecondOpinion.load(modelstore.models_root())
    assert second.scores(linked(ASKED), FORM) == again.scores(linked(ASKED), FORM)
    for text in ("", "?" * 3000, "ü" * 50, "</s> <form> #1 [abstain]"):
        scores = second.scores(LinkedQuestion("q", text, ()), "no such form " * 40)
        assert all(value == value for value in scores.values())


def test_provenance_names_every_file(second: SecondOpinion) -> None:
    found = second.provenance()
    assert {"answerability/encoder.onnx", "nearest/writer.onnx", "onnxruntime"} <= set(found)
    assert all(len(v) == 64 for k, v in found.items() if "/" in k)
