"""``ehrqa build``: sets that ``ehrqa eval`` reads back, going on, and what is refused."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.cli import main
from ehrqa_cli.sets.making.journal import Journal
from ehrqa_cli.sets.own import layouts

from .build_hospital import make_demo, make_labels

SIZE = 90


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo EHR with chest X-rays."""
    return make_demo(tmp_path_factory.mktemp("demo") / "ehr.sqlite")


@pytest.fixture(scope="module")
def labels(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_labels(tmp_path_factory.mktemp("labels"), demo)


def digest(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def order(demo: Path, labels: Path) -> tuple[object, ...]:
    both = ("--db", demo, "--scene-graphs", labels, "--check-every", 3)
    return ("build", "questions", *both, "--size", SIZE, "--seed", 4)


@pytest.fixture(scope="module")
def built(order: tuple[object, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set that no test may change."""
    out = tmp_path_factory.mktemp("built") / "set"
    assert main.run([*map(str, order), "--out", str(out)]) == 0
    return out


def test_gold_scores_100_in_both_layouts(cli, demo, labels, order, built) -> None:
    out = built
    ran = cli(*order, "--out", out, "--json")  # it is there: the card is told again
    assert ran.code == 0, ran.err
    card = json.loads(ran.out)
    assert card == json.loads((out / "card.json").read_text())
    assert card["counts"]["questions"] == SIZE
    assert card["counts"]["duplicate_questions"] == card["counts"]["empty_answers"] == 0
    assert card["checks"]["answers_run"] == SIZE - SIZE // 10
    assert card["checks"]["run_by_the_engine_too"] > 10 and not card["checks"]["engine_disagreed"]
    for split in ("train", "test"):
        if not json.loads((out / split / "label.json").read_text()):
            continue
        base = ("--data", out, "--split", split, "--db", demo)
        ran = cli("eval", "ehrsql", *base, "--predictions", out / split / "label.json", "--json")
        assert ran.code == 0, ran.err
        found = json.loads(ran.out)
        assert found["overall"]["rs"]["10"] == 100.0, found["overall"]
        ran = cli(
            *("eval", "ehrxqa", *base, "--scene-graphs", labels),
            *("--predictions", out / f"{split}.json", "--json"),
        )
        assert ran.code == 0, ran.err
        scores = json.loads(ran.out)["scores"]["all"]
        assert scores["acc_ex_gt"]["value"] == scores["acc_ex_pred"]["value"] == 1.0


def test_the_answer_sheet_runs_on_the_table_that_comes_with_it(demo, built) -> None:
    out = built
    connection = sqlite3.connect(f"{demo.as_uri()}?mode=ro", uri=True)
    connection.execute(f"ATTACH '{out / 'tb_cxr_plus.sqlite'}' AS sheet")
    asked = [r for r in json.loads((out / "train.json").read_text()) if r["answer_sheet"]]
    assert len(asked) > 10
    for record in asked:
        rows = connection.execute(record["answer_sheet"]).fetchall()
        assert sorted(str(row[0]) for row in rows) == sorted(map(str, record["answer"]))
    connection.close()


def test_training_pairs_are_what_the_recipe_reads(built) -> None:
    out = built
    lines = [json.loads(x) for x in (out / "pairs" / "train.jsonl").read_text().splitlines()]
    assert all(set(line) == {"question", "form", "template", "family"} for line in lines)
    assert len(lines) == len(json.loads((out / "train.json").read_text()))


def test_broken_off_by_a_full_disk_and_again_while_writing(
    cli, order, built, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    real = json.dumps
    left = [40]

    def full(*args: Any, **options: Any) -> str:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **options)

    monkeypatch.setattr("ehrqa_cli.sets.making.journal.json.dumps", full)
    ran = cli(*order, "--out", broken)
    assert ran.code == 1 and "No space left on device" in ran.err
    assert ran.err.count("\n") == 2 and "goes on" in ran.err
    monkeypatch.undo()
    kept = (broken / ".build" / "attempts.jsonl").read_text().count("\n")
    assert 0 < kept < SIZE

    def stop(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(layouts, "_ehrsql", stop)
    assert cli(*order, "--out", broken).code == 1
    monkeypatch.undo()
    assert cli(*order, "--out", broken).code == 0
    assert digest(broken) == digest(built)


def test_a_complete_set_is_told_again_and_a_changed_one_is_refused(
    cli, order, built, tmp_path
) -> None:
    out = tmp_path / "set"
    shutil.copytree(built, out)
    again = cli(*order, "--out", out)
    assert again.code == 0 and f"questions  {SIZE}" in again.out
    assert digest(out) == digest(built)
    (out / "test.json").write_text("[]")
    ran = cli(*order, "--out", out)
    assert ran.code == 1 and "was changed since it was built (test.json)" in ran.err


def test_tables_alone(cli, demo, tmp_path) -> None:
    ran = cli("build", "questions", "--db", demo, "--out", tmp_path / "set", "--size", 30)
    assert ran.code == 0 and "questions  30" in ran.out and "debiased split" in ran.out
    assert not (tmp_path / "set" / "tb_cxr_plus.sqlite").exists()
    assert "FUNC_VQA" not in (tmp_path / "set" / "train.json").read_text()


def test_vqa_gold_and_our_reader_score_100(cli, demo, labels, tmp_path) -> None:
    out = tmp_path / "set"
    order = ("build", "vqa", "--scene-graphs", labels, "--db", demo, "--size", 192)
    ran = cli(*order, "--out", out, "--json")
    assert ran.code == 0, ran.err
    card = json.loads(ran.out)
    assert card["templates"]["templates_filled"] == 48 and card["counts"]["questions"] == 192
    for split in ("train", "test"):
        base = ("eval", "mimic-cxr-vqa", "--data", out, "--split", split, "--json")
        for more in (
            ("--predictions", out / f"{split}.json"),
            ("--scene-graphs", labels, "--db", demo),
        ):
            ran = cli(*base, *more)
            assert ran.code == 0, ran.err
            assert json.loads(ran.out)["scores"]["all"]["accuracy"]["value"] == 1.0
    again = tmp_path / "again"
    assert cli(*order, "--out", again).code == 0
    assert digest(again) == digest(out)


def test_less_than_was_asked_for_is_said(cli, labels, tmp_path) -> None:
    lines = (labels / "scene_graph.tsv").read_text().splitlines()
    few = tmp_path / "few"
    few.mkdir()
    studies = (labels / "studies.tsv").read_text().splitlines()[:3]
    ids = {line.split("\t")[0] for line in studies[1:]}
    kept = [lines[0], *(line for line in lines if line.split("\t")[0] in ids)]
    (few / "scene_graph.tsv").write_text("\n".join(kept) + "\n")
    (few / "studies.tsv").write_text("\n".join(studies) + "\n")
    ran = cli("build", "vqa", "--scene-graphs", few, "--out", tmp_path / "set", "--size", 500)
    assert ran.code == 0 and "these data have no more" in ran.err


@pytest.mark.parametrize("kind", ["questions", "vqa"])
def test_no_size_and_no_folder(kind: str, cli, demo, labels, tmp_path) -> None:
    base = ("build", kind, "--db", demo, "--scene-graphs", labels)
    ran = cli(*base, "--out", tmp_path / "set", "--size", 0)
    assert ran.code == 2 and "--size" in ran.err
    assert cli(*base).code == 2
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("do not touch")
    ran = cli(*base, "--out", tmp_path / "full")
    assert ran.code == 2 and "holds something else" in ran.err
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["thesis.txt"]


def test_another_set_in_the_folder(cli, demo, tmp_path) -> None:
    Journal(tmp_path / "set", {"set": "vqa", "seed": 1}).claim()
    ran = cli("build", "questions", "--db", demo, "--out", tmp_path / "set", "--size", 30)
    assert ran.code == 2 and "holds another set" in ran.err


def test_wrong_databases(cli, demo, ehr, labels, tmp_path) -> None:
    out = tmp_path / "set"
    base = ("build", "questions", "--out", out)
    ran = cli(*base, "--db", tmp_path / "none.sqlite")
    assert ran.code == 1 and "there is no database" in ran.err
    (tmp_path / "text.sqlite").write_text("hello")
    ran = cli(*base, "--db", tmp_path / "text.sqlite")
    assert ran.code == 1 and "not a SQLite database" in ran.err
    ran = cli(*base, "--db", ehr, "--scene-graphs", labels)
    assert ran.code == 1 and "no table tb_cxr" in ran.err
    ran = cli("build", "vqa", "--scene-graphs", labels, "--db", ehr, "--out", out)
    assert ran.code == 1 and "no table tb_cxr" in ran.err
    assert not out.exists()


def test_no_images(cli, demo, labels, tmp_path) -> None:
    out = tmp_path / "set"
    for kind in ("questions", "vqa"):
        base = ("build", kind, "--db", demo, "--out", out)
        ran = cli(*base, "--scene-graphs", tmp_path / "nowhere")
        assert ran.code == 2 and "there is no folder" in ran.err
        assert not out.exists()
    other = tmp_path / "other"
    other.mkdir()
    for name in ("scene_graph.tsv", "studies.tsv"):
        text = (labels / name).read_text().replace("\n5", "\n9")
        (other / name).write_text(text)
    ran = cli("build", "questions", "--db", demo, "--out", out, "--scene-graphs", other)
    assert ran.code == 1 and "none of the studies" in ran.err


def test_wrong_settings_of_the_split_are_said_before_anything_is_made(cli, demo, tmp_path) -> None:
    ran = cli("build", "questions", "--db", demo, "--out", tmp_path / "set", "--debias", "much")
    assert ran.code == 2 and "is no split" in ran.err and not (tmp_path / "set").exists()


def test_the_debiased_split_is_of_valid_and_test_and_what_gives_itself_away_is_told(built) -> None:
    card = json.loads((built / "card.json").read_text())
    asked = {
        split: {q["id"] for q in json.loads((built / split / "data.json").read_text())["data"]}
        for split in ("train", "valid", "test", "debiased/valid", "debiased/test")
    }
    assert asked["debiased/valid"] | asked["debiased/test"] == asked["valid"] | asked["test"]
    assert not asked["debiased/valid"] & asked["debiased/test"]
    report = json.loads((built / "bias.json").read_text())
    assert report["questions"] == sum(len(asked[s]) for s in ("train", "valid", "test"))
    ratios = [p["ratio"] for p in report["unigram"]]
    assert ratios == sorted(ratios, reverse=True)
    assert card["bias"]["debiased"]["method"] in ("random", "debiased 1-1-1", "debiased 2-2-1")
