"""A user's own file of questions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.benchmarks import BenchmarkItem, Measured
from ehrqa_cli.contracts.errors import DatabaseError, EvaluationError
from ehrqa_cli.contracts.types import Answer, Question, Row, Status
from ehrqa_cli.engine import open_session
from ehrqa_cli.evaluate.answering import executor
from ehrqa_cli.evaluate.answering import whole as rest
from ehrqa_cli.evaluate.own import OwnQuestions
from ehrqa_cli.evaluate.rows import same_rows


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
        {"question": "f?", "gold_sql": ["SELECT 1", "SELECT 2"]},
        {"id": "7th", "question": "g?", "answers": [["x", "y"], 7]},
        {"question": "h?", "answers": [["x", "y"]]},
    )
    items = OwnQuestions().load(path, "valid")
    assert [i.question.id for i in items] == ["7", "2", "3", "4", "5", "6", "7th", "8"]
    assert [i.group for i in items] == ["2", "", "g", *[""] * 5]
    assert items[0].question.patient_id == 5
    assert [i.gold for i in items] == [
        {"sql": "SELECT 1"},
        {"rows": [["x", 1]]},
        {"rows": [["x"], ["y"]]},
        None,
        None,
        {"any": [{"sql": "SELECT 1"}, {"sql": "SELECT 2"}]},
        {"any": [{"rows": [["x"], ["y"]]}, {"rows": [[7]]}]},
        {"rows": [["x"], ["y"]]},
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
        ([{"question": "a?", "answers": 5}], "answers are no list"),
        ([{"question": "a?", "answers": []}], "has no gold"),
        ([{"question": "a?", "answers": [[{"x": 1}]]}], "is no rows"),
        ([{"question": "a?", "gold_sql": ["SELECT 1", None]}], "has no gold"),
        ([{"question": "a?", "answer": 1, "patient_id": "x7"}], "patient_id"),
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
        ([(1, "x"), (2, "y")], True),  # in another order of columns
        ([(2, "x"), (1, "y")], False),
        ([], False),
    ],
)
def test_rows_count_as_a_set_in_any_order_of_columns(rows: list[Row], right: bool) -> None:
    item = BenchmarkItem(Question("q", "1"), {"rows": [["x", 1], ["y", 2]]})
    assert OwnQuestions().score(item, answered(*rows), nothing)["correct"] is right


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
        execute = executor(session)
        cut = Answer(gold.question, Status.ANSWERED, rows=((0,),), truncated=True)
        whole = replace(cut, neuralsql="SELECT row_id FROM labevents")
        other = replace(cut, neuralsql="SELECT row_id FROM labevents WHERE row_id < 2")
        found = [
            OwnQuestions().record(gold, rest(answer, execute), execute)["correct"]
            for answer in (cut, whole, other)
        ]
    assert found == [False, True, False]


def test_any_of_several_golds_is_right() -> None:
    item = BenchmarkItem(Question("q", "1"), {"any": [{"sql": "SELECT 5"}, {"rows": [["x", 1]]}]})

    def execute(_sql: str) -> tuple[Row, ...]:
        return ((5,),)

    for rows, right in (((5,), True), ((1, "x"), True), ((6,), False)):
        found = OwnQuestions().score(item, answered(rows), execute)
        assert found["correct"] is right, rows
    assert found["wanted"] == [[[5]], [["x", 1]]]
    assert OwnQuestions().perfect(item, execute).rows == ((5,),)


def test_many_columns_that_are_alike_take_no_time() -> None:
    gold = [tuple(range(k, k + 12)) for k in range(40)]
    same = [tuple(reversed(row)) for row in gold]
    assert same_rows(same, gold) and not same_rows([*same[1:], (0,) * 12], gold)
    alike = [(1,) * 12 + (k,) for k in range(40)]
    assert same_rows([(k, *(1,) * 12) for k in range(40)], alike)


def test_what_became_of_the_questions_and_the_wrong_ones() -> None:
    def record(key: str, gold: Any, status: str, **more: Any) -> dict[str, Any]:
        found = {"id": key, "question": f"question {key}", "group": "", "gold": gold}
        return {**found, "status": status, "correct": False, "prediction": [[1]], **more}

    rows = {"rows": [[2]]}
    records = [
        record("a", rows, "answered", correct=True),
        record("b", rows, "answered", wanted=[[[2]], [[3, 4]]]),
        record("c", None, "answered"),
        record("d", {"sql": "SELECT 3"}, "answered", why="no such table"),
        record("e", rows, "abstained"),
        record("f", None, "abstained"),
        record("g", None, "abstained"),
        record("h", rows, "failed"),
    ]
    found = OwnQuestions().figures(Measured([], records))
    assert found.scores["outcomes"] == {
        "right": 1,
        "wrong": 3,
        "declined": 3,
        "declined rightly": 2,
        "declined though there is an answer": 1,
        "failed": 1,
    }
    first, *_, wrong = found.tables
    assert first.printed()[1] == ("wrong", "3", "37.5")
    assert wrong.printed() == [
        ("b", "question b", "1", "2 or 3, 4"),
        ("c", "question c", "1", "to be declined"),
        ("d", "question d", "no such table", "SELECT 3"),
    ]
    assert OwnQuestions().figures(Measured([], records[:1])).tables[-1].title != wrong.title


@pytest.mark.parametrize(
    ("rows", "gold", "right"),
    [
        ([(7.387419,)], [[7.39]], True),
        ([(7.387419,)], [[7.4]], True),
        ([(7.387419,)], [[7.38]], False),
        ([(7.387419,)], [[7.387]], True),
        ([(7.387419,)], [[7]], False),  # nobody rounds to whole numbers without saying so
        ([("ap", 65.2654), ("pa", 34.7345)], [["ap", 65.27], ["pa", 34.73]], True),
        ([("ap", 65.2654), ("pa", 34.7345)], [["ap", 65.27], ["pa", 34.74]], False),
    ],
)
def test_gold_that_was_rounded_is_met_by_what_rounds_to_it(
    rows: list[tuple[object, ...]], gold: list[list[object]], right: bool
) -> None:
    assert same_rows(rows, gold) is right  # type: ignore[arg-type]
