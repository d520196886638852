"""What a person is told when an answer is withheld, and what is offered instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.contracts.types import LinkedQuestion, Question
from ehrqa_cli.engine import ask, reasons
from ehrqa_cli.engine.confidence import KINDS, Reason
from ehrqa_cli.engine.reasons import PUBLIC_KINDS, TELL, ReasonModel
from ehrqa_cli.store import answer_record

from .fakes import Opinion, WordLinker, form, session

LAST = form("value last lab #1 patient #2", max_entropy=0.1)
DECLINED = Reason("model_declined", "No query.")


def linked(text: str) -> LinkedQuestion:
    return WordLinker().link(text)


def model(**words: str) -> ReasonModel:
    """A word that means a class for certain; no word, no idea."""
    classes = ("answerable", *TELL)
    rows = {word: [9.0 if c == kind else 0.0 for c in classes] for word, kind in words.items()}
    return ReasonModel(classes, rows)


def test_every_signal_has_a_kind_for_people() -> None:
    for kind in KINDS:
        told = reasons.explain(Reason(kind, "So."), linked("sodium of patient 7"), None)
        assert told.kind in PUBLIC_KINDS and told.sentence == "So."
    assert {told.kind for told in TELL.values()} <= set(PUBLIC_KINDS)


def test_the_words_of_a_declined_question_tell_why() -> None:
    known = model(nurse="not_in_database", tomorrow="prediction", sodium="answerable")
    told = reasons.explain(DECLINED, linked("which nurse saw patient 7"), known)
    assert told == TELL["not_in_database"]
    assert reasons.explain(DECLINED, linked("sodium tomorrow"), known).sentence == "No query."
    assert reasons.explain(DECLINED, linked("quite another thing"), known).kind == "not_sure"


def test_a_value_that_is_not_there_needs_no_guess() -> None:
    known = model(nurse="not_in_database")
    told = reasons.explain(Reason("unlinked_value", "No drug x."), linked("nurse"), known)
    assert (told.kind, told.sentence) == ("unknown_value", "No drug x.")


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("what is her last sodium", "ambiguous"),
        ("and the other one?", "ambiguous"),
        ("her sodium, patient 7", "not_sure"),
        ("everyone who died in their sixties", "not_sure"),
        ("sodium 7'; drop table patients; --", "changes_data"),
        ("select * from patients", "changes_data"),
        ("select the sodium from yesterday", "not_sure"),
        ("¿cuál fue el último sodio del paciente?", "ambiguous"),
        ("患者7的钠", "ambiguous"),
        ("was mr von der heide seen at the las vegas clinic", "not_sure"),
    ],
)
def test_rules_without_a_model(question: str, kind: str) -> None:
    assert reasons.explain(DECLINED, linked(question), None).kind == kind


def test_a_person_sees_kind_sentence_and_signal() -> None:
    answer = ask(Question("which nurse saw patient 7"), session(form("abstain")))
    record = answer_record(answer)
    assert record["reason"]["kind"] == "not_sure" and record["reason"]["signal"] == "model_declined"
    known = session(form("abstain"), reason_model=model(nurse="not_in_database"))
    answer = ask(Question("which nurse saw patient 7"), known)
    assert answer.reason_public == "not_in_database" and answer.reason_kind == "model_declined"
    assert answer.text == f"I don't know. {answer.reason}"


def test_offers_are_questions_that_give_something_here() -> None:
    second = Opinion(
        ("last <lab>#1 value of <pat>#2", "value last lab #1 patient #2"),
        ("first dose of <pat>#1", "time first rx patient #1"),  # there is none
        ("number of patients", "count_patients person"),  # about none of the values
        ("did <pat>#1 get <lab>#2 tested", "exists lab #2 patient #1"),  # other types: no form
        ("how often <lab>#1 in <pat>#2", "count lab #1 patient #2"),
    )
    asked = Question("who ordered the sodium of patient 7")
    answer = ask(asked, session(form("abstain"), second=second))
    assert answer.suggestions == ("Last sodium value of 7?", "How often sodium in 7?")
    assert answer_record(answer)["suggestions"] == list(answer.suggestions)


def test_nothing_is_offered_to_who_wants_to_change_data() -> None:
    second = Opinion(("last <lab>#1 value of <pat>#2", "value last lab #1 patient #2"))
    known = session(form("abstain"), second=second, reason_model=model(delete="changes_data"))
    answer = ask(Question("delete the sodium of patient 7"), known)
    assert answer.reason_public == "changes_data" and answer.suggestions == ()
    answer = ask(Question("sodium of patient 28"), known)
    assert answer.reason_public == "unknown_patient" and answer.suggestions == ()


def test_an_answer_comes_without_offers() -> None:
    second = Opinion(("last <lab>#1 value of <pat>#2", "value last lab #1 patient #2"))
    answer = ask(Question("last sodium of patient 7"), session(LAST, second=second))
    assert answer.value == 141.5 and answer.suggestions == () and answer.reason_public is None


@pytest.mark.parametrize(
    "content", ["", "{}", '{"classes": ["a"], "scale": 1, "weights": {"x": [1, 2]}}']
)
def test_a_broken_model_is_said(tmp_path: Path, content: str) -> None:
    path = tmp_path / "reasons.json"
    path.write_text(content)
    with pytest.raises(ModelError):
        ReasonModel.load(path)


def test_the_shipped_model_is_small_and_knows_its_classes() -> None:
    path = modelstore.models_root() / reasons.REASONS_FILE
    assert path.stat().st_size < 300_000
    shipped = ReasonModel.load(path)
    assert set(shipped.classes) <= {"answerable", *TELL}
    assert shipped.best("which nurse gave <drug>#1 to patient <pat>#2?")[0] == "not_in_database"
    assert shipped.best("what are the side effects of <drug>#1?")[0] == "outside_knowledge"
    assert sum(shipped.probabilities("x").values()) == pytest.approx(1.0)
    manifest = json.loads((path.parent / "manifest.json").read_text())
    assert manifest["sha256"] == modelstore.digest(path)
