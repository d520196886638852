"""EHRSQL: both layouts, predictions, resuming, the report; and the published answers."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from engine.fakes import AS_OF, MemoryDatabase

from ehrqa_cli.contracts.benchmarks import Reads
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.evaluate.ehrsql import benchmark, execution, load, run_ehrsql
from ehrqa_cli.evaluate.journal import Journal
from ehrqa_cli.evaluate.predictions import read_predictions
from ehrqa_cli.evaluate.records import Record, read_records, split_record
from ehrqa_cli.evaluate.rows import comparable
from ehrqa_cli.evaluate.systems import Chosen

GOLD = "SELECT valuenum FROM labevents WHERE subject_id = 7"
ITEM = load.Item("a", "sodium of 7?", GOLD)
NONE = load.Item("n", "who is on call?", None)


def judge(*unseen: str) -> execution.Judge:
    return execution.Judge(MemoryDatabase(), AS_OF, frozenset(unseen))


def write_2024(folder: Path, **labels: str | None) -> Path:
    split = folder / "valid"
    split.mkdir(parents=True)
    entries = [{"id": key, "question": f"question {key}"} for key in labels]
    (split / "data.json").write_text(json.dumps({"version": "v9", "data": entries}))
    (split / "label.json").write_text(json.dumps({k: v or "null" for k, v in labels.items()}))
    return folder


def test_2024_layout(tmp_path: Path) -> None:
    found = load.load_ehrsql(write_2024(tmp_path, a=GOLD, n=None), "valid")
    assert [i.gold for i in found.items] == [GOLD, None]
    assert (
        found.version == "v9" and len(found.sha256) == 64 and all(i.labelled for i in found.items)
    )
    (tmp_path / "valid" / "label.json").write_text(json.dumps({"a": "SELECT 2", "n": "null"}))
    assert load.load_ehrsql(tmp_path, "valid").sha256 != found.sha256


def test_2022_layout(tmp_path: Path) -> None:
    entries = [
        {"id": 1, "question": "q", "query": GOLD, "template": "t", "is_impossible": False},
        {"id": 2, "question": "r", "query": "nan", "template": "u", "is_impossible": True},
    ]
    (tmp_path / "test.json").write_text(json.dumps(entries))
    found = load.load_ehrsql(tmp_path, "test")
    assert [(i.id, i.gold, i.template) for i in found.items] == [
        ("1", GOLD, "t"),
        ("2", None, None),
    ]


@pytest.mark.parametrize("content", [None, "", "[1, 2", "[]"])
def test_wrong_files_are_said(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "valid").mkdir()
        (tmp_path / "valid" / "data.json").write_text(content)
    with pytest.raises(EvaluationError) as caught:
        load.load_ehrsql(tmp_path, "valid")
    assert caught.value.hint


SEEN = (
    "SELECT COUNT(*)>0 FROM labevents WHERE labevents.hadm_id IN ( SELECT admissions.hadm_id FROM"
    " admissions WHERE admissions.subject_id = 7 AND admissions.dischtime IS NOT NULL ORDER BY"
    " admissions.admittime ASC LIMIT 1 ) AND strftime('%Y-%m',labevents.charttime) = '2100-03'"
)


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        (SEEN.replace("= 7", "= 8"), True),
        (SEEN.replace("ASC LIMIT 1", "DESC LIMIT 1"), True),
        (SEEN.replace(" AND strftime('%Y-%m',labevents.charttime) = '2100-03'", ""), True),
        (SEEN.replace("labevents", "prescriptions"), False),
        (SEEN.replace("COUNT(*)>0", "COUNT(*)"), False),
    ],
)
def test_skeleton_forgets_what_a_template_leaves_open(sql: str, same: bool) -> None:
    assert (load.skeleton(sql) == load.skeleton(SEEN)) is same


def test_skeleton_forgets_values_with_quotes() -> None:
    one, two = (f"SELECT route FROM prescriptions WHERE drug = '{d}'" for d in ("o''x", "b, c'' d"))
    assert load.skeleton(one) == load.skeleton(two)


def test_unseen_is_decided_by_template() -> None:
    items = (
        load.Item("1", "", "SELECT a FROM t", template="x"),
        load.Item("2", "", "SELECT b FROM t", template="x"),
        load.Item("3", "", "SELECT c FROM t", template="y"),
        load.Item("4", "", None),
    )
    data = load.Dataset("d", "valid", "1", "", items)
    assert load.unseen(data, frozenset({"SELECT a FROM t"})) == {"3"}


@pytest.mark.parametrize(
    ("sql", "status", "correct"),
    [
        ("SELECT valuenum FROM labevents ORDER BY 1 DESC", "answered", True),
        ("SELECT  valuenum\nFROM labevents WHERE valuenum > = 1", "answered", True),
        ("SELECT valuenum FROM labevents LIMIT 1", "answered", False),
        ("SELECT nonsense", "answered", False),
        ("DROP TABLE labevents", "answered", False),
        (None, "abstained", False),
    ],
)
def test_predictions_are_judged_by_execution(sql: str | None, status: str, correct: bool) -> None:
    record = judge("a").of_sql(ITEM, sql)
    assert (record.status, record.correct, record.unseen) == (status, correct, True)


def test_answers_to_the_unanswerable_are_never_right() -> None:
    assert not judge().of_sql(NONE, GOLD).correct
    answer = Answer(Question("q"), Status.ANSWERED, rows=((1,),), neuralsql=GOLD)
    assert not judge().of_answer(NONE, answer).correct
    assert judge().of_answer(NONE, answer).outcome.reliability(10) == -10


def test_published_answers_go_before_execution() -> None:
    item = load.Item("a", "q", GOLD, answer="[['1']]")
    assert judge().of_sql(item, "SELECT 1").correct
    assert not judge().of_sql(item, GOLD).correct


def test_truncated_answers_are_read_whole() -> None:
    cut = Answer(Question("q"), Status.ANSWERED, rows=((140.0,),), truncated=True, neuralsql=GOLD)
    assert judge().of_answer(ITEM, cut).correct


def test_withheld_queries_are_judged_but_never_count() -> None:
    question = Question("sodium of 7?")

    def withheld(item: load.Item, sql: str | None) -> Record:
        answer = Answer(question, Status.ABSTAINED, reason_kind="low_confidence", neuralsql=sql)
        return judge().of_answer(item, answer)

    assert withheld(ITEM, GOLD).withheld_right is True
    assert withheld(ITEM, "SELECT 1").withheld_right is False
    assert withheld(ITEM, "SELECT nothing").withheld_right is False
    assert withheld(NONE, GOLD).withheld_right is False
    assert withheld(ITEM, None).withheld_right is None
    assert not withheld(ITEM, GOLD).correct and not withheld(ITEM, GOLD).outcome.answered
    answered = Answer(question, Status.ANSWERED, rows=((1,),), neuralsql=GOLD)
    assert judge().of_answer(ITEM, answered).withheld_right is None


def test_faults_are_rows() -> None:
    failed = Answer(Question("q"), Status.FAILED, error={"message": "m", "hint": "h"})
    record = judge().of_answer(ITEM, failed)
    assert record.outcome.failed and record.why == "m (h)"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"a": GOLD, "n": "null", "m": None}),
        f'{{"id": "a", "prediction": "{GOLD}"}}\n{{"id": "n", "prediction": null}}\n'
        '{"id": "m", "prediction": "null"}\n',
    ],
)
def test_prediction_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    questions = [Question("?", key) for key in "anm"]
    found, digest = read_predictions(path, questions, Reads.QUERIES)
    assert [answer.neuralsql for answer in found] == [GOLD, None, None] and len(digest) == 64
    assert [answer.status for answer in found] == ["answered", "abstained", "abstained"]


@pytest.mark.parametrize("text", ["", "[1]", "nonsense", '"x"'])
def test_wrong_prediction_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    if not text:
        assert read_predictions(path, [], Reads.QUERIES)[0] == []
        return
    with pytest.raises(EvaluationError):
        read_predictions(path, [], Reads.QUERIES)


def test_records_are_read_back_with_their_seconds(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = Record("a", "q", GOLD, None, "abstained", False, why="empty: x", timings={"total": 0.5})
    second = Record("b", "r", None, "SELECT 1", "answered", False, template="t")
    made = {record.id: split_record(record) for record in (first, second)}
    found = Journal(out, {"model": "1"}).run("ab", lambda key: made[key])
    assert "timings" not in found[0] and found[1]["template"] == "t"
    assert read_records(out / "records.jsonl") == [first, second]
    (out / "timings.jsonl").unlink()
    assert read_records(out / "records.jsonl")[0].timings == {}
    (out / "records.jsonl").write_text('{"header": {}}\n{"id": "x"}\n')
    with pytest.raises(EvaluationError, match="holds no records"):
        read_records(out / "records.jsonl")


@pytest.fixture
def fake_session(monkeypatch: pytest.MonkeyPatch) -> None:
    from engine import fakes

    def open_fake(_db: Path, **_given: Any) -> Any:
        return fakes.session(fakes.sql(GOLD, max_entropy=0.0), log=False)

    monkeypatch.setattr(benchmark, "open_session", open_fake)
    tables = {"labevents": ("subject_id", "valuenum")}
    monkeypatch.setattr(MemoryDatabase, "schema", lambda _self: tables)


def test_a_run_over_a_model_scores_and_resumes(tmp_path: Path, fake_session: None) -> None:
    data = write_2024(tmp_path / "data", a=GOLD, b="SELECT 1", n=None)
    db = tmp_path / "db"
    db.write_bytes(b"x")
    seen: list[tuple[int, int]] = []
    report = run_ehrsql(data, "valid", db, out=tmp_path / "out", progress=lambda *n: seen.append(n))
    assert (report.overall.correct, report.overall.wrong_on_answerable) == (1, 1)
    assert report.overall.answered_unanswerable == 1 and seen[-1] == (3, 3)
    assert report.overall.rs[0] == pytest.approx(100 / 3)
    assert report.seen is None, "there is no train split to compare with"
    for shown in (report.as_table(), report.as_markdown()):
        assert report.header["dataset_sha256"] in shown and "RS(10)" in shown and "v9" in shown
    written = json.loads((tmp_path / "out" / "predictions.json").read_text())
    assert written == {"a": GOLD, "b": GOLD, "n": GOLD}
    before = (tmp_path / "out" / "records.jsonl").read_bytes()
    assert run_ehrsql(data, "valid", db, out=tmp_path / "out").overall == report.overall
    assert (tmp_path / "out" / "records.jsonl").read_bytes() == before


def test_predictions_must_cover_the_split(tmp_path: Path, fake_session: None) -> None:
    data = write_2024(tmp_path / "data", a=GOLD, n=None)
    (tmp_path / "p.json").write_text(json.dumps({"a": GOLD}))
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("CREATE TABLE labevents (charttime TEXT)")
        connection.execute("INSERT INTO labevents VALUES ('2100-01-01 00:00:00')")
    connection.close()
    with pytest.raises(EvaluationError, match="1 of 2"):
        run_ehrsql(data, "valid", tmp_path / "db", chosen=Chosen(None, tmp_path / "p.json"))


@pytest.mark.parametrize("split", ["train", "valid"])
def test_gold_queries_give_the_published_answers(shared_data: Path, split: str) -> None:
    from ehrqa_cli import neuralsql
    from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase

    data = shared_data / "ehrsql-2024"
    database = SqliteDatabase.open(data / "mimic_iv.sqlite")
    as_of = database.default_as_of()
    items = [item for item in load.load_ehrsql(data, split).items if item.gold]
    # One in forty by default; ALL_GOLD=1 takes them all, which needs some minutes.
    for item in items[:: 1 if os.environ.get("ALL_GOLD") else 40]:
        rows = neuralsql.run(item.gold or "", database, as_of=as_of, limits=execution.SCORING)[
            0
        ].rows
        assert comparable(rows) == item.answer, item.id
    database.close()


def test_templates_of_valid_that_train_lacks(shared_data: Path) -> None:
    data = shared_data / "ehrsql-2024"
    known = load.train_skeletons(data, "valid")
    assert known is not None
    valid = load.load_ehrsql(data, "valid")
    new = load.unseen(valid, known)
    items = [i for i in valid.items if i.gold]
    templates = {i.template for i in items}
    assert len({i.template for i in items if i.id in new}) == 33 and len(templates) == 134
    # The verdict is the same for each question of a template.
    alone = {i.id for i in items if load.skeleton(i.gold or "") not in known}
    assert alone == new


def test_gold_is_of_the_databases_own_tables_and_our_queries_of_the_mapped_ones(
    tmp_path: Path,
) -> None:
    from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase

    opened = []
    for name in ("theirs", "ours"):
        path = tmp_path / f"{name}.sqlite"
        with sqlite3.connect(path) as connection:
            connection.execute(f"CREATE TABLE {name} (x INT)")
            connection.executemany(f"INSERT INTO {name} VALUES (?)", [(1,), (2,)])
        connection.close()
        opened.append(SqliteDatabase.open_any(path))
    both = execution.Judge(opened[0], AS_OF, frozenset(), opened[1])
    item = load.Item("a", "q", "SELECT x FROM theirs")
    question, query = Question("q"), "SELECT x FROM ours"
    whole = Answer(question, Status.ANSWERED, rows=((2,), (1,)), neuralsql=query)
    assert both.of_answer(item, whole).correct
    cut = Answer(question, Status.ANSWERED, rows=((1,),), truncated=True, neuralsql=query)
    assert both.of_answer(item, cut).correct
    withheld = Answer(question, Status.ABSTAINED, reason_kind="low_confidence", neuralsql=query)
    assert both.of_answer(item, withheld).withheld_right is True
    assert both.of_sql(item, "SELECT x FROM theirs").correct
    assert both.of_sql(item, query).why is not None
    wrong = load.Item("b", "q", "SELECT x FROM ours")
    with pytest.raises(EvaluationError, match="gold query of question b does not run"):
        both.of_sql(wrong, "SELECT 1")
    for database in opened:
        database.close()
