from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

COUNT = "how many patients are there?"


def write(path: Path, *rows: object) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(
        tmp_path / "in.jsonl",
        {"id": "a", "question": COUNT, "unknown": 1},
        "this is not JSON",
        "",
        {"id": 7, "question": "what is her phone number?"},
        {"id": "c", "question": 5},
        {"id": "d", "question": "x" * 3000},
        {"id": "e", "question": COUNT, "patient_id": "one"},
        {"id": "f", "question": "the \ud800 surrogate"},
        {"id": "g", "question": COUNT, "as_of": "never"},
        {"id": "h", "question": "last creatinine of patient?", "patient_id": 101},
    )


def test_every_line_has_its_row_in_order(cli, ehr, rote, source, tmp_path):
    out = tmp_path / "out.jsonl"
    ran = cli("batch", source, out, "--db", ehr)
    rows = read(out)
    assert ran.code == 1
    assert [row["id"] for row in rows] == ["a", None, 7, "c", "d", "e", "f", "g", "h"]
    failed = {"a": False, None: True, 7: False, "c": True, "d": True, "e": True, "f": True}
    for row in rows[:7]:
        assert (row["status"] == "failed") is failed[row["id"]], row
        assert (row["error"] is not None) is failed[row["id"]]
    assert "line 2" in rows[1]["error"]["message"]
    assert (rows[0]["status"], rows[0]["value"]) == ("answered", 2)
    assert rows[2]["status"] == "abstained"
    assert ran.out == ""
    assert "failed" in ran.err.splitlines()[-1]


def test_no_failed_row_is_exit_code_0_and_stdout_is_the_default(cli, ehr, rote, tmp_path):
    source = write(tmp_path / "in.jsonl", {"question": COUNT}, {"question": "what is her phone?"})
    ran = cli("batch", source, "--db", ehr)
    assert ran.code == 0
    assert [json.loads(line)["status"] for line in ran.out.splitlines()] == [
        "answered",
        "abstained",
    ]


def test_standard_input(cli, ehr, rote, monkeypatch):
    raw = io.BytesIO(json.dumps({"id": "é", "question": COUNT}).encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=raw))
    assert json.loads(cli("batch", "-", "--db", ehr).out)["id"] == "é"


def test_a_fault_that_is_nobodys_row_still_is_one(cli, ehr, rote, monkeypatch, tmp_path):
    source = write(
        tmp_path / "in.jsonl", {"id": 1, "question": COUNT}, {"id": 2, "question": COUNT}
    )
    monkeypatch.setattr(rote, "broken", RuntimeError("boom"))
    out = tmp_path / "out.jsonl"
    assert cli("batch", source, out, "--db", ehr).code == 1
    assert ["boom" in row["error"]["message"] for row in read(out)] == [True, True]


def test_resume_keeps_whole_rows_and_answers_the_rest(cli, ehr, rote, tmp_path):
    asked = (COUNT, "how many patients?", "how many patients now?", COUNT + " ?")
    source = write(tmp_path / "in.jsonl", *({"id": i, "question": q} for i, q in enumerate(asked)))
    out = tmp_path / "out.jsonl"
    assert cli("batch", source, out, "--db", ehr).code == 0
    whole = out.read_text()
    lines = whole.splitlines(keepends=True)
    kept = lines[0].replace('"answered"', '"kept"')
    out.write_text(kept + lines[1] + lines[2][:20])  # cut as by a crash
    assert cli("batch", source, out, "--db", ehr, "--resume").code == 0
    assert out.read_text() == kept + "".join(lines[1:])


def test_resume_refuses_the_answers_to_other_questions(cli, ehr, rote, tmp_path):
    out = tmp_path / "out.jsonl"
    first = write(tmp_path / "one.jsonl", {"id": "x", "question": COUNT})
    other = write(tmp_path / "two.jsonl", {"id": "y", "question": COUNT})
    assert cli("batch", first, out, "--db", ehr).code == 0
    before = out.read_bytes()
    ran = cli("batch", other, out, "--db", ehr, "--resume")
    assert ran.code == 2
    assert out.read_bytes() == before


def test_usage_errors(cli, ehr, rote, source, tmp_path):
    assert cli("batch", source, source, "--db", ehr).code == 2
    assert cli("batch", tmp_path / "none.jsonl", "--db", ehr).code == 2
    assert cli("batch", source, tmp_path / "no" / "out.jsonl", "--db", ehr).code == 2
    assert cli("batch", source, "--resume", "--db", ehr).code == 2


def test_a_missing_database_fails_once(cli, rote, source, tmp_path):
    ran = cli("batch", source, "--db", tmp_path / "none.sqlite")
    assert (ran.code, ran.out) == (1, "")
    assert len(ran.err.splitlines()) == 2


def test_timings_have_a_row_each(cli, ehr, rote, tmp_path):
    source = write(
        tmp_path / "in.jsonl", {"id": 1, "question": COUNT}, {"id": 2, "question": COUNT}
    )
    times = tmp_path / "times.jsonl"
    assert cli("batch", source, tmp_path / "o", "--db", ehr, "--timings", times).code == 0
    assert [row["id"] for row in read(times)] == [1, 2]
    assert all(row["total"] > 0 for row in read(times))
