"""What a person is told when an answer is withheld, and what is offered instead."""

from __future__ import annotations

from typing import Any

import pytest

from ehrqa_cli.contracts.types import LinkedQuestion, Query, Question
from ehrqa_cli.engine import ask, reasons
from ehrqa_cli.engine.confidence import KINDS, Reason
from ehrqa_cli.engine.reasons import PUBLIC_KINDS, TELL
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.store import answer_record
from ehrqa_cli.text2sql.known import KnownQuestions

from .fakes import Judging, Scripted, WordLinker, form, session

LAST = form("value last lab #1 patient #2", max_entropy=0.1)
DECLINED = Reason("model_declined", "No query.")


def linked(text: str) -> LinkedQuestion:
    return WordLinker().link(text)


def test_every_signal_has_a_kind_for_people() -> None:
    for kind in KINDS:
        told = reasons.explain(Reason(kind, "So."), linked("sodium of patient 7"), None)
        assert told.kind in PUBLIC_KINDS and told.sentence == "So."
    assert {told.kind for told in TELL.values()} <= set(PUBLIC_KINDS)


def test_the_words_of_a_declined_question_tell_why() -> None:
    known = Judging(nurse="not_in_database", tomorrow="prediction")
    told = reasons.explain(DECLINED, linked("which nurse saw patient 7"), known)
    assert told == TELL["not_in_database"]
    assert reasons.explain(DECLINED, linked("sodium tomorrow"), known).kind == "prediction"
    assert reasons.explain(DECLINED, linked("sodium today"), known).sentence == "No query."


def test_a_value_that_is_not_there_needs_no_guess() -> None:
    known = Judging(nurse="not_in_database")
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
    known = session(form("abstain"), judge=Judging(nurse="not_in_database"))
    answer = ask(Question("which nurse saw patient 7"), known)
    assert answer.reason_public == "not_in_database" and answer.reason_kind == "model_declined"
    assert answer.text == f"I don't know. {answer.reason}"


KNOWN = KnownQuestions(
    [
        ("last <lab>#1 value of <pat>#2", "value last lab #1 patient #2"),
        ("first dose of <pat>#1", "time first rx patient #1"),  # there is none
        ("number of patients", "count_patients person"),  # about none of the values
        ("<lab>#1 of <pat>#2 under <num>#3", "value lab #1 under #3 patient #2"),  # too few values
        ("how often <lab>#1 in <pat>#2", "count lab #1 patient #2"),
    ]
)


class Reads(Scripted):
    """Declines who ordered what, and reads the rest as known."""

    def generate(self, question: Any, on_token: Any = None) -> list[Query]:
        for text, written in (("ordered", "abstain"), ("often", "count lab #1 patient #2")):
            if text in question.text:
                return [form(written)]
        return [LAST]


def test_offers_are_questions_that_are_answered_here() -> None:
    asked = Question("who ordered the sodium of patient 7")
    answer = ask(asked, session(model=Reads(), known=KNOWN))
    assert answer.suggestions == ("Last sodium value of 7?", "How often sodium in 7?")
    assert answer_record(answer)["suggestions"] == list(answer.suggestions)


def test_what_would_be_declined_itself_is_not_offered() -> None:
    strict = Thresholds(weights={"max_entropy": 1.0}, limit=0.05)
    answer = ask(
        Question("who ordered the sodium of patient 7"),
        session(model=Reads(), known=KNOWN, thresholds=strict),
    )
    assert answer.suggestions == ("How often sodium in 7?",), "the other one's entropy is 0.1"


def test_nothing_is_offered_to_who_wants_to_change_data() -> None:
    known = session(form("abstain"), known=KNOWN, judge=Judging(delete="changes_data"))
    answer = ask(Question("delete the sodium of patient 7"), known)
    assert answer.reason_public == "changes_data" and answer.suggestions == ()
    answer = ask(Question("sodium of patient 28"), known)
    assert answer.reason_public == "unknown_patient" and answer.suggestions == ()


def test_an_answer_comes_without_offers() -> None:
    answer = ask(Question("last sodium of patient 7"), session(LAST, known=KNOWN))
    assert answer.value == 141.5 and answer.suggestions == () and answer.reason_public is None
