"""``ehrqa eval emrqa`` and ``rankings`` on small made-up trees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTE = "Seen today.\nFurosemide 40 mg daily.\n"


@pytest.fixture
def emr_data(tmp_path: Path) -> Path:
    folder = tmp_path / "emrqa"
    folder.mkdir()
    answer = {
        "answer_entity_type": "single",
        "text": "40 mg",
        "evidence": "Furosemide 40 mg daily.",
        "evidence_start": 2,
    }
    qas = [{"id": [["q", "q"]], "question": ["dose of furosemide ?"], "answers": [answer]}]
    part = {"title": "medication", "paragraphs": [{"note_id": 1, "context": NOTE, "qas": qas}]}
    (folder / "data.json").write_text(json.dumps({"data": [part]}))
    return folder


def test_they_are_listed(cli):
    listed = cli("eval", "list").out
    assert all(f"{name}  " in listed for name in ("emrqa", "rankings"))


def test_a_reader_through_the_desk(cli, first_line, emr_data):
    flags = ("eval", "emrqa", "--data", emr_data, "--finder", "reader", "--reader", "first")
    ran = cli(*flags)
    assert ran.code == 0, ran.err
    assert "all\t1\t1\t100.0" in ran.out


def test_emrqa(cli, emr_data, tmp_path):
    ran = cli("eval", "emrqa", "--data", emr_data, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert "all\t1\t1\t100.0" in ran.out and "predictor  finder bm25" in ran.out
    (tmp_path / "p.json").write_text('{"medication/1/0": ["Seen today."]}')
    ran = cli("eval", "emrqa", "--data", emr_data, "--predictions", tmp_path / "p.json")
    assert ran.code == 0 and "all\t1\t1\t0.0" in ran.out


def test_emrqa_needs_what_its_task_reads(cli, emr_data, tmp_path):
    assert cli("eval", "emrqa").code == 2
    ran = cli("eval", "emrqa", "--task", "forms", "--db", tmp_path / "no.sqlite")
    assert ran.code == 1 and "no.sqlite" in ran.err
    ran = cli("eval", "emrqa", "--task", "classes", "--data", emr_data)
    assert ran.code == 1 and "no labelled records" in ran.err and "i2b2" in ran.err


def test_rankings(cli, tmp_path):
    (tmp_path / "s.csv").write_text("system,ours,A\nx,1,10\ny,2,30\nz,3,20\n")
    ran = cli("eval", "rankings", tmp_path / "s.csv")
    assert ran.code == 0 and "A\t0.50\t0.33\t3" in ran.out
    ran = cli("eval", "rankings", tmp_path / "none.csv")
    assert ran.code == 1 and "none.csv" in ran.err


def test_wrong_paths(cli, tmp_path):
    flags = ("eval", "emrqa")
    ran = cli(*flags, "--data", tmp_path / "nowhere")
    assert ran.code == 1 and "does not exist" in ran.err
    (tmp_path / "empty").mkdir()
    ran = cli(*flags, "--data", tmp_path / "empty")
    assert ran.code == 1 and "expected one of" in ran.err
    (tmp_path / "empty" / "data.json").write_text('{"data": [')
    ran = cli(*flags, "--data", tmp_path / "empty")
    assert ran.code == 1 and "fetch it again" in ran.err
