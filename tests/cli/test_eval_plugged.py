"""`ehrqa eval NAME` for a plugin's benchmark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contracts.benchmarks import (
    Baseline,
    Benchmark,
    BenchmarkItem,
    Execute,
    Figures,
    FigureTable,
    Measure,
    Measured,
    Reads,
    Record,
)
from ehrqa_cli.contracts.errors import PluginError
from ehrqa_cli.contracts.judging import JudgedQuestion
from ehrqa_cli.contracts.types import Answer, Question, Status

LINES: tuple[dict[str, Any], ...] = (
    {"id": "n", "question": "how many patients are there?", "gold_sql": "SELECT 2", "tier": 1},
    {
        "id": "last",
        "question": "what was the last creatinine of patient 101?",
        "gold_answer": [[0.9]],
        "tier": 1,
    },
    {"id": "rain", "question": "will it rain?", "answerable": False, "tier": "abstain"},
    {"id": "odd", "question": "how many patients are odd?", "answer": 1, "tier": 2},
)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


@pytest.mark.usefixtures("rote")
def test_own_questions_are_asked_and_scored(cli, ehr: Path, questions: Path, tmp_path: Path):
    out = tmp_path / "run"
    command = ("eval", "own", "--data", questions, "--db", ehr, "--out", out, "--html")
    ran = cli(*command)
    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    assert {line["id"]: (line["status"], line["correct"]) for line in lines[1:]} == {
        "n": ("answered", True),
        "last": ("answered", True),
        "rain": ("abstained", False),
        "odd": ("answered", False),
    }
    header = lines[0]["header"]
    assert header["benchmark"] == "own"
    told = {key for key, value in header.items() if value}
    assert {"dataset_sha256", "database", "code", "predictor"} <= told
    report = json.loads((out / "report.json").read_text())
    assert report["scores"]["RS(0)"] == 75.0
    assert (out / "report.html").stat().st_size > 1000
    # Broken off anywhere, it goes on, and ends in the same bytes.
    whole = (out / "records.jsonl").read_bytes()
    for kept in (len(whole) // 3, len(whole) // 2, len(whole) - 5):
        (out / "records.jsonl").write_bytes(whole[:kept])
        assert cli(*command).code == 0
        assert (out / "records.jsonl").read_bytes() == whole
    same = cli("eval", "compare", out, out)
    assert same.code == 0


@pytest.mark.usefixtures("rote")
def test_answers_of_another_system(cli, ehr: Path, questions: Path, tmp_path: Path):
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"n": 2, "last": "SELECT 0.9", "rain": None, "odd": "SELECT x"}))
    ran = cli("eval", "own", "--data", questions, "--db", ehr, "--predictions", given, "--json")
    assert json.loads(ran.out)["scores"]["RS(0)"] == 75.0  # a query that does not run is wrong
    given.write_text(json.dumps({"n": 2}))
    lacks = cli("eval", "own", "--data", questions, "--db", ehr, "--predictions", given)
    assert (lacks.code, "lacks 3 of 4 questions" in lacks.err) == (1, True)


@pytest.mark.usefixtures("rote")
def test_gold_and_declining_are_systems_of_any_benchmark(cli, ehr: Path, questions: Path):
    command = ("eval", "own", "--data", questions, "--db", ehr, "--json", "--system")
    for system, right in (("gold", 100.0), ("abstain", 25.0)):
        found = json.loads(cli(*command, system).out)
        assert found["scores"]["RS(0)"] == right
        assert found["header"]["predictor"] == {"system": system}
    assert "there is no system 'nobody'" in cli(*command, "nobody").err


@pytest.mark.usefixtures("rote")
def test_the_wrong_ones_are_listed(cli, ehr: Path, questions: Path):
    ran = cli("eval", "own", "--data", questions, "--db", ehr)
    assert "wrong\t1\t25.0" in ran.out and "declined rightly\t1\t25.0" in ran.out
    assert "odd\thow many patients are odd?\t2\t1" in ran.out


@pytest.mark.usefixtures("rote")
def test_what_is_no_file_of_questions_is_said(cli, ehr: Path, tmp_path: Path):
    for data, told in ((tmp_path / "none", "does not exist"), (tmp_path, "questions of your own")):
        ran = cli("eval", "own", "--data", data, "--db", ehr)
        assert ran.code == 1
        assert told in ran.err
        assert len(ran.err.splitlines()) == 2


def test_it_is_listed_with_what_it_needs(cli):
    found = {each["name"]: each for each in json.loads(cli("eval", "list", "--json").out)}
    assert "own questions" in found["own"]["about"]
    assert "own" in cli("eval", "--help").out
    assert "--workers" in cli("eval", "own", "--help").out


class Shouts(Benchmark):
    """One question, a baseline, a judge, and tables of its own."""

    name: ClassVar[str] = "shouts"
    about: ClassVar[str] = "who is loud"
    reads: ClassVar[Reads] = Reads.WORDS
    systems: ClassVar[Mapping[str, str]] = {"loud": "shouts everything"}
    judged: ClassVar[bool] = True
    header: ClassVar[tuple[str, ...]] = ("benchmark", "noise", "predictor", "judge", "seed")

    def load(self, data: Path, split: str) -> list[BenchmarkItem]:
        return [BenchmarkItem(Question("Who?", "1"), "ME")]

    def facts(self) -> Mapping[str, Any]:
        return {"noise": "much"}

    def score(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> Record:
        assert self.judge is not None
        verdict = self.judge.judge(JudgedQuestion(item.question.text, item.gold, answer.text))
        return {"correct": answer.text == item.gold, "verdict": verdict}

    def measures(self, records: Sequence[Record]) -> Mapping[str, Measure]:
        return {"loud": lambda r: (float(r["correct"]), 1.0)}

    def figures(self, found: Measured) -> Figures:
        scores = {**self.aggregate(found.records), "seed": found.seed}
        rows = (("", ((found.system, scores["loud"]),)),)
        return Figures(scores, (FigureTable("1", "loudness", ("", "loud"), rows),), (), ("hush",))

    def baseline(self, name: str, items: Sequence[BenchmarkItem], seed: int) -> Baseline:
        shout = [Answer(i.question, Status.ANSWERED, text=i.question.text.upper()) for i in items]
        return Baseline(shout, {"volume": "11"})

    @classmethod
    def sample(cls, folder: Path) -> tuple[Path, str]:
        return folder, ""

    def perfect(self, item: BenchmarkItem, execute: Execute) -> Answer:
        return Answer(item.question, Status.ANSWERED, text=item.gold)


def test_one_with_systems_a_judge_and_tables_of_its_own(
    cli, ehr: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    load, names = registry.load, registry.names
    monkeypatch.setattr(
        registry, "load", lambda g, n, c: Shouts if n == "shouts" else load(g, n, c)
    )
    monkeypatch.setattr(
        registry,
        "names",
        lambda g: [*names(g), *(["shouts"] if g == registry.BENCHMARK else [])],
    )
    assert {"--judge", "--seed", "loud"} <= set(
        cli("eval", "shouts", "--help").out.replace(",", " ").replace(";", " ").split()
    )
    flags = ("eval", "shouts", "--data", tmp_path, "--db", ehr, "--judge", "exact", "--seed", 3)
    found = {}
    for system in ("gold", "loud"):
        ran = cli(*flags, "--system", system, "--out", tmp_path / system)
        assert ran.code == 0, ran.err
        assert "Table 1: loudness" in ran.out and ran.out.endswith("\nhush\n")
        first, record = (tmp_path / system / "records.jsonl").read_text().splitlines()
        found[system] = json.loads(record)["correct"], json.loads(record)["verdict"]
    assert found == {"gold": (True, 1.0), "loud": (False, 0.0)}
    assert json.loads(first)["header"] == {
        "benchmark": "shouts",
        "noise": "much",
        "predictor": {"system": "loud", "volume": "11"},
        "judge": {"judge": "exact", "times": 5},
        "seed": 3,
    }
    told = tmp_path / "told.json"
    told.write_text(json.dumps({"1": "ME"}))
    scores = json.loads(cli(*flags, "--predictions", told, "--json").out)["scores"]
    assert scores == {"loud": 100.0, "seed": 3}
    compared = json.loads(
        cli("eval", "compare", tmp_path / "gold", tmp_path / "loud", "--json").out
    )
    assert [(d["measure"], d["difference"]) for d in compared["differences"]] == [("loud", -100.0)]


def test_a_broken_one_is_named_and_takes_nothing_down(cli, monkeypatch: pytest.MonkeyPatch):
    load, names = registry.load, registry.names

    def broken(group: str, name: str, contract: type[Any]) -> type[Any]:
        if group == registry.BENCHMARK:
            raise PluginError(f"the plugin '{name}' does not load: ImportError: x", "mend it")
        return load(group, name, contract)

    def two(group: str) -> list[str]:
        return [*names(group), "torn"] if group == registry.BENCHMARK else names(group)

    monkeypatch.setattr(registry, "load", broken)
    monkeypatch.setattr(registry, "names", two)
    assert "torn" in cli("eval", "--help").out
    listed = cli("eval", "list")
    assert "broken: the plugin 'torn' does not load" in listed.out
    assert listed.code == 0
    ran = cli("eval", "torn", "--data", "x", "--db", "y")
    assert (ran.code, "mend it" in ran.err) == (2, True)
