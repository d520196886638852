"""``--tentative`` and ``ehrqa teach``: a reading is shown unchecked, and kept if it was meant."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path

import pytest

from ehrqa_cli.cli.answer_options import AnswerOptions
from ehrqa_cli.cli.chat.plain import plain_chat
from ehrqa_cli.engine import Mode

# RoteModel counts all patients for it, which leaves the year out.
DOUBTED = "how many patients were there in 2100?"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EHRQA_LOG_FILE", str(tmp_path / "state" / "answers.db"))
    monkeypatch.delenv("EHRQA_TAUGHT", raising=False)
    return tmp_path / "state"


def test_a_refusal_says_in_a_line_how_it_read_the_question(cli, ehr, rote):
    ran = cli("ask", DOUBTED, "--db", ehr)
    assert ran.code == 3
    line = ran.out.splitlines()[1].strip()
    assert line.startswith("I read it as: ") and line.endswith("--tentative runs it, unchecked.")
    assert "\n  read as" not in ran.out, "it is said once"
    answer = json.loads(cli("ask", DOUBTED, "--db", ehr, "--json").out)
    assert set(answer["reading"]) == {"logical_form", "description", "concepts", "runs"}
    assert answer["reading"]["description"] in line
    assert "I read it" not in cli("ask", "why?", "--db", ehr).out


def test_tentative_is_shown_as_unverified_and_ends_well(cli, ehr, rote):
    ran = cli("ask", DOUBTED, "--db", ehr, "--tentative")
    assert ran.code == 0 and ran.out.startswith("Unverified: ")
    assert "Not checked: The query found for it does not use “2100”" in ran.out
    assert "ehrqa teach add keeps it" in ran.out and "confidence" not in ran.out
    answer = json.loads(cli("ask", DOUBTED, "--db", ehr, "--tentative", "--json").out)
    assert (answer["status"], answer["value"], answer["confidence"]) == ("tentative", 2, None)
    assert answer["reason"]["signal"] == "unused_value" and answer["reading"]["runs"]


def test_a_batch_has_tentative_rows_and_counts_them(cli, ehr, rote, tmp_path):
    questions, out = tmp_path / "in.txt", tmp_path / "out.jsonl"
    questions.write_text(f"{DOUBTED}\nhow many patients are there?\nwhy?\n")
    ran = cli("batch", questions, out, "--db", ehr, "--tentative", "--workers", "1")
    assert ran.code == 0, ran.err
    statuses = [json.loads(line)["status"] for line in out.read_text().splitlines()]
    assert statuses == ["tentative", "answered", "abstained"]
    assert "1 answered, 1 tentative, 1 abstained, 0 failed" in ran.err
    ran = cli("batch", questions, tmp_path / "plain.jsonl", "--db", ehr, "--workers", "1")
    assert "1 answered, 2 abstained, 0 failed" in ran.err


def test_what_was_taught_is_answered_from_then_on(cli, ehr, rote, state):
    ran = cli("teach", "add", DOUBTED, "--db", ehr, "--yes")
    assert ran.code == 0 and "Unverified: " in ran.out and "kept: " in ran.err
    assert stat.S_IMODE((state / "taught.jsonl").stat().st_mode) == 0o600
    assert "2100" not in (state / "taught.jsonl").read_text()
    answer = json.loads(cli("ask", DOUBTED.replace("2100", "2099"), "--db", ehr, "--json").out)
    assert (answer["status"], answer["value"], answer["confidence"]) == ("answered", 2, None)
    assert "when" in answer["provenance"]["taught"] and "taught" in answer["text"]
    other = cli("ask", "how many patients were not there in 2100?", "--db", ehr)
    assert other.code == 3, "a negation is another wording"


def test_what_was_taught_is_answered_in_a_batch_and_can_be_off(
    cli, ehr, rote, tmp_path, monkeypatch
):
    cli("teach", "add", DOUBTED, "--db", ehr, "--yes")
    questions, out = tmp_path / "in.txt", tmp_path / "out.jsonl"
    questions.write_text(f"{DOUBTED}\n")
    assert cli("batch", questions, out, "--db", ehr).code == 0
    assert json.loads(out.read_text())["status"] == "answered"
    monkeypatch.setenv("EHRQA_TAUGHT", "off")
    assert cli("ask", DOUBTED, "--db", ehr).code == 3


def test_it_asks_before_it_keeps(cli, ehr, rote, state, monkeypatch):
    for typed, code, kept in (("n\n", 3, False), ("y\n", 0, True)):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        assert cli("teach", "add", DOUBTED, "--db", ehr).code == code
        assert (state / "taught.jsonl").exists() is kept


def test_there_may_be_nothing_to_teach(cli, ehr, rote, state):
    sure = cli("teach", "add", "how many patients are there?", "--db", ehr, "--yes")
    assert sure.code == 0 and "answered already" in sure.err
    none = cli("teach", "add", "why?", "--db", ehr, "--yes")
    assert none.code == 3 and "no reading" in none.err
    assert not (state / "taught.jsonl").exists()


def test_the_list_the_export_and_forgetting(cli, ehr, rote, state):
    assert "nothing was taught yet" in cli("teach", "list").err
    cli("teach", "add", DOUBTED, "--db", ehr, "--yes")
    listed = cli("teach", "list").out
    assert listed.startswith("1  how many patients were there in <year>#1")
    assert "count_patients person" in listed
    record = json.loads(cli("teach", "export").out)
    assert record["links"] == [["year"]] and record["form"] == "count_patients person"
    assert cli("teach", "remove", "2").code == 2
    assert cli("teach", "remove", "1").code == 0
    assert cli("ask", DOUBTED, "--db", ehr).code == 3


def test_a_damaged_file_is_one_line_with_the_next_step(cli, ehr, rote, state):
    state.mkdir()
    (state / "taught.jsonl").write_text("{\n")
    for ran in (cli("teach", "list"), cli("ask", DOUBTED, "--db", ehr)):
        assert ran.code == 1 and not ran.out
        assert "line 1 is no entry" in ran.err and "EHRQA_TAUGHT=off" in ran.err


def test_a_form_of_another_version_is_ignored_with_a_warning(cli, ehr, rote, state):
    cli("teach", "add", DOUBTED, "--db", ehr, "--yes")
    file = state / "taught.jsonl"
    file.write_text(file.read_text().replace("count_patients person", "counted person"))
    ran = cli("ask", DOUBTED, "--db", ehr)
    assert ran.code == 3 and "warning: what was taught for “how many patients" in ran.err
    assert "cannot be read any more" in cli("teach", "list").out


def test_in_a_chat_it_is_run_and_taught(cli, ehr, rote, state, monkeypatch, capsys):
    lines = ["/run", "/teach", DOUBTED, "/run", "/teach", DOUBTED.replace("2100", "2099"), "/run"]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    options = AnswerOptions(
        db=ehr, as_of=None, patient=None, scope=None, model="local", log=False,
        mode=Mode.NORMAL, goal=None, thresholds=None, scene_graphs=None,
    )  # fmt: skip
    assert plain_chat(options) == 0
    out, err = capsys.readouterr()
    said = ("/run runs it, unchecked", "Unverified: ", "kept: “", "Read as taught")
    places = [out.index(one) for one in said]
    assert places == sorted(places) and "/teach keeps it" in out
    assert "there is no withheld answer in this conversation" in err
    assert "there is no unverified answer in this conversation" in err
