"""A made-up hospital: the demo EHR, MIMIC-CXR's metadata of its patients, Chest ImaGenome's graphs
of their films, a table of checked labels, and the same EHR as MIMIC-IV's files."""

from __future__ import annotations

import csv
import gzip
import json
import random
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest

from ehrqa_cli.ehr.cxr_vocabulary import OBJECTS
from ehrqa_cli.ehr.demo.make import build_demo
from ehrqa_cli.vqa.ontology import POSSIBLE

PATIENTS = 60


@dataclass(frozen=True)
class Hospital:
    """Where everything is; ``gold`` are the studies with checked labels."""

    db: Path
    metadata: Path
    imagenome: Path
    checked: Path
    gold: frozenset[int]


@pytest.fixture(scope="session")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Hospital:
    folder = tmp_path_factory.mktemp("hospital")
    db = folder / "ehr.sqlite"
    build_demo(db, seed=5, patients=PATIENTS)
    with sqlite3.connect(db) as connection:
        # Some sodium in another unit than the rest.
        connection.execute(
            "UPDATE labevents SET valueuom = 'mg/dl' WHERE itemid = (SELECT itemid FROM d_labitems "
            "WHERE label = 'sodium') AND row_id % 5 = 0"
        )
        visits = connection.execute(
            "SELECT subject_id, hadm_id, admittime FROM admissions ORDER BY hadm_id"
        ).fetchall()
    connection.close()
    rng = random.Random(2)
    graphs = folder / "imagenome" / "silver_dataset" / "scene_graph"
    graphs.mkdir(parents=True)
    rows = []
    for at, (patient, visit, begun) in enumerate(visits):
        study, day = 50_000_000 + visit % 10_000_000, begun[:10].replace("-", "")
        for view, clock in (("LATERAL", "000100"), ("AP", "120000.5"), ("PA", "110000")):
            name = f"{study}-{view.lower()}"
            rows.append([name, patient, study, view, day, clock])
            (graphs / f"{name}_SceneGraph.json").write_text(json.dumps(graph(rng, at == 3)))
    metadata = folder / "metadata.csv.gz"
    with gzip.open(metadata, "wt", newline="") as file:
        head = ["dicom_id", "subject_id", "study_id", "ViewPosition", "StudyDate", "StudyTime"]
        csv.writer(file).writerows([head, *rows])
    patients = sorted({row[1] for row in rows})[::3]
    gold = {row[2]: row for row in rows if row[1] in patients and row[3] == "PA"}
    checked = folder / "gold.txt"
    lines = ["image_id\tbbox\tlabel_name\tcontext"]
    for row in gold.values():
        lines.append(f"{row[0]}.dcm\tright lower lung zone\tpneumonia\tyes")
        lines.append(f"{row[0]}.dcm\tspine\tscoliosis\tno")
    checked.write_text("\n".join(lines) + "\n")
    return Hospital(db, metadata, folder / "imagenome", checked, frozenset(gold))


def graph(rng: random.Random, damaged: bool) -> dict[str, object]:
    """A scene graph of random relations; a damaged one has no box of the spine."""
    objects = []
    for place in OBJECTS:
        left = rng.uniform(10, 60)
        if not (damaged and place == "spine"):
            width = 100 if place == "left lung" else 40
            objects.append({"bbox_name": place, "x1": left, "x2": left + width, "y1": 1, "y2": 9})
    said: dict[str, list[list[str]]] = {}
    for place, name in rng.sample(sorted(POSSIBLE), 12):
        answer = rng.choice(("yes", "yes", "no"))
        said.setdefault(place, []).append([f"anatomicalfinding|{answer}|{name}", "nlp|yes|normal"])
    said.setdefault("left arm", []).append(["disease|yes|bronchiectasis"])
    return {
        "objects": objects,
        "attributes": [{"bbox_name": place, "attributes": found} for place, found in said.items()],
    }


@pytest.fixture(scope="session")
def mimic(hospital: Hospital, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The EHR as MIMIC-IV ships its files."""
    folder = tmp_path_factory.mktemp("mimic")
    opened = sqlite3.connect(hospital.db)
    for name, sql in _FILES.items():
        found = opened.execute(sql)
        path = folder / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([column[0] for column in found.description])
            writer.writerows(found)
    opened.close()
    return folder


_CODE = "substr(icd_code, instr(icd_code, '|') + 1) AS icd_code"
_VERSION = "substr(icd_code, 4, instr(icd_code, '|') - 4) AS icd_version"
_FILES = {
    "hosp/patients": "SELECT subject_id, gender, 2100 - substr(dob, 1, 4) AS anchor_age, "
    "2100 AS anchor_year, date(dod) AS dod FROM patients",
    "hosp/admissions": "SELECT * FROM admissions",
    "hosp/d_icd_diagnoses": f"SELECT {_CODE}, {_VERSION}, long_title FROM d_icd_diagnoses",
    "hosp/d_icd_procedures": f"SELECT {_CODE}, {_VERSION}, long_title FROM d_icd_procedures",
    "hosp/d_labitems": "SELECT itemid, label FROM d_labitems",
    "icu/d_items": "SELECT itemid, label, abbreviation, linksto FROM d_items",
    "hosp/diagnoses_icd": f"SELECT subject_id, hadm_id, {_CODE}, {_VERSION} FROM diagnoses_icd",
    "hosp/procedures_icd": f"SELECT subject_id, hadm_id, {_CODE}, {_VERSION}, "
    "date(charttime) AS chartdate FROM procedures_icd",
    "hosp/labevents": "SELECT *, valuenum AS value FROM labevents",
    "hosp/prescriptions": "SELECT * FROM prescriptions",
    "icu/icustays": "SELECT * FROM icustays",
    "icu/chartevents": "SELECT * FROM chartevents",
    "icu/inputevents": "SELECT * FROM inputevents",
    "icu/outputevents": "SELECT * FROM outputevents",
    "hosp/microbiologyevents": "SELECT *, date(charttime) AS chartdate FROM microbiologyevents",
    "hosp/transfers": "SELECT * FROM transfers",
}
