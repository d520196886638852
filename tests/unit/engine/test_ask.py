"""The whole path of a question, over fakes: answers, every kind of declining, faults."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import (
    Cancelled,
    DatabaseError,
    LimitExceeded,
    ModelError,
    UsageError,
)
from ehrqa_cli.contracts.types import Link, PatientScope, Question, Scope, Status
from ehrqa_cli.engine import ask, confidence
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.store import answer_record

from .fakes import AS_OF, MemoryDatabase, Scripted, form, session, sql

LAST = form("value last lab #1 patient #2", max_entropy=0.1)
ASKED = Question("last sodium of patient 7?", id="q1")


def test_answers_with_everything_a_person_needs_to_check_it() -> None:
    answer = ask(ASKED, session(LAST))
    assert answer.status is Status.ANSWERED
    assert answer.value == 141.5 and answer.rows == ((141.5,),)
    assert "141.5" in answer.text and "sodium" in answer.text
    assert answer.scope is Scope.TABLE and answer.patient_scope is PatientScope.SINGLE
    assert answer.logical_form == 'value last lab "sodium" patient 7'
    assert answer.description and answer.neuralsql and answer.executed_sql
    assert {"kind": "row", "table": "labevents", "key": {"row_id": 12}} in answer.evidence
    assert answer.confidence is None, "never invented: nothing was measured"
    assert answer.question.id == "q1" and answer.reason_kind is None and answer.error is None


def test_provenance_repeats_the_answer_byte_for_byte() -> None:
    first, second = (answer_record(ask(ASKED, session(LAST))) for _ in range(2))
    assert json.dumps(first) == json.dumps(second)
    told = first["provenance"]
    assert told["as_of"] == AS_OF and told["database"] == "memory:1"
    assert told["models"]["text2sql"]["sha256"] == "0" * 64
    assert told["executed_sql"] == first["executed_sql"]
    assert told["thresholds"]["limit"] == Thresholds().limit
    assert {"ehrqa", "sqlite", "llama-cpp-python"} <= set(told["versions"])
    assert "timings" not in json.dumps(told)


def test_every_step_is_timed_and_told() -> None:
    seen: list[str] = []
    answer = ask(ASKED, session(LAST), lambda name, _what: seen.append(name))
    steps = [k for k in answer.timings if k != "total"]
    assert steps[:2] == ["choose", "link"] and steps[-2:] == ["tell", "add_notes"]
    assert [s for s in seen if s.endswith(".done")] == [f"{s}.done" for s in steps]
    assert seen.count("token") == len(LAST.tokens)
    assert answer.timings["total"] == pytest.approx(sum(answer.timings[s] for s in steps))


def test_as_of_binds_now() -> None:
    query = sql("SELECT current_time FROM patients WHERE subject_id = 7")
    of_session = ask(Question("patient 7"), session(query))
    assert of_session.value == AS_OF
    own = ask(Question("patient 7", as_of="2099-02-03"), session(query))
    assert own.value == "2099-02-03 23:59:00"
    assert own.provenance["as_of"] == "2099-02-03 23:59:00"


def test_patient_of_the_option_is_linked() -> None:
    answer = ask(Question("last sodium?", patient_id=7), session(LAST))
    assert answer.value == 141.5


@pytest.mark.parametrize(
    ("question", "query", "kind"),
    [
        ("last sodium of patient 28", LAST, "unknown_patient"),
        ("dose of unobtainium of patient 7", LAST, "unlinked_value"),
        ("last sodium of patient 7", form("abstain"), "model_declined"),
        ("last sodium of patient 7", form("value last lab ("), "no_form"),
        ("last sodium of patient 7", form("value last lab #9"), "no_form"),
        ("sodium of patient 7", form("value last lab #2 patient #1"), "no_form"),
        ("x-ray of patient 7", form("time last study patient #1"), "out_of_scope"),
        ("last sodium of patient 7 in 2100", LAST, "unused_value"),
        ("sodium of patient 7", form("value last lab #1 patient #2", max_entropy=3.0),
         "low_confidence"),
        ("gender of patient 7", sql("SELECT nonsense FROM patients WHERE 7"), "execution_error"),
        ("gender of patient 7", sql("DELETE FROM patients WHERE 7"), "execution_error"),
        ("when did patient 7 die", form("deathdate person patient #1"), "empty_result"),
        ("sodium of patient 7 before 1900", form("value last lab #1 patient #2 in #3"),
         "empty_result"),
        ("patient 7 and 28", sql("SELECT 1 FROM patients"), "unknown_patient"),
        ("sodium of patient 7", sql("SELECT 1 FROM patients WHERE 8"), "unused_value"),
    ],
)  # fmt: skip
def test_declines(question: str, query: object, kind: str) -> None:
    answer = ask(Question(question), session(query))
    assert (answer.status, answer.reason_kind) == (Status.ABSTAINED, kind)
    assert kind in confidence.KINDS
    assert (answer.reason and answer.reason.endswith(".")) or ":" in str(answer.reason)
    assert answer.value is None and answer.rows == () and answer.evidence == ()
    assert answer.confidence is None and answer.error is None


def test_a_fault_of_a_query_that_we_compiled_is_no_abstention() -> None:
    answer = ask(
        Question("how often was patient 7 in icu"), session(form("count icustay patient #1"))
    )
    assert answer.status is Status.FAILED
    assert "no such table" in (answer.error or {})["message"]


def test_what_there_is_no_column_for_is_not_recorded() -> None:
    class Named(MemoryDatabase):
        def schema(self) -> Mapping[str, Sequence[str]]:
            return {"labevents": ["row_id", "subject_id", "hadm_id", "itemid", "valuenum"]}

    query = form("count_patients lab #1 abnormal", max_entropy=0.1)
    answer = ask(Question("how many had an abnormal sodium test"), session(query, database=Named()))
    assert (answer.status, answer.reason_public) == (Status.ABSTAINED, "not_in_database")
    assert "does not record the normal range of lab tests" in answer.text


def test_one_of_several_values_left_out_is_a_half_of_the_question() -> None:
    links = (
        Link(0, 1, ("admtype",), "urgent"),
        Link(2, 3, ("admtype",), "elective"),
        Link(4, 5, ("dx",), "sepsis", "alias", 0.85),
    )
    assert confidence.of_unused_links(links, {1, 3}) is not None
    assert confidence.of_unused_links(links, {1, 2}) is None
    assert confidence.of_unused_links(links, {3}) is None


def test_no_query_at_all_means_the_model_declines() -> None:
    assert ask(ASKED, session()).reason_kind == "model_declined"


def test_unknown_patient_does_not_trouble_the_model() -> None:
    model = Scripted(LAST)
    ask(Question("sodium of patient 28"), session(model=model))
    assert model.asked == []


@pytest.mark.parametrize(
    ("query", "value", "word"),
    [
        ("count rx patient #1", 0, "0"),
        ("exists rx patient #1", 0, "no"),
        ("exists lab patient #1", 1, "yes"),
    ],
)
def test_zero_and_no_are_answers(query: str, value: int, word: str) -> None:
    answer = ask(Question("any drugs of patient 7"), session(form(query)))
    assert answer.status is Status.ANSWERED
    assert answer.value == value and word in answer.text


def test_forced_scope_without_a_reader_declines() -> None:
    answer = ask(ASKED, session(LAST, scope=Scope.IMAGE))
    assert answer.reason_kind == "out_of_scope" and answer.scope is Scope.IMAGE


def test_forced_scope_without_notes_declines() -> None:
    answer = ask(ASKED, session(LAST, scope=Scope.NOTE))
    assert answer.reason_kind == "no_notes" and answer.scope is Scope.NOTE
    assert answer.reason_public == "not_in_database" and "notes import" in answer.text


def test_ignored_reasons_are_noted() -> None:
    answer = ask(
        Question("last sodium of patient 7 in 2100"), session(LAST, thresholds=Thresholds.off())
    )
    assert answer.status is Status.ANSWERED
    assert answer.scores["ignored_unused_value"] == 1.0


def test_confidence_is_the_calibrated_probability() -> None:
    measured = Thresholds(weights={"max_entropy": 1.0}, limit=2.0, calibration=((0, 0.9), (1, 0.5)))
    answer = ask(ASKED, session(LAST, thresholds=measured))
    assert answer.confidence == pytest.approx(0.86)


@pytest.mark.parametrize("where", ["model", "database"])
def test_a_fault_is_failed_not_declined(where: str) -> None:
    broken = session(LAST)
    fault = {"model": ModelError("model is gone", "pull it"),
             "database": LimitExceeded("too slow", "ask for less")}[where]  # fmt: skip
    getattr(broken, where).fail = fault
    answer = ask(ASKED, broken)
    assert answer.status is Status.FAILED and answer.reason_kind is None
    assert answer.error == {"message": fault.message, "hint": fault.hint}


def test_a_database_that_breaks_gives_a_failed_answer() -> None:
    class Broken(MemoryDatabase):
        def fingerprint(self) -> str:
            raise DatabaseError("damaged", "import again")

    database = Broken()
    database.fail = LimitExceeded("too slow", "ask for less")
    answer = ask(ASKED, session(LAST, database=database))
    assert answer.status is Status.FAILED and answer.provenance["database"] is None


def test_a_missing_database_gives_a_failed_answer(tmp_path: Path) -> None:
    from ehrqa_cli.engine import open_session

    with open_session(tmp_path / "none.sqlite", log=False) as missing:
        answer = ask(ASKED, missing)
    assert answer.status is Status.FAILED and answer.error and answer.error["hint"]


def test_cancelling_is_not_an_answer() -> None:
    broken = session(LAST)
    broken.database.fail = Cancelled("cancelled", "")  # type: ignore[attr-defined]
    with pytest.raises(Cancelled):
        ask(ASKED, broken)


@pytest.mark.parametrize("text", ["", "  \n\t", "\x00\x1b\u200b", "x" * 2001])
def test_empty_and_endless_questions_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError):
        ask(Question(text), session(LAST))


def test_control_characters_never_reach_the_model_or_the_answer() -> None:
    model = Scripted(LAST)
    answer = ask(Question("last\x1b[2J sodium\x00 of\npatient 7\u202e?"), session(model=model))
    assert model.asked[0].question == "last [2J sodium of patient 7 ?"
    assert answer.question.text == model.asked[0].question


def test_text_of_the_question_cannot_become_sql() -> None:
    database = MemoryDatabase()
    ask(Question("sodium of patient 7; drop table patients"), session(LAST, database=database))
    assert not any("drop" in asked.lower() for asked in database.asked)


def test_long_lists_say_how_many_more() -> None:
    query = sql(
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1500)"
        " SELECT x FROM c WHERE 7"
    )
    answer = ask(Question("patient 7"), session(query))
    assert answer.truncated and len(answer.rows) == 1000
    assert "10; and at least 990 more" in answer.text
    assert "first 1,000 rows" in answer.text


def test_answers_are_logged_when_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    monkeypatch.setenv("EHRQA_LOG_FILE", str(tmp_path / "log.db"))
    ask(ASKED, session(LAST, log=False))
    assert not (tmp_path / "log.db").exists()
    ask(ASKED, session(LAST, log=True))
    with sqlite3.connect(tmp_path / "log.db") as log:
        rows = log.execute("SELECT question, status FROM answers").fetchall()
    log.close()
    assert rows == [(ASKED.text, "answered")]
