"""``ehrqa eval compare`` on made-up runs of each benchmark, and ``ehrqa eval list``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.evaluate.compare import sign_test

Plain = dict[str, Any]
HEADERS: dict[str, Plain] = {
    "ehrsql": {"dataset": "ehrsql-2024", "split": "valid"},
    "spider": {"benchmark": "spider"},
    "ehrxqa": {"benchmark": "ehrxqa", "split": "test"},
    "mimic-cxr-vqa": {"benchmark": "mimic-cxr-vqa", "split": "test"},
    "ehrnoteqa": {"benchmark": "ehrnoteqa", "format": "free-text"},
    "emrqa": {"benchmark": "emrqa", "task": "evidence"},
    "forms": {"benchmark": "emrqa", "task": "forms"},
}


def write(folder: Path, benchmark: str, records: list[Plain], **header: Any) -> Path:
    folder.mkdir(exist_ok=True)
    made = {"dataset_sha256": "d" * 64, **HEADERS[benchmark], **header}
    lines = [{"header": made}, *({"id": str(k), **r} for k, r in enumerate(records))]
    (folder / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def answer(correct: bool, status: str = "answered", gold: str | None = "g", **more: Any) -> Plain:
    return {"question": "q?", "gold": gold, "status": status, "correct": correct, **more}


def differences(ran: Any) -> dict[str, Plain]:
    return {d["measure"]: d for d in json.loads(ran.out)["differences"]}


def test_ehrsql(cli: Any, tmp_path: Path) -> None:
    declined = answer(False, "abstained")
    # A: 40 right, 20 wrong, 20 declined, 20 unanswerable and answered all the same
    a = (
        [answer(True)] * 40
        + [answer(False)] * 20
        + [declined] * 20
        + [answer(False, gold=None)] * 20
    )
    # B: 60 right, 20 declined, 20 rightly declined
    b = [answer(True)] * 60 + [declined] * 20 + [answer(False, "abstained", None)] * 20
    one, two = write(tmp_path / "a", "ehrsql", a), write(tmp_path / "b", "ehrsql", b)
    ran = cli("eval", "compare", one, two, "--json")
    assert ran.code == 0
    found = differences(ran)
    assert (found["RS(0)"]["a"], found["RS(0)"]["b"]) == (40.0, 80.0)
    assert found["RS(10)"]["a"] == -360.0 and found["RS(N)"]["a"] == 40.0 - 4000.0
    assert (found["P_exe"]["a"], found["P_exe"]["b"]) == (50.0, 100.0)
    assert found["R_exe"]["difference"] == 25.0
    assert found["F1_ans"]["b"] == pytest.approx(2 * 60 / 140 * 100)
    rs = found["RS(0)"]
    assert 25.0 < rs["low"] < 40.0 < rs["high"] < 55.0 and rs["p"] < 0.001
    changes = json.loads(ran.out)["changes"]
    assert {(c["before"], c["after"]) for c in changes} == {("wrong", "right")}
    assert [c["id"] for c in changes] == [str(k) for k in [*range(40, 60), *range(80, 100)]]
    printed = cli("eval", "compare", one, two, "--show", "2").out
    assert "wrong in A, right in B: 40" in printed and "and 38 more (--show 40" in printed
    back = cli("eval", "compare", two, one, "--show", "0").out
    assert "right in A, wrong in B: 40" in back and "sign test" in back


def test_the_same_run_differs_in_nothing(cli: Any, tmp_path: Path) -> None:
    run = write(tmp_path / "a", "ehrsql", [answer(True), answer(False)])
    ran = cli("eval", "compare", run, run)
    assert "no question changed" in ran.out
    assert all(line.endswith("1.000") for line in ran.out.splitlines() if line.startswith("RS"))


def test_what_is_seldom_is_not_sure(cli: Any, tmp_path: Path) -> None:
    a = [answer(True)] * 50 + [answer(False)] * 50
    b = [answer(True)] * 51 + [answer(False)] * 49
    one, two = write(tmp_path / "a", "ehrsql", a), write(tmp_path / "b", "ehrsql", b)
    found = json.loads(cli("eval", "compare", one, two, "--json").out)
    first = found["differences"][0]
    assert first["difference"] == 1.0 and first["low"] == 0.0 and first["p"] > 0.05
    assert found["sign_p"] == 1.0


SPIDER = {"gold": "SELECT 1", "prediction": "x"}
VQA = {"gold": ["left lung", "right lung"], "study_id": 1, "content_type": "anatomy"}


@pytest.mark.parametrize(
    ("benchmark", "a", "b", "expected"),
    [
        (
            "spider",
            [
                {**SPIDER, "correct": True, "execution": None},
                {**SPIDER, "correct": False, "execution": True},
            ],
            [
                {**SPIDER, "correct": True, "execution": None},
                {**SPIDER, "correct": True, "execution": False},
            ],
            {"exact match": (50.0, 100.0), "execution": (100.0, 0.0)},
        ),
        (
            "ehrxqa",
            [
                answer(True, acc_lf=True, ex_gt=True),
                answer(False, "abstained"),
                answer(False, gold=None),
            ],
            [
                answer(True, acc_lf=False, ex_gt=True),
                answer(True, acc_lf=True, ex_gt=False),
                answer(False, gold=None),
            ],
            {
                "Acc_LF": (100.0, 50.0),
                "Acc_EX|gt": (100.0, 50.0),
                "Acc_EX|pred": (50.0, 100.0),
                "right of answered": (100.0, 100.0),
            },
        ),
        (
            "mimic-cxr-vqa",
            [{**answer(False), **VQA, "prediction": ["left lung"]}],
            [{**answer(True), **VQA, "prediction": ["left lung", "right lung"]}],
            {
                "accuracy": (0.0, 100.0),
                "micro-F1": (200 / 3, 100.0),
                "accuracy of answered": (0.0, 100.0),
            },
        ),
        (
            "ehrnoteqa",
            [
                {
                    "gold": "g",
                    "answerable": True,
                    "status": "answered",
                    "exact": 0.0,
                    "f1": 0.5,
                    "verdicts": [1, 0],
                },
                {"gold": None, "answerable": False, "status": "answered"},
            ],
            [
                {"gold": "g", "answerable": True, "status": "abstained"},
                {"gold": None, "answerable": False, "status": "abstained"},
            ],
            {
                "exact match": (0.0, 0.0),
                "F1": (50.0, 0.0),
                "declined of unanswerable": (0.0, 100.0),
            },
        ),
        (
            "emrqa",
            [{"question": "q", "golds": 1, "em": 1.0, "f1": 1.0}],
            [{"question": "q", "golds": 1, "em": 0.0, "f1": 0.5}],
            {"exact match": (100.0, 0.0), "F1": (100.0, 50.0)},
        ),
        (
            "forms",
            [{"id": "apart/0", "gold": "f", "predictions": {"HM-1": "f", "HM-2": "x"}}],
            [{"id": "apart/0", "gold": "f", "predictions": {"HM-1": "x", "HM-2": "x"}}],
            {"apart/HM-1": (100.0, 0.0), "apart/HM-2": (0.0, 0.0)},
        ),
    ],
)
def test_each_benchmark_by_its_own_measures(
    benchmark: str,
    a: list[Plain],
    b: list[Plain],
    expected: dict[str, tuple[float, float]],
    cli: Any,
    tmp_path: Path,
) -> None:
    one, two = write(tmp_path / "a", benchmark, a), write(tmp_path / "b", benchmark, b)
    ran = cli("eval", "compare", one, two, "--json")
    assert ran.code == 0, ran.err
    found = {name: (d["a"], d["b"]) for name, d in differences(ran).items()}
    assert {name: found[name] for name in expected} == {
        name: pytest.approx(values) for name, values in expected.items()
    }
    assert "judge" not in found  # B was not judged


def test_questions_about_one_study_are_drawn_together(cli: Any, tmp_path: Path) -> None:
    def run(name: str, correct: bool, studies: int) -> Path:
        record = {**answer(correct), **VQA, "prediction": VQA["gold"] if correct else []}
        rows = [{**record, "study_id": k % studies} for k in range(60)]
        rows[30:] = [{**answer(True), **VQA, "prediction": VQA["gold"], "study_id": 999}] * 30
        return write(tmp_path / name, "mimic-cxr-vqa", rows)

    wide = differences(cli("eval", "compare", run("a", False, 1), run("b", True, 1), "--json"))
    narrow = differences(cli("eval", "compare", run("c", False, 30), run("d", True, 30), "--json"))
    width = [d["accuracy"]["high"] - d["accuracy"]["low"] for d in (wide, narrow)]
    assert width[0] == 100.0 and width[0] > width[1]  # two studies tell little


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset_sha256", "e" * 64),
        ("split", "train"),
        ("dataset", "ehrsql-2022"),
        ("database_sha256", "f" * 64),
    ],
)
def test_runs_of_different_data_are_refused(
    name: str, value: str, cli: Any, tmp_path: Path
) -> None:
    records = [answer(True)]
    one = write(tmp_path / "a", "ehrsql", records, database_sha256="0" * 64)
    two = write(tmp_path / "b", "ehrsql", records, **{"database_sha256": "0" * 64, name: value})
    ran = cli("eval", "compare", one, two)
    assert ran.code == 1 and ran.out == ""
    assert f"runs of different data (different {name}" in ran.err or name == "dataset"
    assert "only runs over the same files" in ran.err


def test_only_shared_questions_count(cli: Any, tmp_path: Path) -> None:
    one = write(tmp_path / "a", "ehrsql", [answer(True)] * 3)
    two = write(tmp_path / "b", "ehrsql", [answer(True)] * 2)
    ran = cli("eval", "compare", one, two)
    assert "2 questions in both" in ran.out and f"1 questions are only in {one}" in ran.out


def test_bad_folders(cli: Any, tmp_path: Path) -> None:
    good = write(tmp_path / "a", "ehrsql", [answer(True)])
    other = write(tmp_path / "b", "ehrsql", [answer(True, gold="another")])

    def said(path: Path) -> str:
        ran = cli("eval", "compare", good, path)
        assert ran.code == 1 and ran.out == "" and len(ran.err.splitlines()) == 2
        return str(ran.err)

    assert "does not exist" in said(tmp_path / "no")
    assert "is a file, not a folder" in said(good / "records.jsonl")
    (tmp_path / "empty").mkdir()
    assert "holds no records.jsonl" in said(tmp_path / "empty")
    assert "question 0 has another gold answer" in said(other)
    for text, why in (
        ("{}", "does not begin with the header"),
        ('{"header": {"benchmark": "glue"}}\n{"id": 1}', "unknown benchmark, 'glue'"),
        ('{"header": {"benchmark": "spider"}}\n{"id', "holds no answers yet"),
    ):
        (other / "records.jsonl").write_text(text)
        assert why in said(other)
    (other / "records.jsonl").write_bytes(b"\xff\xfe")
    assert "is not text" in said(other)


@pytest.mark.parametrize(
    ("lost", "won", "p"),
    [(0, 0, None), (1, 0, 1.0), (0, 5, 0.0625), (3, 3, 1.0), (1, 9, 22 / 1024)],
)
def test_sign_test(lost: int, won: int, p: float | None) -> None:
    assert sign_test(lost, won) == p


def test_the_list_says_what_each_needs(cli: Any) -> None:
    import click

    from ehrqa_cli.cli.eval.command import evaluation

    context = click.Context(evaluation)
    commands = {
        name: evaluation.get_command(context, name) for name in evaluation.list_commands(context)
    }
    printed = cli("eval", "list").out
    assert "spider  Yu et al. 2018" in printed and "needs    --tables: tables.json" in printed
    listed = {b["name"]: b for b in json.loads(cli("eval", "list", "--json").out)}
    assert set(listed) == set(commands) - {"list", "compare"}
    for name, benchmark in listed.items():
        assert benchmark["needs"] and (benchmark["sources"] or name in ("rankings", "own"))
        assert all(source["licence"] and source["where"] for source in benchmark["sources"])
        command = commands[name]
        assert command is not None
        options = {opt for param in command.params for opt in param.opts}
        for need in benchmark["needs"]:
            for option in need["option"].split(" or "):
                assert option in options or option == "FILE", (name, option)
