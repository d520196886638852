"""Labels read from tables and written again."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

from ehrqa_cli.sets.prepare.images import Study, covering
from ehrqa_cli.sets.prepare.labels import (
    carrier,
    from_folder,
    read_checked,
    read_relations,
    write_labels,
)

LUNG, ZONE = "right lung", "right lower lung zone"


def test_presence_is_carried_and_what_cannot_be_is_left_out() -> None:
    carry = carrier([(LUNG, "lung opacity"), (LUNG, "pneumonia"), (ZONE, "pneumonia"),
                     ("left lung", "pneumonia")])  # fmt: skip
    shown = carry({(ZONE, "pneumonia"), ("spine", "pneumonia")})
    assert shown == {(LUNG, "lung opacity"), (LUNG, "pneumonia"), (ZONE, "pneumonia")}


def test_of_several_mentions_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    rows = ["subject,study_id,object,attribute,present", "1,s7,spine,scoliosis,yes"]
    rows += ["1,s7,spine,scoliosis,no", "1,s7,Right Lung,Pneumonia,1", "2,s9,spine,scoliosis,yes"]
    path.write_text("\n".join(rows) + "\n")
    found = read_checked(path, {"image": 7})
    assert found.studies == {7} and found.present == {7: {(LUNG, "pneumonia")}}
    path.write_text("dicom_id\nIMAGE.dcm\nother\n")
    assert read_checked(path, {"image": 7}).studies == {7}


def test_what_is_unknown_stays_unknown(tmp_path: Path) -> None:
    (tmp_path / "scene_graph.tsv").write_text(
        "study_id\tobject\tattribute\tcategory\tpresent\n"
        f"5\t{LUNG}\tpneumonia\tdisease\t0\n6\t{LUNG}\tpneumonia\tdisease\t1\n"
        "6\tspine\tscoliosis\tanatomicalfinding\t0\n"
    )
    (tmp_path / "studies.tsv").write_text("study_id\tctr\n5\t0.51\n6\t\n7\t0.4\n")
    labels, relations = from_folder(tmp_path, [5, 6, 7])
    assert (
        set(labels) == {5, 6}
        and labels[5].heart == 0.51
        and labels[5].unknown == {("spine", "scoliosis")}
    )
    studies = [Study(1, s, f"i{s}", "2100-01-01 00:00:00", "AP") for s in (5, 6, 7)]
    counts = write_labels(tmp_path / "out", studies, labels, sorted(relations), {1: "male"})
    assert counts == {"studies": 2, "relations": 2, "present": 1, "impossible": 0}
    with gzip.open(tmp_path / "out" / "scene_graph.tsv.gz", "rt") as file:
        rows = [(r["study_id"], r["attribute"], r["present"])
                for r in csv.DictReader(file, delimiter="\t")]  # fmt: skip
    assert rows == [("5", "pneumonia", "0"), ("6", "pneumonia", "1"), ("6", "scoliosis", "0")]


def test_relations_that_can_be(tmp_path: Path) -> None:
    assert len(read_relations(None)) == 435
    path = tmp_path / "relations.tsv"
    path.write_text("attribute\tobject\nPneumonia\tright lung\nscoliosis\tspine\n")
    assert read_relations(path) == [(LUNG, "pneumonia"), ("spine", "scoliosis")]


def test_a_study_belongs_to_the_visit_that_it_lies_in() -> None:
    visits = [(1, "2100-01-01 00:00:00", "2100-01-05 00:00:00"), (2, "2100-01-04 00:00:00", None)]
    assert covering(visits, "2100-01-02 00:00:00") == 1
    assert covering(visits, "2100-01-04 12:00:00") == covering(visits, "2101-01-01 00:00:00") == 2
    assert covering(visits, "2099-12-31 00:00:00") is None
