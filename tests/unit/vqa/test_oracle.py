"""Labels as scene graphs: reading them, and the measured questions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.ehr.cxr_vocabulary import CATEGORY_OF
from ehrqa_cli.vqa import OracleGraphs, Vqa, VqaThresholds

LABELS = """study_id\tobject\tattribute\tcategory\tpresent
5\tspine\tscoliosis\tanatomicalfinding\t1
5\tneck\tgoiter\tdisease\t0
6\tspine\tscoliosis\tanatomicalfinding\t0
"""
STUDIES = """study_id\timage_id\tview\tgender\tctr\tmtr
5\ta-b\tPA\tfemale\t0.51\t0.2
6\tc-d\tAP\tmale\t\t
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with gzip.open(tmp_path / "scene_graph.tsv.gz", "wt") as file:
        file.write(LABELS)
    (tmp_path / "studies.tsv").write_text(STUDIES)
    return tmp_path


def test_labels_are_read(folder: Path) -> None:
    source = OracleGraphs.open(folder)
    assert source.coverage().relations == (("spine", "scoliosis"), ("neck", "goiter"))
    vqa = Vqa(source)
    assert list(vqa.answer("Is there scoliosis?", [5, 6, 7]).yes) == [5]
    assert list(vqa.answer("Is there a goiter?", [5, 6]).unknown) == [6]
    assert vqa.detail("What is the gender of this patient?", 5).values == ("female",)
    assert vqa.detail("Is the cardiothoracic ratio above 1/2?", 6).reason is not None
    assert source.provenance() == OracleGraphs.open(folder).provenance()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("studies.tsv", None),
        ("studies.tsv", "study_id\tctr\nfive\t0.5\n"),
        ("studies.tsv", "image\n5\n"),
        ("scene_graph.tsv.gz", None),
        ("scene_graph.tsv.gz", "not gzip"),
    ],
)
def test_a_folder_of_something_else(folder: Path, name: str, text: str | None) -> None:
    (folder / name).unlink()
    if text is not None:
        (folder / name).write_text(text)
    with pytest.raises(UsageError) as caught:
        OracleGraphs.open(folder)
    assert caught.value.hint and "\n" not in str(caught.value)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        OracleGraphs.open(tmp_path / "nothing")


def test_thresholds_file(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    path.write_text('{"default": 0.4, "relations": [["spine", "scoliosis", 0.7]]}')
    found = VqaThresholds.load(path)
    assert found.of(("spine", "scoliosis")) == 0.7 and found.of(("neck", "goiter")) == 0.4
    path.write_text('{"relations": [1]}')
    with pytest.raises(UsageError):
        VqaThresholds.load(path)


def test_the_measured_questions(shared_data: Path) -> None:
    """ehrxqa-open with its labels: all of the template texts, 95% of the paraphrases."""
    open_set = shared_data / "ehrxqa-open"
    vqa = Vqa(OracleGraphs.open(open_set))
    text = (open_set / "vqa_questions.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    right = {"template_text": 0, "question": 0}
    for row in rows:
        for field in right:
            found = vqa.detail(row[field], row["study_id"]).values
            words = [{1: "yes", 0: "no"}.get(v, v) if isinstance(v, int) else v for v in found]
            right[field] += sorted(words) == sorted(row["answer"])
    assert len(rows) == 480
    assert right["template_text"] == 480
    assert right["question"] >= 0.95 * 480


def test_categories_are_those_of_the_labels(shared_data: Path) -> None:
    path = shared_data / "ehrxqa-open" / "scene_graph.tsv.gz"
    with gzip.open(path, "rt") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    assert {(row[2], row[3]) for row in rows} == set(CATEGORY_OF.items())
