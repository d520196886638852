from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from ehrqa_cli.contracts.types import Query
from ehrqa_cli.engine import calibrated

COUNT = "how many patients are there?"


class Doubter:
    """Right where it is sure; its entropy tells."""

    def generate(self, question, on_token=None):
        if "surely" in question.text:
            return [Query(None, "count_patients person", scores={"max_entropy": 0.01})]
        if "maybe" in question.text:
            return [Query(None, "count_patients person female", scores={"max_entropy": 1.0})]
        return []


@pytest.fixture
def doubter(rote, monkeypatch):
    monkeypatch.setattr(rote, "generate", Doubter.generate)
    # 20 wrong answers shall do, so that nothing here depends on the shipped model's weights.
    monkeypatch.setattr("ehrqa_cli.evaluate.thresholds.ENOUGH_WRONG", 10)
    return rote


def rows(n: int = 20) -> list[dict]:
    sql = "SELECT count(*) FROM patients"
    right = [
        {"question": f"surely {'so ' * i}how many patients?", "gold_sql": sql} for i in range(n)
    ]
    wrong = [{"question": f"maybe {'so ' * i}how many patients?", "answer": 2} for i in range(n)]
    none = [{"question": f"her phone {i}?", "answerable": False} for i in range(n)]
    return [*right, *wrong, *none]


def write(path: Path, found: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return path


def test_it_chooses_and_ask_then_uses_it(cli, ehr, doubter, tmp_path):
    source = write(tmp_path / "mine.jsonl", rows())
    ran = cli("calibrate", "--questions", source, "--db", ehr)
    assert ran.code == 0, ran.err
    path = calibrated.path_for(ehr)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    told = dict(line.split(maxsplit=1) for line in ran.out.splitlines())
    assert told["questions"] == "60 (40 answerable)" and str(path) in ran.out
    assert "expected wrong  0 of 60" in ran.out and "answered right  20 (50.0%" in ran.out
    for word, code in (("surely", 0), ("maybe", 3)):
        ran = cli("ask", f"{word} how many patients?", "--db", ehr, "--json")
        assert ran.code == code
        thresholds = json.loads(ran.out)["provenance"]["thresholds"]
        assert thresholds["from"] == "calibrated on this database"
        assert thresholds["source"]["questions"] == 60


def test_out_writes_elsewhere_and_ask_takes_the_file(cli, ehr, doubter, tmp_path):
    source, out = write(tmp_path / "mine.jsonl", rows()), tmp_path / "t.json"
    ran = cli(
        "calibrate", "--questions", source, "--db", ehr, "--out", out, "--json",
        "--goal", "precision=0.9",
    )  # fmt: skip
    assert json.loads(ran.out)["source"]["goal"] == "precision=0.9"
    assert not calibrated.path_for(ehr).exists()
    ran = cli("ask", "maybe how many patients?", "--db", ehr, "--json", "--thresholds", out)
    assert json.loads(ran.out)["provenance"]["thresholds"]["from"] == "the file t.json"
    assert ran.code == 3
    goal = ("--thresholds", out, "--goal", "penalty=0")
    easy = cli("ask", "surely how many patients?", "--db", ehr, "--json", *goal)
    assert json.loads(easy.out)["provenance"]["thresholds"]["source"]["goal"] == "penalty=0"
    assert cli("ask", "x?", "--db", ehr, "--thresholds", out, "--goal", "penalty=3").code == 2


def test_csv_is_read_too(cli, ehr, doubter, tmp_path):
    lines = ["question,answer,answerable"]
    lines += [f"surely {'so ' * i}how many patients,2,true" for i in range(25)]
    lines += [f"maybe {'so ' * i}how many patients,2," for i in range(25)]
    lines += [f'"her phone, {i}",,false' for i in range(5)]
    source = tmp_path / "mine.csv"
    source.write_text("\n".join(lines))
    ran = cli("calibrate", "--questions", source, "--db", ehr)
    assert ran.code == 0, ran.err
    assert "55 (50 answerable)" in ran.out and "answered right  25" in ran.out


def test_too_few_questions_are_refused_with_a_hint(cli, ehr, doubter, tmp_path):
    source = write(tmp_path / "mine.jsonl", rows(10))
    ran = cli("calibrate", "--questions", source, "--db", ehr)
    assert (ran.code, ran.out) == (2, "")
    assert "30 questions" in ran.err and "at least 50" in ran.err


def test_all_right_teaches_nothing(cli, ehr, doubter, tmp_path):
    found = [row for row in rows(60) if "maybe" not in row["question"]]
    ran = cli("calibrate", "--questions", write(tmp_path / "m.jsonl", found), "--db", ehr)
    assert ran.code == 1 and ran.err.startswith("error: ")
    assert not calibrated.path_for(ehr).exists()


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("not json", "line 1"),
        ("[1]", "question 1"),
        ('{"question": ""}', "question"),
        ('{"question": "how many?"}', "gold"),
        ('{"question": "how many?", "answer": "[1"}', "answer"),
        ('{"question": "how many?", "answer": 1, "patient_id": "x"}', "patient_id"),
    ],
)
def test_a_wrong_line_is_named(cli, ehr, doubter, tmp_path, line, word):
    source = tmp_path / "mine.jsonl"
    source.write_text(line + "\n")
    ran = cli("calibrate", "--questions", source, "--db", ehr)
    assert (ran.code, ran.out) == (2, "")
    assert word in ran.err and len(ran.err.splitlines()) == 2


def test_a_gold_query_that_does_not_run_is_named(cli, ehr, doubter, tmp_path):
    found = [*rows(), {"question": "surely all patients", "gold_sql": "DELETE FROM patients"}]
    ran = cli("calibrate", "--questions", write(tmp_path / "m.jsonl", found), "--db", ehr)
    assert ran.code == 1 and "surely all patients" in ran.err


def test_a_wrong_goal_is_a_usage_error(cli, ehr, doubter, tmp_path):
    source = write(tmp_path / "mine.jsonl", rows())
    assert cli("calibrate", "--questions", source, "--db", ehr, "--goal", "fun").code == 2


def test_careful_without_its_model_says_how_to_pull_it(cli, ehr, rote):
    ran = cli("ask", COUNT, "--db", ehr, "--careful", "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["status"]) == (1, "failed")
    assert "ehrqa models pull qwen2.5-coder-1.5b" in answer["error"]["hint"]
