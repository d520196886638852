from __future__ import annotations

import json
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import ModelError

FIELDS = [
    "id",
    "question",
    "status",
    "scope",
    "patient_scope",
    "text",
    "value",
    "columns",
    "rows",
    "truncated",
    "choice",
    "confidence",
    "reason",
    "reading",
    "suggestions",
    "alternatives",
    "logical_form",
    "description",
    "neuralsql",
    "executed_sql",
    "evidence",
    "concepts",
    "provenance",
    "error",
]
LAST = "what was the last creatinine value of patient 101?"


def test_json_has_the_fields_of_the_interface(cli, ehr, rote):
    ran = cli("ask", LAST, "--db", ehr, "--json")
    assert ran.code == 0, ran.err
    answer = json.loads(ran.out)
    assert list(answer) == FIELDS
    assert (answer["status"], answer["value"]) == ("answered", 0.9)
    assert answer["rows"] == [[0.9]]
    assert answer["question"] == LAST
    assert answer["provenance"]["as_of"] == "2100-12-31 23:59:00"
    assert "seconds" not in ran.out and "timings" not in ran.out


def test_two_runs_give_the_same_bytes(cli, ehr, rote):
    runs = {cli("ask", LAST, "--db", ehr, "--json").out for _ in range(2)}
    assert len(runs) == 1


def test_as_of_decides_what_has_happened(cli, ehr, rote):
    ran = cli("ask", LAST, "--db", ehr, "--json", "--as-of", "2100-02-03")
    assert json.loads(ran.out)["provenance"]["as_of"] == "2100-02-03 23:59:00"


def test_text_names_the_answer_and_its_evidence(cli, ehr, rote):
    ran = cli("ask", LAST, "--db", ehr)
    assert ran.code == 0
    first, *rest = ran.out.splitlines()
    assert "0.9" in first
    assert any("evidence" in line and "labevents" in line and "2" in line for line in rest)


def test_explain_shows_form_sql_and_seconds(cli, ehr, rote):
    out = cli("ask", LAST, "--db", ehr, "--explain").out
    for label in ("form", "NeuralSQL", "executed", "seconds", "provenance"):
        assert f"  {label} " in out


def test_timings_go_to_their_file(cli, ehr, rote, tmp_path: Path):
    timings = tmp_path / "t.json"
    assert cli("ask", LAST, "--db", ehr, "--timings", timings).code == 0
    assert json.loads(timings.read_text())["total"] > 0


def test_abstention_is_exit_code_3_with_its_reason(cli, ehr, rote):
    ran = cli("ask", "what is her phone number?", "--db", ehr, "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["status"]) == (3, "abstained")
    assert answer["reason"]["kind"] and answer["reason"]["sentence"]
    assert answer["error"] is None
    assert "I don't know" in cli("ask", "what is her phone number?", "--db", ehr).out


def test_a_fault_of_the_model_is_failed_and_exit_code_1(cli, ehr, rote, monkeypatch):
    monkeypatch.setattr(rote, "broken", ModelError("the model file is corrupt", "pull it again"))
    ran = cli("ask", "how many patients are there?", "--db", ehr, "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["status"]) == (1, "failed")
    assert answer["error"] == {"message": "the model file is corrupt", "hint": "pull it again"}
    assert ran.err.splitlines() == ["error: the model file is corrupt", "hint: pull it again"]


@pytest.mark.parametrize(
    ("question", "word"),
    [("", "empty"), ("  \n ", "empty"), ("x" * 100_000, "2,000"), ("how\x1b[31m many", "U+001B")],
)
def test_bad_questions_are_one_line_and_exit_code_2(cli, ehr, rote, question, word):
    ran = cli("ask", question, "--db", ehr)
    assert (ran.code, ran.out) == (2, "")
    error, hint = ran.err.splitlines()
    assert error.startswith("error: ") and hint.startswith("hint: ")
    assert word in error + hint
    assert len(error) < 200


@pytest.mark.parametrize("as_of", ["tomorrow", "2100-13-01", ""])
def test_a_wrong_time_is_exit_code_2(cli, ehr, rote, as_of):
    ran = cli("ask", LAST, "--db", ehr, "--as-of", as_of)
    assert ran.code == 2
    assert ran.err.startswith("error: ")


def test_bad_databases_are_one_line_and_exit_code_1(cli, ehr, rote, tmp_path: Path):
    text = tmp_path / "text.sqlite"
    text.write_text("this is no database, only text that is long enough")
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    for path in (tmp_path / "none.sqlite", text, empty, tmp_path):
        ran = cli("ask", LAST, "--db", path)
        assert (ran.code, ran.out) == (1, "")
        assert [line.split(":")[0] for line in ran.err.splitlines()] == ["error", "hint"]


def test_no_database_is_a_usage_error(cli, rote):
    ran = cli("ask", LAST)
    assert ran.code == 2
    assert "--db" in ran.err


def test_the_database_may_come_from_the_environment(cli, ehr, rote, monkeypatch):
    monkeypatch.setenv("EHRQA_DB", str(ehr))
    assert cli("ask", "how many patients are there?").code == 0


def test_choices_must_be_letters(cli, ehr, rote, tmp_path: Path):
    choices = tmp_path / "choices.json"
    for text in ("[1]", "{", '{"first": "yes"}', '{"A": 1}', "{}"):
        choices.write_text(text)
        ran = cli("ask", LAST, "--db", ehr, "--choices", choices)
        assert ran.code == 2, text
        assert ran.err.startswith("error: ")


def test_an_answer_is_logged_in_a_private_file_unless_it_is_off(cli, ehr, rote, monkeypatch):
    log = Path(cli("log", "path").out.strip())
    assert cli("ask", LAST, "--db", ehr, "--no-log").code == 0
    monkeypatch.setenv("EHRQA_LOG", "off")
    assert cli("ask", LAST, "--db", ehr).code == 0
    assert not log.exists()
    monkeypatch.delenv("EHRQA_LOG")
    assert cli("ask", LAST, "--db", ehr).code == 0
    assert log.stat().st_mode & 0o777 == 0o600
    assert cli("log", "purge", "--yes").code == 0
    assert not log.exists()


def test_a_log_that_cannot_be_written_is_a_warning(cli, ehr, rote, monkeypatch, tmp_path: Path):
    monkeypatch.setenv("EHRQA_LOG_FILE", str(ehr / "log.db"))
    ran = cli("ask", LAST, "--db", ehr)
    assert ran.code == 0
    assert ran.err.startswith("warning: ")
