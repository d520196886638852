"""``ehrqa vqa`` and FUNC_VQA in ``ehrqa neuralsql``, with labels in place of a vision model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ehrqa_fixtures import add_studies


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    folder = tmp_path / "labels"
    folder.mkdir()
    (folder / "scene_graph.tsv").write_text(
        "study_id\tobject\tattribute\tcategory\tpresent\n"
        "501\tspine\tscoliosis\tanatomicalfinding\t1\n"
        "502\tspine\tscoliosis\tanatomicalfinding\t0\n"
    )
    (folder / "studies.tsv").write_text(
        "study_id\timage_id\tview\tgender\tctr\tmtr\n501\ta\tPA\tfemale\t0.5\t\n502\tb\tAP\tmale\t\t\n"
    )
    return folder


@pytest.fixture
def imaged(ehr: Path) -> Path:
    return add_studies(ehr, dict.fromkeys((501, 502, 503), "pa"))


def test_one_study_as_json(cli, imaged, labels):
    ran = cli(
        *("vqa", "Is there scoliosis in the spine?", "--study", 501, "--db", imaged),
        *("--scene-graphs", labels, "--json"),
    )
    found = json.loads(ran.out)
    assert ran.code == 0 and ran.err == ""
    assert (found["status"], found["scope"], found["patient_scope"]) == (
        "answered",
        "image",
        "single",
    )
    assert (found["value"], found["rows"], found["text"]) == (1, [[1]], "Study 501: yes.")
    assert found["evidence"] == [
        {
            "kind": "image",
            "study_id": 501,
            "finding": "scoliosis",
            "location": "spine",
            "probability": 1.0,
        }
    ]
    assert found["provenance"]["models"]["vqa"]["scene_graphs"].startswith("labels:")


def test_one_study_for_a_person(cli, imaged, labels):
    ran = cli(
        "vqa", "Where is scoliosis?", "--study", 501, "--db", imaged, "--scene-graphs", labels
    )
    assert ran.code == 0 and ran.out.startswith("Study 501: spine.\n")


@pytest.mark.parametrize(
    ("question", "study", "kind"),
    [
        ("Is there kyphosis?", 501, "not_seen"),
        ("Is there pneumonia?", 501, "not_seen"),
        ("Is there scoliosis?", 503, "no_data"),
        ("Is there scoliosis?", 504, "unknown_value"),
        ("Is the cardiothoracic ratio above 1/2?", 502, "not_seen"),
        ("Is there scoliosis and hernia or goiter?", 501, "ambiguous"),
    ],
)
def test_declined(cli, imaged, labels, question, study, kind):
    ran = cli("vqa", question, "--study", study, "--db", imaged, "--scene-graphs", labels, "--json")
    assert ran.code == 3
    assert json.loads(ran.out)["reason"]["kind"] == kind


def test_without_a_study_or_labels(cli, imaged, labels, tmp_path):
    assert cli("vqa", "Is it AP?", "--db", imaged, "--scene-graphs", labels).code == 2
    assert cli("vqa", "Is it AP?", "--study", 501, "--db", imaged).code == 2
    ran = cli("vqa", "Is it AP?", "--study", 501, "--db", imaged, "--scene-graphs", tmp_path)
    assert ran.code == 2 and "scene_graph.tsv" in ran.err


QUERY = 'SELECT study_id FROM tb_cxr WHERE func_vqa("Is there scoliosis?", study_id) = true'


def test_neuralsql_reads_images_and_explains(cli, imaged, labels):
    ran = cli("neuralsql", QUERY, "--db", imaged, "--scene-graphs", labels, "--explain", "--json")
    assert ran.code == 0
    assert json.loads(ran.out) == {"columns": ["study_id"], "rows": [[501]]}
    assert "1 studies have no image: 503" in ran.err
    assert "3 studies, 2 images read in 1 batches, 0 from the cache" in ran.err


def test_neuralsql_without_a_reader_and_with_a_question_it_declines(cli, imaged, labels):
    ran = cli("neuralsql", QUERY, "--db", imaged)
    assert ran.code == 1 and "--scene-graphs" in ran.err
    ran = cli(
        *("neuralsql", QUERY.replace("scoliosis", "kyphosis"), "--db", imaged),
        *("--scene-graphs", labels),
    )
    assert ran.code == 1 and "kyphosis" in ran.err
