"""Which reader a question goes to: the score of its words, and the decision."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.contracts.types import Link, LinkedQuestion, Scope
from ehrqa_cli.engine.note_route import (
    BUCKETS,
    MIDDLING,
    NOTE,
    NoteRouter,
    buckets,
    choose,
    masked,
    says_note,
    scope_by_words,
)


@pytest.fixture(scope="module")
def router() -> NoteRouter:
    return NoteRouter.load()


@pytest.mark.parametrize(
    "text",
    [
        "Why was the diuretic held on the second day?",
        "What was she told to do about her wound?",
        "What did the cardiologist recommend?",
        "How did his breathing respond to the steroids?",
    ],
)
def test_a_question_only_a_note_answers_scores_high(router: NoteRouter, text: str):
    assert router.note_score(text) >= NOTE


@pytest.mark.parametrize(
    "text",
    [
        "How many patients were admitted in 2100?",
        "What was the last creatinine of patient 10018081?",
        "What was her last measured creatinine?",
        "Which drugs were prescribed to him during the last hospital visit?",
        "Does the last chest x-ray of patient 10018081 show a pleural effusion?",
    ],
)
def test_a_question_for_tables_or_images_scores_low(router: NoteRouter, text: str):
    assert router.note_score(text) < NOTE


def test_the_number_of_a_patient_does_not_matter(router: NoteRouter):
    first = router.note_score("Why was patient 10018081 transferred?")
    assert first == router.note_score("Why was patient 10099999 transferred?")


def test_a_patient_that_the_linker_found_is_masked_however_short(router: NoteRouter):
    text = "Why was 501 transferred?"
    linked = LinkedQuestion(text, text, (Link(8, 11, ("pat",), 501),))
    same = router.note_score("Why was 10018081 transferred?")
    assert router.note_score(text, linked) == same


@pytest.mark.parametrize(
    "text",
    [
        "According to the discharge summary, what was the creatinine?",
        "what does the note say about sodium",
        "Do his notes mention a fall?",
        "Is there anything in the doctor's notes about alcohol?",
    ],
)
def test_a_question_that_names_a_note_is_one(router: NoteRouter, text: str):
    assert says_note(text)
    assert router.note_score(text) > 0.9


@pytest.mark.parametrize("text", ["What was noted last?", "Summarise the labs", "note 5 patients"])
def test_other_words_name_no_note(text: str):
    assert not says_note(text)


def test_masking():
    assert masked("Was Patient #10018081's K 4.2?") == "was patient k 4.2?"
    assert masked("patient 501, in 2100") == "patient , in 2100"
    assert masked("10018081: weight") == "patient : weight"


def test_buckets_are_numbers_of_the_weights():
    found = buckets("why was he moved", "Why was he moved")
    assert found and all(0 <= bucket < BUCKETS for bucket in found)


def test_a_given_scope_goes_before_everything():
    assert choose(1.0, has_notes=True, in_tables=True, forced=Scope.TABLE).scope is Scope.TABLE
    decision = choose(0.0, has_notes=False, in_tables=True, forced=Scope.NOTE)
    assert decision.scope is Scope.NOTE and not decision.other


def test_without_notes_it_is_never_a_note():
    assert choose(1.0, has_notes=False, in_tables=True).scope is Scope.TABLE
    assert choose(1.0, has_notes=False, in_tables=False).scope is Scope.TABLE


def test_a_patient_known_only_from_notes():
    assert choose(0.0, has_notes=True, in_tables=False).scope is Scope.NOTE


def test_with_both_the_words_decide():
    assert choose(0.7, has_notes=True, in_tables=True).scope is Scope.NOTE
    assert choose(0.3, has_notes=True, in_tables=True).scope is Scope.TABLE
    assert choose(0.3, has_notes=True, in_tables=True).other
    assert not choose(0.1, has_notes=True, in_tables=True).other
    assert not choose(0.97, has_notes=True, in_tables=True).other


def again(score: float, reason: str, risk: float | None = None) -> Scope:
    found = choose(score, has_notes=True, in_tables=True, table_reason=reason, table_risk=risk)
    return found.scope


def test_where_the_tables_decline_the_notes_are_tried_from_a_middling_score():
    assert again(MIDDLING, "model_declined") is Scope.NOTE
    assert again(MIDDLING - 0.01, "model_declined") is Scope.TABLE


def test_an_unknown_patient_is_not_looked_for_in_the_notes():
    assert again(0.9, "unknown_patient") is Scope.TABLE


def test_a_query_that_was_all_but_believed_speaks_for_the_tables():
    assert again(0.3, "unused_value", risk=0.02) is Scope.TABLE
    assert again(0.3, "unused_value", risk=0.95) is Scope.NOTE


def test_missing_and_broken_weights(tmp_path: Path):
    with pytest.raises(ModelError, match="cannot read"):
        NoteRouter.load(tmp_path / "none.json")
    short = {"words": base64.b64encode(b"abc").decode(), "scale": 1, "meaning": [], "bias": 0}
    for text in ("{}", "no json", json.dumps(short)):
        path = tmp_path / "weights.json"
        path.write_text(text)
        with pytest.raises(ModelError, match="no weights"):
            NoteRouter.load(path)


def test_provenance_names_the_weights(router: NoteRouter):
    assert len(router.provenance()["weights_sha256"]) == 64


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("Do you see a stent on study 54980582?", Scope.IMAGE),
        ("How wide is the heart on the last chest X-ray of patient 10018081?", Scope.IMAGE),
        ("What does a brain mri cost?", Scope.TABLE),
        ("Which study drugs did she get?", Scope.TABLE),
    ],
)
def test_the_scope_of_what_was_declined_before_a_form(text: str, scope: Scope):
    assert scope_by_words(text) is scope
