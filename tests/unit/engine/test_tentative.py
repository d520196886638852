"""A withheld answer tells how it was read; run all the same, that is never an answer."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.contracts.errors import LimitExceeded, UsageError
from ehrqa_cli.contracts.types import Answer, Link, LinkedQuestion, Question, Status
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.engine import ask, open_session
from ehrqa_cli.engine.asked_back import readings_of
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.question_run import Run, Withheld, Written
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.evaluate.records import Record
from ehrqa_cli.store import AnswerLog, answer_from, answer_record
from ehrqa_cli.text2sql.linking import Linker

from .fakes import Judging, Scripted, form, session
from .test_namesakes import Hospital

DOUBTED = form("value last lab #1 patient #2", max_entropy=3.0)
ASKED = Question("last sodium of patient 7")
CALIBRATED = Thresholds(calibration=((-9.0, 0.99), (9.0, 0.5)))


def tried(question: Question = ASKED, query: Any = DOUBTED, **parts: Any) -> Answer:
    return ask(question, session(query, tentative=True, **parts))


def test_a_withheld_answer_tells_how_it_was_read() -> None:
    answer = ask(ASKED, session(DOUBTED))
    assert answer.status is Status.ABSTAINED
    assert answer.reading is not None and answer.reading["runs"] is True
    assert answer.reading["logical_form"] == 'value last lab "sodium" patient 7'
    assert "sodium" in answer.reading["description"]
    record = answer_record(answer)
    assert record["reading"] == answer.reading
    assert answer_from(record, ASKED).reading == answer.reading


@pytest.mark.parametrize("query", [form("abstain"), form("value last lab (")])
def test_without_a_reading_there_is_none_to_tell(query: Any) -> None:
    assert ask(ASKED, session(query)).reading is None
    assert tried(query=query).status is Status.ABSTAINED


def test_an_answer_has_no_reading_to_doubt() -> None:
    sure = form("value last lab #1 patient #2", max_entropy=0.1)
    for tentative in (True, False):
        answer = ask(ASKED, session(sure, tentative=tentative))
        assert (answer.status, answer.reading) == (Status.ANSWERED, None)


@pytest.mark.parametrize(
    ("question", "query", "signal"),
    [
        (ASKED, DOUBTED, "low_confidence"),
        (Question("last sodium of patient 7 in 2100"), DOUBTED, "unused_value"),
    ],
)
def test_what_is_only_doubted_is_run_and_marked(
    question: Question, query: Any, signal: str
) -> None:
    answer = tried(question, query, thresholds=CALIBRATED)
    assert (answer.status, answer.value, answer.reason_kind) == (Status.TENTATIVE, 141.5, signal)
    assert answer.text.startswith("Unverified: ") and "141.5" in answer.text
    assert answer.confidence is None, "never invented, though a calibration is there"
    assert answer.reading and answer.reading["description"] and answer.reason
    record = answer_record(answer)
    assert record["status"] == "tentative"
    assert record["reason"] == {
        "kind": "not_sure", "sentence": answer.reason, "signal": signal
    }  # fmt: skip
    assert {"kind": "row", "table": "labevents", "key": {"row_id": 12}} in answer.evidence


@pytest.mark.parametrize(
    ("question", "query", "kind"),
    [
        ("last sodium of patient 28", DOUBTED, "unknown_patient"),
        ("dose of unobtainium of patient 7", DOUBTED, "unlinked_value"),
        ("x-ray of patient 7", form("time last study patient #1", max_entropy=3.0), "out_of_scope"),
        ("when did patient 7 die", form("deathdate person patient #1", max_entropy=3.0),
         "empty_result"),
    ],
)  # fmt: skip
def test_what_is_certain_stays_withheld(question: str, query: Any, kind: str) -> None:
    answer = tried(Question(question), query)
    assert (answer.status, answer.reason_kind) == (Status.ABSTAINED, kind)
    assert answer.rows == () and not (answer.reading or {}).get("runs")


def test_a_name_that_fits_several_things_stays_withheld() -> None:
    database = Hospital()
    linker = Linker(ValueIndex.build(database))
    query = form("count_patients dx #1", max_entropy=3.0)
    answer = tried(Question("how many patients had sepsis?"), query,
                   database=database, linker=linker)  # fmt: skip
    assert (answer.status, answer.reason_kind) == (Status.ABSTAINED, "ambiguous_name")


@pytest.mark.parametrize("kind", ["prediction", "outside_knowledge", "changes_data"])
def test_no_reading_answers_what_no_record_says(kind: str) -> None:
    answer = tried(judge=Judging(patient=kind))
    assert (answer.status, answer.reason_public) == (Status.ABSTAINED, kind)
    assert answer.reading is not None and answer.reading["runs"] is False


def test_the_reading_of_a_withheld_answer_is_run_later() -> None:
    opened = session(DOUBTED)
    held = opened.ask(ASKED)
    found = opened.run_reading(held)
    assert (found.status, found.value) == (Status.TENTATIVE, 141.5)
    assert found.reading == held.reading and found.reason == held.reason
    assert isinstance(opened.model, Scripted) and len(opened.model.asked) == 1, "it is not asked"
    kept = answer_from(answer_record(held), ASKED)  # as a conversation that is taken up again
    assert opened.run_reading(kept).value == 141.5


def test_nothing_else_is_run_later() -> None:
    opened = session(form("abstain"))
    for answer in (opened.ask(ASKED), Answer(ASKED, Status.ANSWERED)):
        with pytest.raises(UsageError, match="no withheld answer"):
            opened.run_reading(answer)


def test_a_batch_is_marked_too_and_the_default_is_to_withhold() -> None:
    statuses = [a.status for a in session(DOUBTED, tentative=True).ask_many([ASKED, ASKED])]
    assert statuses == [Status.TENTATIVE] * 2
    assert not open_session(None).tentative and not session(DOUBTED).tentative


def test_it_is_logged_as_what_it_is(tmp_path: Path) -> None:
    opened = session(DOUBTED, tentative=True)
    opened.answer_log = AnswerLog(tmp_path / "log.db")
    opened.ask(ASKED)
    with sqlite3.connect(tmp_path / "log.db") as log:
        assert log.execute("SELECT status, text LIKE 'Unverified: %' FROM answers").fetchall() == [
            ("tentative", 1)
        ]


def test_no_evaluation_counts_it_as_answered() -> None:
    outcome = Record("1", "q", "gold", "gold", "tentative", True).outcome
    assert not outcome.answered and not outcome.failed
    assert outcome.reliability(10) == 0.0, "as for declining"


class Meanings:
    """Reads the word before "of" as a concept of its own name."""

    def link(self, question: str, **_: Any) -> LinkedQuestion:
        name = question.split()[1]
        at = question.index("7")
        lab = Link(5, 5 + len(name), ("lab",), name, concepts=(Concept("lab", name, ()),))
        return LinkedQuestion(question, question, (lab, Link(at, at + 1, ("pat",), 7)))


def test_at_most_four_meanings_are_told_each_with_what_it_gives() -> None:
    names = ("one", "none", "many", "broken", "fifth")
    named = Link(5, 7, ("lab",), "na", concepts=tuple(Concept("lab", n, ()) for n in names))
    text = "last na of patient 7"
    linked = LinkedQuestion(text, text, (), (("ambiguous", "na"),), ambiguous=(named,))

    def answered(other: Run, written: Written) -> Answer:
        what = other.question.text.split()[1]
        if what == "none":
            raise Withheld(Reason("empty_result", "nothing"))
        if what == "broken":
            raise LimitExceeded("too long", "wait")
        rows = ((1.5,),) if what == "one" else (("x" * 150,), ("y" * 150,))
        return Answer(other.question, Status.ANSWERED, rows=rows)

    offer = readings_of(Run(Question(text), session(DOUBTED, linker=Meanings())), linked, answered)
    one, none, many, broken = (reading["answer"] for reading in offer.readings)
    assert (one, none, broken) == ("1.5", None, None)
    assert many.endswith("...") and len(many) == 200
    assert all(reading["logical_form"] for reading in offer.readings)
