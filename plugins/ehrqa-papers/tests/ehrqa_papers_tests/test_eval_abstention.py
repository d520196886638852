from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ehrqa_papers.abstention import report
from ehrqa_papers.abstention.plan import Plan
from ehrqa_papers.abstention.report import AbstentionReport
from ehrqa_papers.abstention.study_pass import Regime, Runner

from ehrqa_cli.contracts.benchmarks import FigureTable
from ehrqa_cli.evaluate.bias.split import SplitSettings

TABLE = FigureTable(
    "2", "t", ("Method", "valid P_exe"), (("block", (("Beam *", 99.04),)),), ("a note",)
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """40 unanswerable questions, 30 of them about phones; 40 answerable ones."""
    folder = tmp_path / "ehrsql" / "valid"
    folder.mkdir(parents=True)
    texts = {f"n{i}": f"phone of {i}" if i < 30 else f"odd{i}" for i in range(40)}
    texts |= {f"a{i}": f"lab {i}" for i in range(40)}
    entries = [{"id": key, "question": text} for key, text in texts.items()]
    (folder / "data.json").write_text(json.dumps({"version": "v9", "data": entries}))
    labels = {key: "null" if key[0] == "n" else "SELECT 1" for key in texts}
    (folder / "label.json").write_text(json.dumps(labels))
    return folder.parent


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Takes the place of the run; keeps what it was asked for."""
    found: dict[str, Any] = {}

    def fake(valid, test, runner: Runner, regimes: list[Regime], plan: Plan, tell):
        found.update(valid=valid, test=test, runner=runner, regimes=regimes, plan=plan)
        header = {
            "datasets": [{"name": "n", "split": "valid", "version": "v9", "sha256": "5" * 64}],
            "database_sha256": "6" * 64,
            "predictor": {"model": "m.gguf", "sha256": "7" * 64},
        }
        return AbstentionReport({"m": header}, {}, (TABLE,), warnings=("careful",))

    monkeypatch.setattr(report, "run_abstention", fake)
    return found


def test_the_tables_and_files(cli, data, asked, ehr, tmp_path):
    files = ("--json", tmp_path / "j" / "t.json", "--markdown", tmp_path / "t.md")
    ran = cli("eval", "abstention", "--data", data, "--db", ehr, *files)
    assert ran.code == 0, ran.err
    assert "5" * 64 in ran.out and "7" * 64 in ran.out and "v9" in ran.out
    assert "Table 2: t" in ran.out and "Beam *\t99.0" in ran.out and "a note" in ran.out
    assert "warning: careful" in ran.err
    written = json.loads((tmp_path / "j" / "t.json").read_text())
    assert written["tables"][0]["blocks"][0][1][0][1] == 99.04
    assert "| Beam \\* | 99.0 |" in (tmp_path / "t.md").read_text()


def test_the_papers_settings_are_the_defaults(cli, data, asked, ehr):
    assert cli("eval", "abstention", "--data", data, "--db", ehr).code == 0
    plan, regimes = asked["plan"], asked["regimes"]
    assert plan.split == SplitSettings(20, 16, 5) and plan.precision == 99.0
    assert [str(s) for s in plan.ablation] == ["22-18-5", "18-15-9", "16-10-12"]
    assert (plan.original, plan.ratios) == ((8, 10, 4), (6, 6, 6))
    assert [(r.label, r.may_abstain, r.method) for r in regimes] == [
        ("shipped", False, "beam"),
        ("shipped", True, "beam"),
    ]


def test_options_reach_the_study(cli, data, asked, ehr):
    flags = ("--model", "ans=x.gguf", "--model", "y.gguf", "--abstain", "forbidden")
    flags += ("--split", "4-3-1", "--split-ratios", "2,inf,3", "--tables", "3,9", "--repeats", "7")
    flags += ("--signals", "p_abstain, max_entropy", "--decode", "greedy", "--limit", "5")
    ran = cli("eval", "abstention", "--data", data, "--db", ehr, "--test", "valid", *flags)
    assert ran.code == 0, ran.err
    plan = asked["plan"]
    assert [(r.label, str(r.path)) for r in asked["regimes"]] == [
        ("ans", "x.gguf"),
        ("y", "y.gguf"),
    ]
    assert {r.may_abstain for r in asked["regimes"]} == {False}
    assert plan.split == SplitSettings(4, 3, 1) and plan.ratios == (2.0, float("inf"), 3.0)
    assert plan.tables == {"3", "8"} and plan.signals == ("p_abstain", "max_entropy")
    assert (plan.repeats, asked["runner"].limit, len(asked["runner"].datasets)) == (7, 5, 2)
    assert asked["test"] is not None


@pytest.mark.parametrize(
    ("flags", "code", "told"),
    [
        (("--split", "20-16"), 2, "no split"),
        (("--ratios", "1,2"), 2, "filter ratios"),
        (("--tables", "13"), 2, "no table 13"),
        (("--valid", "none"), 1, "no EHRSQL split"),
        (("--model", "a=x", "--model", "a=y"), 1, "label"),
    ],
)
def test_wrong_options(cli, data, asked, ehr, flags, code, told):
    ran = cli("eval", "abstention", "--data", data, "--db", ehr, *flags)
    assert (ran.code, ran.out) == (code, "") and told in ran.err and "hint:" in ran.err


def test_write_split_needs_no_database(cli, data, asked, tmp_path):
    out = tmp_path / "new"
    ran = cli("eval", "abstention", "--data", data, "--write-split", out, "--seed", "3")
    assert ran.code == 0, ran.err
    assert not asked, "no model is run"
    card = json.loads((out / "card.json").read_text())
    assert card["seed"] == 3 and card["counts"]["test"] == {"answerable": 20, "unanswerable": 25}
    assert card["sha256"]["test"] in ran.out and card["source"]["sha256"] in ran.out
    listed = json.loads((out / "test" / "data.json").read_text())
    assert len(listed["data"]) == 45
    flags = ("--split", "40-40-5", "--write-split", out / "x")
    again = cli("eval", "abstention", "--data", out, "--valid", "test", *flags)
    assert again.code == 0 and "choose lower ones" in again.err


def test_it_is_listed(cli):
    assert "abstention  Yang et al. 2024" in cli("eval", "list").out
    help_text = cli("eval", "abstention", "--help").out
    assert "--write-split" in help_text and "Examples:" in help_text
