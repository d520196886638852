"""``ehrqa eval mimic-cxr-vqa`` and ``ehrqa eval ehrxqa`` on a small made-up tree of each layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ehrqa_fixtures import add_studies


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """501 has scoliosis, 502 has none."""
    return write_labels(tmp_path / "labels", {501: 1, 502: 0})


def write_labels(folder: Path, present: dict[int, float]) -> Path:
    folder.mkdir()
    rows = [f"{s}\tspine\tscoliosis\tanatomicalfinding\t{p}" for s, p in present.items()]
    text = "study_id\tobject\tattribute\tcategory\tpresent\n" + "\n".join(rows)
    (folder / "scene_graph.tsv").write_text(text + "\n")
    studies = [f"{s}\ti{s}\tPA\tfemale\t0.5\t" for s in present]
    (folder / "studies.tsv").write_text(
        "study_id\timage_id\tview\tgender\tctr\tmtr\n" + "\n".join(studies) + "\n"
    )
    return folder


@pytest.fixture
def imaged(ehr: Path) -> Path:
    return add_studies(ehr, {501: "pa", 502: "pa"})


@pytest.fixture
def vqa_data(tmp_path: Path) -> Path:
    folder = tmp_path / "vqa"
    folder.mkdir()
    asked = [
        ("Is there scoliosis in the spine?", ["yes"], {"image_id": "i501"}),
        ("Is there scoliosis in the spine?", ["no"], {"study_id": 502}),
        ("Is there pneumonia?", ["no"], {"image_path": "p1/p101/s501/i501.jpg"}),
    ]
    rows = [
        {
            "idx": k,
            "question": question,
            "answer": answer,
            "content_type": "presence",
            "semantic_type": "verify",
            "template_program": "program_2",
            **where,
        }
        for k, (question, answer, where) in enumerate(asked)
    ]
    (folder / "test.json").write_text(json.dumps(rows))
    return folder


SCOLIOSIS = 'select study_id from tb_cxr where func_vqa("is there scoliosis?", study_id) = true'


@pytest.fixture
def xqa_data(tmp_path: Path) -> Path:
    folder = tmp_path / "xqa"
    folder.mkdir()
    rows: list[dict[str, Any]] = [
        {
            "id": 0,
            "question": "how many patients are there?",
            "template": "Count the number of current patients.",
            "query": "SELECT COUNT(DISTINCT patients.subject_id) FROM patients",
            "answer": [2],
        },
        {
            "id": 1,
            "question": "which studies have scoliosis?",
            "template": "List the IDs of studies indicating ${attribute}.",
            "query": SCOLIOSIS,
            "answer": [501],
        },
        {
            "id": 2,
            "question": "who wrote this?",
            "template": "x",
            "query": "nan",
            "is_impossible": True,
            "answer": None,
        },
    ]
    (folder / "test.json").write_text(json.dumps(rows))
    return folder


def records(out: Path) -> list[dict[str, Any]]:
    lines = (out / "records.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line][1:]


def test_they_are_listed(cli):
    listed = cli("eval", "list").out
    assert "mimic-cxr-vqa  " in listed and "ehrxqa  " in listed


def test_vqa(cli, vqa_data, labels, imaged, tmp_path):
    out = tmp_path / "out"
    flags = ("--data", vqa_data, "--split", "test", "--db", imaged, "--scene-graphs", labels)
    ran = cli("eval", "mimic-cxr-vqa", *flags, "--out", out)
    assert ran.code == 0, ran.err
    assert "all\t3\t66.7" in ran.out and "Table 2: baselines" in ran.out
    assert "dataset sha256  " in ran.out and "database  sqlite:" in ran.out
    assert [r["status"] for r in records(out)] == ["answered", "answered", "abstained"]
    assert (out / "report.md").is_file() and (out / "report.json").is_file()
    again = cli("eval", "mimic-cxr-vqa", *flags, "--out", out, "--json")
    assert json.loads(again.out)["scores"]["all"]["declined"] == 1


def test_vqa_without_a_database(cli, vqa_data, labels):
    """Then an image id alone names no study; with study ids none is needed."""
    flags = ("eval", "mimic-cxr-vqa", "--data", vqa_data, "--split", "test")
    ran = cli(*flags, "--scene-graphs", labels)
    assert ran.code == 1 and "names no study" in ran.err
    rows = json.loads((vqa_data / "test.json").read_text())[1:]
    (vqa_data / "test.json").write_text(json.dumps(rows))
    ran = cli(*flags, "--scene-graphs", labels)
    assert ran.code == 0 and "all\t2\t50.0" in ran.out


def test_vqa_needs_a_reader_or_predictions(cli, vqa_data, imaged, tmp_path):
    flags = ("eval", "mimic-cxr-vqa", "--data", vqa_data, "--split", "test", "--db", imaged)
    ran = cli(*flags)
    assert ran.code == 2 and "--scene-graphs" in ran.err
    (tmp_path / "p.json").write_text(json.dumps({"0": ["yes"], "1": ["no"], "2": ["no"]}))
    ran = cli(*flags, "--predictions", tmp_path / "p.json")
    assert ran.code == 0 and "all\t3\t100.0" in ran.out and "p.json\t\t100.0" in ran.out


def test_ehrxqa(cli, rote, xqa_data, labels, imaged, tmp_path):
    out = tmp_path / "out"
    flags = ("--data", xqa_data, "--split", "test", "--db", imaged, "--scene-graphs", labels)
    ran = cli("eval", "ehrxqa", *flags, "--out", out)
    assert ran.code == 0, ran.err
    found = records(out)
    assert [(r["status"], r["correct"]) for r in found] == [
        ("answered", True),
        ("abstained", False),
        ("abstained", False),
    ]
    assert [r.get("ex_gt") for r in found] == [True, True, None]
    assert [r.get("acc_lf") for r in found] == [True, False, None]
    assert "all\t2\t50.0\t100.0\t50.0" in ran.out
    assert "of 1 questions without an answer 1 were declined" in ran.out
    whole = (out / "records.jsonl").read_bytes()
    assert cli("eval", "ehrxqa", *flags, "--out", out).out == ran.out
    assert (out / "records.jsonl").read_bytes() == whole
    ran = cli("eval", "ehrxqa", *flags, "--out", out, "--limit", 2)
    assert ran.code == 1 and "is of another run (different questions)" in ran.err


def test_gold_programs_score_100_and_all_abstain_0(cli, xqa_data, labels, imaged, tmp_path):
    flags = ("--data", xqa_data, "--split", "test", "--db", imaged, "--scene-graphs", labels)
    path = tmp_path / "p.json"
    gold = {r["id"]: r["query"] for r in json.loads((xqa_data / "test.json").read_text())}
    path.write_text(json.dumps({**gold, 2: None}))
    ran = cli("eval", "ehrxqa", *flags, "--predictions", path)
    assert ran.code == 0, ran.err
    assert "all\t2\t100.0\t100.0\t100.0" in ran.out
    path.write_text(json.dumps(dict.fromkeys(gold)))
    ran = cli("eval", "ehrxqa", *flags, "--predictions", path)
    assert "all\t2\t0.0\t100.0\t0.0" in ran.out
    assert "of 1 questions without an answer 1 were declined" in ran.out


def test_what_the_image_reader_sees_and_what_is_there(cli, xqa_data, labels, imaged, tmp_path):
    """The gold program over a reader that is wrong is wrong; over gold labels it is right."""
    wrong = write_labels(tmp_path / "wrong", {501: 0.2, 502: 0.9})
    flags = ("--data", xqa_data, "--split", "test", "--db", imaged, "--scene-graphs", wrong)
    path = tmp_path / "p.jsonl"
    lines = [{"id": 0, "answer": [2]}, {"id": 1, "prediction": SCOLIOSIS}]
    lines.append({"id": 2, "answer": None})
    path.write_text("\n".join(map(json.dumps, lines)))
    ran = cli("eval", "ehrxqa", *flags, "--labels", labels, "--predictions", path, "--json")
    found = json.loads(ran.out)["scores"]["all"]
    assert found["acc_ex_gt"]["value"] == found["acc_ex_pred"]["value"] == 0.5
    assert found["acc_ex_labels"]["value"] == found["acc_lf"]["value"] == 1.0


def test_images_without_a_reader_are_declined(cli, rote, xqa_data, imaged):
    ran = cli("eval", "ehrxqa", "--data", xqa_data, "--split", "test", "--db", imaged)
    assert ran.code == 0 and "questions about images are declined" in ran.err


@pytest.mark.parametrize("name", ["mimic-cxr-vqa", "ehrxqa"])
def test_wrong_paths(cli, name, labels, imaged, tmp_path):
    flags = ("--db", imaged, "--scene-graphs", labels)
    ran = cli("eval", name, *flags, "--data", tmp_path / "nowhere")
    assert ran.code == 1 and "does not exist" in ran.err and "--data" in ran.err
    ran = cli("eval", name, *flags, "--data", tmp_path)
    assert ran.code == 1 and "valid.json" in ran.err
    (tmp_path / "valid.json").write_text('[{"question": "a"')
    ran = cli("eval", name, *flags, "--data", tmp_path)
    assert ran.code == 1 and "fetch it again" in ran.err
    ran = cli("eval", name, *flags, "--data", tmp_path, "--labels", tmp_path)
    assert ran.code == 2 and "scene_graph.tsv" in ran.err


def test_a_wrong_database(cli, vqa_data, xqa_data, labels, tmp_path):
    for name, data in (("mimic-cxr-vqa", vqa_data), ("ehrxqa", xqa_data)):
        flags = ("--data", data, "--split", "test", "--scene-graphs", labels)
        ran = cli("eval", name, *flags, "--db", tmp_path / "no.sqlite")
        assert ran.code == 1 and "no.sqlite" in ran.err
