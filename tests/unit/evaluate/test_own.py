"""A user's own file of questions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.benchmarks import BenchmarkItem
from ehrqa_cli.contracts.errors import DatabaseError, EvaluationError
from ehrqa_cli.contracts.types import Answer, Question, Row, Status
from ehrqa_cli.engine import open_session
from ehrqa_cli.evaluate.own import OwnQuestions
from ehrqa_cli.evaluate.plugged import PluggedRun


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def nothing(_sql: str) -> tuple[Row, ...]:
    raise AssertionError("nothing is to be run")


def answered(*rows: Row) -> Answer:
    return Answer(Question("q"), Status.ANSWERED, rows=rows)


def test_what_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.jsonl",
        {"id": 7, "question": "a?", "gold_sql": "SELECT 1", "tier": 2, "patient_id": 5},
        {"question": "b?", "gold_answer": [["x", 1]], "gold_sql": "SELECT 2"},
        {"question": "c?", "answer": ["x", "y"], "group": "g"},
        {"question": "d?", "gold_sql": None, "gold_answer": None},
        {"question": "e?", "answerable": False},
    )
    items = OwnQuestions().load(path, "valid")
    assert [i.question.id for i in items] == ["7", "2", "3", "4", "5"]
    assert [i.group for i in items] == ["2", "", "g", "", ""]
    assert items[0].question.patient_id == 5
    assert [i.gold for i in items] == [
        {"sql": "SELECT 1"},
        {"rows": [["x", 1]]},
        {"rows": [["x"], ["y"]]},
        None,
        None,
    ]
    (tmp_path / "questions.jsonl").write_text(path.read_text())
    assert OwnQuestions().load(tmp_path, "valid") == items


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([{"question": "a?"}], "has no gold"),
        ([{"question": "a?", "answerable": True}], "has no gold"),
        ([{"question": " ", "answer": 1}], "has no text"),
        ([{"answer": 1}], "has no question"),
        ([{"question": "a?", "answer": {"x": 1}}], "is no rows"),
        ([{"question": "a?", "answer": 1, "patient_id": "7"}], "patient_id"),
        ([{"id": 1, "question": "a?", "answer": 1}] * 2, "two questions with the id 1"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, lines: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(EvaluationError, match=told) as raised:
        OwnQuestions().load(write(tmp_path / "x.jsonl", *lines), "valid")
    assert raised.value.hint


@pytest.mark.parametrize(
    ("rows", "right"),
    [
        ([("x", 1.0004), ("y", 2)], True),
        ([("y", 2.0), ("x", 1.0)], True),
        ([("x", 1.002), ("y", 2)], False),
        ([("x", 1), ("y", 2), ("z", 3)], False),
        ([(1, "x"), (2, "y")], False),
        ([], False),
    ],
)
def test_rows_count_as_a_set_to_three_decimals(rows: list[Row], right: bool) -> None:
    item = BenchmarkItem(Question("q", "1"), {"rows": [["x", 1], ["y", 2]]})
    assert OwnQuestions().score(item, answered(*rows), nothing) == {"correct": right}


def test_gold_sql_is_run_and_a_broken_one_is_the_file_s_fault() -> None:
    item = BenchmarkItem(Question("q", "1"), {"sql": "SELECT 5"})
    ran: list[str] = []

    def execute(sql: str) -> tuple[Row, ...]:
        ran.append(sql)
        return ((5,),)

    assert OwnQuestions().score(item, answered((5,)), execute) == {"correct": True}
    assert ran == ["SELECT 5"]

    def broken(_sql: str) -> tuple[Row, ...]:
        raise DatabaseError("no such table: x", "")

    with pytest.raises(EvaluationError, match="gold SQL of 1 does not run: no such table"):
        OwnQuestions().score(item, answered((5,)), broken)
    declined = Answer(Question("q"), Status.ABSTAINED)
    assert OwnQuestions().score(item, declined, nothing) == {"correct": False}


def test_figures_are_those_of_ehrsql() -> None:
    def record(gold: Any, status: str, correct: bool = False) -> dict[str, Any]:
        return {"gold": gold, "status": status, "correct": correct}

    found = OwnQuestions().aggregate(
        [
            record({"rows": [[1]]}, "answered", True),
            record({"rows": [[1]]}, "answered"),
            record({"rows": [[1]]}, "abstained"),
            record(None, "abstained"),
            record(None, "failed"),
        ]
    )
    assert found["RS(0)"] == pytest.approx(40.0)  # the right one, and the one rightly declined
    assert found["RS(10)"] == pytest.approx(100 * (1 - 10 + 0 + 1 + 0) / 5)
    assert found["P_exe"] == pytest.approx(50.0)
    assert found["R_exe"] == pytest.approx(100 / 3)


def test_every_row_of_a_long_answer_is_scored(ehr: Path) -> None:
    gold = BenchmarkItem(Question("q", "1"), {"sql": "SELECT row_id FROM labevents"})
    with open_session(ehr, log=False) as session:
        run = PluggedRun(OwnQuestions(), ehr, "valid", session)
        cut = Answer(gold.question, Status.ANSWERED, rows=((0,),), truncated=True)
        whole = replace(cut, neuralsql="SELECT row_id FROM labevents")
        other = replace(cut, neuralsql="SELECT row_id FROM labevents WHERE row_id < 2")
        found = [run._record(gold, answer)["correct"] for answer in (cut, whole, other)]
    assert found == [False, True, False]
