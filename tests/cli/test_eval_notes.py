"""``ehrqa eval ehrnoteqa`` on a small made-up tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTE = "Seen today.\nFurosemide 40 mg daily.\n"


@pytest.fixture
def notes_data(tmp_path: Path) -> Path:
    folder = tmp_path / "noteqa"
    folder.mkdir()
    note = {"note_id": "n1", "patient_id": "7", "charttime": "2010-01-01", "text": NOTE}
    (folder / "notes.jsonl").write_text(json.dumps(note))
    choices = {"A": "20 mg", "B": "40 mg"}
    evidence = [{"note_id": "n1", "text": "Furosemide 40 mg daily."}]
    asked = [
        {"id": "q1", "answer": "B", "answer_text": "40 mg daily", "evidence": evidence},
        {"id": "q2", "answer": None, "answer_text": None, "evidence": []},
    ]
    rows = [{"patient_id": "7", "question": "Dose?", "choices": choices, **row} for row in asked]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """As `ehrqa batch` writes them."""
    start = NOTE.index("Furosemide")
    cited = {"kind": "note", "note_id": "n1", "start": start, "end": start + 16}
    cited["excerpt"] = NOTE[start : start + 16]
    reason = {"kind": "not stated", "text": "the notes do not say"}
    rows = [
        {
            "id": "q1",
            "status": "answered",
            "text": "40 mg.",
            "value": "40 mg",
            "choice": "B",
            "evidence": [cited],
        },
        {"id": "q2", "status": "abstained", "text": "", "evidence": [], "reason": reason},
    ]
    path = tmp_path / "p.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_it_is_listed(cli):
    assert "ehrnoteqa  " in cli("eval", "list").out


def test_ehrnoteqa(cli, notes_data, answers, tmp_path):
    out = tmp_path / "out"
    flags = ("eval", "ehrnoteqa", "--data", notes_data, "--predictions", answers)
    ran = cli(*flags, "--out", out)
    assert ran.code == 0, ran.err
    assert "all\t1\t100.0" in ran.out and "top 1\t100.0" in ran.out
    assert "without an answer\t1\t0.0 (0.0-79.3)\t100.0" in ran.out
    assert (out / "report.md").is_file() and (out / "report.json").is_file()
    last = json.loads((out / "records.jsonl").read_text().split("\n")[2])
    assert last["status"] == "abstained" and last["why"] == "not stated"
    assert cli(*flags, "--out", out).out == ran.out
    ran = cli(*flags, "--format", "free-text", "--judge", "f1", "--json")
    found = json.loads(ran.out)["scores"]
    assert found["exact"]["value"] == 0.0 and found["F1"]["value"] == 0.8
    assert found["judge"]["takes"] == [pytest.approx(80.0)] * 5


def test_a_reader_through_the_desk(cli, first_line, notes_data):
    rows = [json.loads(line) for line in (notes_data / "questions.jsonl").read_text().split("\n")]
    rows[0]["question"], rows[1]["question"] = "What dose of furosemide?", "who said furosemide?"
    (notes_data / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flags = ("eval", "ehrnoteqa", "--data", notes_data, "--reader", "first")
    ran = cli(*flags)
    assert ran.code == 0, ran.err
    assert (
        "all\t1\t100.0" in ran.out
        and "top 1\t100.0" in ran.out
        and "0 faulty and not counted" in ran.out
    )
    assert "without an answer\t1\t0.0 (0.0-79.3)\t100.0" in ran.out
    assert "reader first, model none" in ran.out
    ran = cli(*flags, "--format", "free-text", "--json")
    assert json.loads(ran.out)["scores"]["F1"]["value"] == pytest.approx(6 / 7)


def test_a_reader_that_is_not_there(cli, notes_data):
    ran = cli("eval", "ehrnoteqa", "--data", notes_data, "--reader", "nobody")
    assert ran.code == 2 and "nobody" in ran.err


def test_wrong_paths(cli, answers, tmp_path):
    flags = ("eval", "ehrnoteqa", "--predictions", answers)
    ran = cli(*flags, "--data", tmp_path / "nowhere")
    assert ran.code == 1 and "does not exist" in ran.err
    (tmp_path / "empty").mkdir()
    ran = cli(*flags, "--data", tmp_path / "empty")
    assert ran.code == 1 and "expected one of" in ran.err
    (tmp_path / "empty" / "EHRNoteQA.jsonl").write_text('{"data": [')
    ran = cli(*flags, "--data", tmp_path / "empty")
    assert ran.code == 1 and "fetch it again" in ran.err


def test_predictions_that_lack(cli, notes_data, tmp_path):
    path = tmp_path / "p.json"
    flags = ("eval", "ehrnoteqa", "--data", notes_data, "--predictions", path)
    ran = cli(*flags)
    assert ran.code == 1 and "cannot read" in ran.err
    path.write_text('{"q1": "B"}')
    ran = cli(*flags)
    assert ran.code == 1 and "lacks 1 of 2" in ran.err and "q2" in ran.err
    path.write_text("not json")
    ran = cli(*flags)
    assert ran.code == 1 and "holds no predictions" in ran.err
