"""The abstention study as a whole: records in, the paper's tables out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ehrqa_papers.abstention import study_pass as run
from ehrqa_papers.abstention.figures import UNMET_NOTE, row
from ehrqa_papers.abstention.plan import Plan
from ehrqa_papers.abstention.report import run_abstention
from ehrqa_papers.abstention.signals import Measured, Method, measure, parts
from ehrqa_papers.abstention.study import Study, model_table
from ehrqa_papers.abstention.study_pass import Regime, Runner, parse_models
from engine import fakes

from ehrqa_cli.contracts.benchmarks import FigureTable
from ehrqa_cli.contracts.errors import DatabaseError, EvaluationError
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine.many import fault
from ehrqa_cli.evaluate.bias.split import SplitSettings
from ehrqa_cli.evaluate.ehrsql.load import Dataset, Item
from ehrqa_cli.evaluate.records import Record
from ehrqa_cli.evaluate.variants import CHECKS_OFF

GOLD = "SELECT valuenum FROM labevents WHERE subject_id = 7"
PLAN = Plan(split=SplitSettings(4, 4, 1), ablation=(SplitSettings(3, 3, 2),))


def world() -> tuple[list[Item], dict[str, Record]]:
    """60 answerable questions, 30 unanswerable ones, 20 of them about phones; the model is unsure
    of all that have no answer but phones, of which it is as sure as of the rest."""
    items, records = [], {}
    for i in range(90):
        gold = GOLD if i < 60 else None
        text = f"last lab {i} of ward" if gold else f"phone {i}" if i < 80 else f"odd{i} thing{i}"
        entropy = i % 7 / 10 if i < 80 else 2.0
        key = f"q{i}"
        items.append(Item(key, text, gold))
        scores = {"max_entropy": entropy, "mean_logprob": -entropy, "p_abstain": entropy / 2}
        records[key] = Record(key, text, gold, "SELECT 1", "answered", bool(gold), scores=scores)
    return items, records


def cells(table: FigureTable, name: str, block: int = 0) -> tuple[Any, ...]:
    found = [r for r in table.blocks[block][1] if str(r[0]).split(" *")[0] == name]
    assert len(found) == 1, [r[0] for r in table.blocks[block][1]]
    return found[0][1:]


def test_the_shape_of_the_papers_findings() -> None:
    """On a random split the filter lifts the recall to 100; on the new split it cannot."""
    items, records = world()
    tables = {t.number: t for t in Study("m", records, items, None, PLAN).tables()}
    assert list(tables) == ["2", "3", "4", "5", "6", "7", "10", "11", "12"]
    for name in ("Entropy", "Beam"):
        original, joined = cells(tables["2"], name), cells(tables["2"], f"{name} + Ngram")
        assert joined[2] == 100.0 and original[1] < 99.0 and original[4:] == (None,) * 4
        random = cells(tables["4"], f"{name} + Ngram")
        assert random[5:7] == (100.0, 100.0), "learnt on valid, it holds on test"
        new = cells(tables["3"], f"{name} + Ngram")
        assert new[5] < 80.0, "the phones are all in the test set, and the filter knows one"
    assert tables["3"].title.startswith("the newly split set, 4-4-1: valid 41 (11 unanswerable)")
    assert [b[0].split()[0] for b in tables["5"].blocks] == ["3-3-2"]
    assert [str(r[0]).split(" *")[0] for r in tables["6"].blocks[0][1]][-1] == "∞ (baseline)"
    baseline = cells(tables["6"], "∞ (baseline)")
    assert baseline == cells(tables["3"], "Beam")
    assert [name for name, _ in tables["12"].blocks][1:] == ["new split 4-4-1", "random split"]
    assert cells(tables["12"], "Beam", 1) == cells(tables["3"], "Beam"), "this parser never errs"
    leaning = {r[0]: r[1:] for r in tables["11"].blocks[0][1]}
    assert leaning["max_entropy"][1] == 100.0 and leaning["max_entropy"][2] < -40


def test_detection_alone_forgives_the_parser() -> None:
    items, records = world()
    for key in ("q0", "q7", "q14"):  # surest of all, and wrong
        records[key] = replace(records[key], correct=False)
    plan = replace(PLAN, tables=frozenset({"2", "12"}))
    tables = {t.number: t for t in Study("m", records, items, None, plan).tables()}
    assert cells(tables["2"], "Beam + Ngram")[1] < 99.0
    assert cells(tables["12"], "Beam + Ngram")[1:3] == (100.0, 100.0)


def test_only_the_tables_and_signals_asked_for() -> None:
    items, records = world()
    plan = Plan(tables=frozenset({"10", "8"}), signals=("p_abstain",), split=SplitSettings(4, 4, 1))
    study = Study("m", records, items, None, plan)
    (table,) = study.tables()
    names = {str(r[0]).split(" *")[0] for r in table.blocks[0][1]}
    assert "p_abstain + ngram" in names and "max_entropy" not in names
    blocks = model_table([study, study], plan).blocks
    assert [name for name, _ in blocks] == ["m", "m"] and len(blocks[0][1]) == 5


def test_a_test_set_of_its_own_fills_table_2() -> None:
    items, records = world()
    study = Study("m", records, items[::2], items[1::2], PLAN)
    table = study.tables()[0]
    assert cells(table, "Entropy + Ngram")[5:7] == (100.0, 100.0)


def test_repeated_splits_give_means_and_say_so() -> None:
    items, records = world()
    once = Study("m", records, items, None, PLAN)
    plan = Plan(split=PLAN.split, ablation=(), repeats=3)
    thrice = Study("m", records, items, None, plan)
    table = next(t for t in thrice.tables() if t.number == "4")
    assert table.notes[0] == "means of 3 splits, seeds from 0"
    assert len(thrice.splits(None)) == 3 and thrice.splits(None)[0][0] == once.splits(None)[0][0]
    assert len({s.test for s, _, _ in thrice.splits(None)}) == 3


def measured(met: bool, right: int) -> Measured:
    records = [Record(str(i), "q", "g", None, "answered", i < right) for i in range(4)]
    part, _ = parts(records, None)
    found = measure(Method("M", None, limit=math.inf), part, None, 0.0)
    return Measured("M", type(found.choice)(found.choice.ratios, 0.0, met), found.valid, None)


def test_rows_average_and_mark_what_was_missed() -> None:
    made = row([measured(True, 4), measured(False, 2)])
    assert made[0] == "M *1/2" and made[2] == 75.0 and made[5:] == (None,) * 4
    table = FigureTable(
        "2", "t|x", ("Method", "P"), (("", (("M *", 75.0),)), ("h", ())), (UNMET_NOTE,)
    )
    text = table.as_markdown()
    assert "| M \\* | 75.0 |" in text and UNMET_NOTE in text and "| h |  |" in text
    assert table.as_dict()["blocks"][0][1][0][1] == 75.0


def test_model_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "shipped_model", lambda: tmp_path / "text2sql.gguf")
    assert parse_models(()) == [("shipped", tmp_path / "text2sql.gguf")]
    found = parse_models(("all=a=b/x.gguf", "dir/ans.gguf", "shipped")[1:])
    assert found == [("ans", Path("dir/ans.gguf")), ("shipped", tmp_path / "text2sql.gguf")]
    for wrong in (("a/b=x",), ("a=x", "a=y")):
        with pytest.raises(EvaluationError, match="label"):
            parse_models(wrong)


def dataset() -> Dataset:
    items = [Item("a", "sodium of 7", GOLD), Item("b", "sodium of 9", "SELECT 1")]
    items += [Item("n", "who is on call", None), Item("m", "phone of 7", None)]
    return Dataset("ehrsql-2024", "valid", "v9", "d" * 64, tuple(items))


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    (tmp_path / "db").write_bytes(b"x")
    query = fakes.sql(GOLD, max_entropy=0.5, mean_logprob=-0.1)
    model = fakes.Scripted(query)
    monkeypatch.setattr(run, "_open", lambda regime, threads: model)

    def session(_db: Path, **parts: Any) -> Any:
        return fakes.session(query, **parts)

    monkeypatch.setattr(run, "Session", session)
    tables = {"labevents": ("subject_id", "valuenum")}
    monkeypatch.setattr(fakes.MemoryDatabase, "schema", lambda _self: tables)
    return Runner(tmp_path / "db", [dataset()], tmp_path / "out")


REGIME = Regime("m", Path("m.gguf"), may_abstain=False)


def test_a_run_asks_with_the_checks_off_and_resumes(runner: Runner) -> None:
    header, records = runner.run(REGIME)
    # Patient 9 exists nowhere: the engine would decline; here the answer stands and is judged.
    assert [(r.id, r.status, r.correct) for r in records.values()] == [
        ("a", "answered", True),
        ("b", "answered", False),
        ("n", "answered", False),
        ("m", "answered", False),
    ]
    assert records["b"].scores["ignored_unknown_patient"] == 1.0
    assert header["datasets"][0]["sha256"] == "d" * 64 and header["predictor"]["sha256"]
    path = runner.out / REGIME.folder / "records.jsonl"  # type: ignore[operator]
    before = path.read_bytes()
    assert runner.run(REGIME)[1] == records and path.read_bytes() == before


def test_a_query_that_does_not_run_is_a_wrong_answer(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_self: Runner, items: list[Item], _session: Any) -> Iterator[Answer]:
        for item in items:
            question = Question(item.question, item.id)
            if item.id == "n":
                yield fault(question, DatabaseError("it broke", "mend it"))
                continue
            kind = "execution_error" if item.id == "a" else "model_declined"
            text = "SELECT nothing" if item.id == "a" else None
            yield Answer(question, Status.ABSTAINED, reason_kind=kind, reason="r", neuralsql=text)

    monkeypatch.setattr(Runner, "_answers", broken)
    records = runner.run(REGIME)[1]
    assert (records["a"].status, records["a"].correct) == ("answered", False)
    assert records["a"].prediction == "SELECT nothing"
    assert records["b"].status == "abstained" and records["n"].status == "failed"


def test_only_what_leaves_nothing_to_run_is_obeyed() -> None:
    assert {"unknown_patient", "empty_result", "low_confidence"} <= set(CHECKS_OFF.ignore)
    assert not {"model_declined", "no_form"} & set(CHECKS_OFF.ignore)


def test_the_report_names_data_and_models(runner: Runner) -> None:
    found = run_abstention(
        dataset(), None, runner, [REGIME], Plan(tables=frozenset({"1", "2", "8"}))
    )
    assert [t.number for t in found.tables] == ["1", "2", "8, 9"]
    text = found.as_markdown()
    assert "v9" in text and "d" * 64 in text and "scripted" in text
    assert "own abstention forbidden" in text
    assert "moves no unanswerable question" in found.warnings[0]
    assert found.as_dict()["headers"]["m, own abstention forbidden"]["database_sha256"]
    assert {"risk-coverage.png"} <= {p.name for p in found.plots} or "no plots" in found.warnings[
        -1
    ]
    assert all(path.is_file() for path in found.plots)
