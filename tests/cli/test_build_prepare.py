"""``ehrqa build prepare``, and sets from what it made: with its splits, with paraphrases."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.cli import main
from ehrqa_cli.sets.own.paraphrases import question_templates, vqa_asked

from .build_hospital import make_demo, make_labels
from .test_build import digest

SIZE = 70
# Wordings that keep the slots, and can be told from rule-made ones.
SAID = "of interest to the study group:"


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared folder that no test may change, of labels of which a third were checked."""
    folder = tmp_path_factory.mktemp("ready")
    demo = make_demo(folder / "ehr.sqlite")
    labels = make_labels(folder, demo)
    with (labels / "studies.tsv").open() as file:
        studies = [row["study_id"] for row in csv.DictReader(file, delimiter="\t")]
    (folder / "gold.csv").write_text("study_id\n" + "\n".join(studies[::4]) + "\n")
    given = ["build", "prepare", "--db", demo, "--scene-graphs", labels, "--gold"]
    given += [folder / "gold.csv", "--age", "18-99", "--years", "2100-2102", "--out"]
    assert main.run([*map(str, given), str(folder / "out")]) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A paraphrase of every template."""
    path = tmp_path_factory.mktemp("said") / "said.jsonl"
    lines = [
        {"family": a.family, "template": a.text, "kept": [f"{SAID} {a.text}"], "rejected": []}
        for a in question_templates()
    ]
    lines += [
        {"family": a.family, "template": a.text, "kept": [a.text.upper()], "rejected": []}
        for a in vqa_asked()
        if "{" not in a.text
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_what_it_says(cli, ready, tmp_path) -> None:
    card = json.loads((ready / "card.json").read_text())
    assert list(card["databases"]) == ["silver", "gold"] and card["now"] == "2102-12-31 23:59:00"
    ran = cli("build", "prepare", "--db", ready / "silver" / "ehr.sqlite", "--min-studies", 0,
              "--patients", 5, "--age", "18 to 99", "--out", tmp_path / "out")  # fmt: skip
    assert ran.code == 0, ran.err
    assert "silver  5 of " in ran.out and "now  2105-12-31 23:59:00" in ran.out
    ran = cli("build", "prepare", "--db", ready / "silver" / "ehr.sqlite", "--age", "old",
              "--out", tmp_path / "other")  # fmt: skip
    assert ran.code == 2 and "must be a range, not old" in ran.err
    ran = cli("build", "prepare", "--db", ready / "silver" / "ehr.sqlite", "--mimic", tmp_path,
              "--out", tmp_path / "other")  # fmt: skip
    assert ran.code == 2 and "give either --db or --mimic" in ran.err


def test_a_question_about_it_is_answered(cli, ready) -> None:
    database = ready / "silver" / "ehr.sqlite"
    ran = cli("ask", "how many patients are currently admitted?", "--db", database, "--json")
    assert ran.code == 0, ran.err
    present = json.loads((ready / "card.json").read_text())["databases"]["silver"]
    assert json.loads(ran.out)["rows"] == [[present["in_hospital_now"]]]


def _splits(ready: Path) -> dict[int, str]:
    with (ready / "splits.tsv").open() as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {int(row["subject_id"]): row["split"] for row in rows}


def _records(out: Path, split: str) -> list[dict[str, Any]]:
    """The questions of a split; one without any has no file."""
    path = out / f"{split}.json"
    found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return found


@pytest.mark.parametrize("name", ["silver", "gold"])
def test_questions_go_where_their_patients_are(cli, ready, said, tmp_path, name) -> None:
    out = tmp_path / "set"
    given = ("build", "questions", "--db", ready / name / "ehr.sqlite", "--scene-graphs",
             ready / name / "labels", "--splits", ready / "splits.tsv", "--paraphrase", said,
             "--size", SIZE, "--check-every", 2)  # fmt: skip
    ran = cli(*given, "--out", out, "--json")
    assert ran.code == 0, ran.err
    card = json.loads(ran.out)
    assert card["paraphrases"]["kept"] == 417 and card["checks"]["engine_disagreed"] == 0
    splits, seen, anew = _splits(ready), set(), 0
    for split in ("train", "valid", "test"):
        for record in _records(out, split):
            if record["patient_id"] is not None:
                assert splits[record["patient_id"]] == split
            seen.add(split)
            anew += SAID.partition(":")[0] in record["question"].lower()
    assert seen == ({"train", "valid"} if name == "silver" else {"test"})
    assert 0.2 * SIZE < anew < 0.8 * SIZE
    again = tmp_path / "again"
    assert cli(*given, "--out", again).code == 0
    assert digest(again) == digest(out)


def test_images_go_where_their_patients_are(cli, ready, said, tmp_path) -> None:
    given = ("build", "vqa", "--scene-graphs", ready / "silver" / "labels", "--size", 150,
             "--splits", ready / "splits.tsv", "--paraphrase", said)  # fmt: skip
    ran = cli(*given, "--out", tmp_path / "films", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["templates"]["templates_filled"] == 48
    splits, loud = _splits(ready), {}
    for split in ("train", "valid", "test"):
        for record in _records(tmp_path / "films", split):
            assert splits[record["subject_id"]] == split != "test"
            if record["question"].isupper():
                loud.setdefault(record["template"], set()).add(split)
    assert loud and all(len(found) == 1 for found in loud.values())  # a wording is of one split


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("subject_id\tsplit\n1\tdev\n", "names a split dev"),
        ("subject_id\tsplit\n", "names no patient"),
        ("patient\tsplit\n1\ttest\n", "cannot read the splits"),
        ("subject_id\tsplit\n7\ttest\n", "none of the patients is in the list"),
    ],
)
def test_splits_that_do_not_fit(cli, ready, tmp_path, text, message) -> None:
    (tmp_path / "splits.tsv").write_text(text)
    for kind in (("questions", "--db", ready / "gold" / "ehr.sqlite"),
                 ("vqa", "--scene-graphs", ready / "gold" / "labels")):  # fmt: skip
        ran = cli("build", *kind, "--splits", tmp_path / "splits.tsv", "--out", tmp_path / "out")
        assert ran.code in (1, 2) and message in ran.err, ran.err


def test_a_model_that_is_none(cli, ready, tmp_path) -> None:
    (tmp_path / "model.gguf").write_text("nothing")
    ran = cli("build", "questions", "--db", ready / "gold" / "ehr.sqlite", "--paraphrase",
              tmp_path / "model.gguf", "--out", tmp_path / "out")  # fmt: skip
    assert ran.code == 1 and "is not a GGUF file" in ran.err
    ran = cli("build", "questions", "--db", ready / "gold" / "ehr.sqlite", "--paraphrase",
              "nobodys-model", "--out", tmp_path / "out")  # fmt: skip
    assert ran.code in (1, 2) and "nobodys-model" in ran.err and not (tmp_path / "out").exists()
