"""Small EHRs, and the same patients in other layouts."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ehrqa_cli.ehr import schema
from ehrqa_cli.ehr.demo.make import build_demo

# A test that imports onnxruntime by itself must not send events either (ehrqa_cli.onnx).
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


@pytest.fixture
def ehr(tmp_path: Path) -> Path:
    """Two patients, one admission each, three creatinine values of the first."""
    path = tmp_path / "ehr.sqlite"
    connection = sqlite3.connect(path)
    for table in schema.TABLES:
        connection.execute(table.ddl())
    connection.executemany(
        "INSERT INTO patients (row_id, subject_id, gender, dob) VALUES (?, ?, ?, ?)",
        [(0, 101, "f", "2050-01-02 00:00:00"), (1, 102, "m", "2040-03-04 00:00:00")],
    )
    connection.executemany(
        "INSERT INTO admissions (row_id, subject_id, hadm_id, admittime, dischtime, admission_type,"
        " admission_location, discharge_location, insurance, language, marital_status, age)"
        " VALUES (?, ?, ?, ?, ?, 'urgent', 'emergency room', 'home', 'medicare', 'english',"
        " 'married', ?)",
        [
            (0, 101, 1001, "2100-02-01 10:00:00", "2100-02-05 10:00:00", 50),
            (1, 102, 1002, "2099-02-01 10:00:00", "2099-02-05 10:00:00", 59),
        ],
    )
    connection.execute(
        "INSERT INTO d_labitems (row_id, itemid, label) VALUES (0, 50912, 'creatinine')"
    )
    connection.executemany(
        "INSERT INTO labevents (row_id, subject_id, hadm_id, itemid, charttime, valuenum, valueuom)"
        " VALUES (?, 101, 1001, 50912, ?, ?, 'mg/dl')",
        [
            (0, "2100-02-02 08:00:00", 1.1),
            (1, "2100-02-03 08:00:00", 2.75),
            (2, "2100-02-04 08:00:00", 0.9),
        ],
    )
    connection.commit()
    connection.close()
    return path


@pytest.fixture(scope="session")
def make_layout() -> Callable[[str, Path], tuple[Path, Path]]:
    """Makes, in a folder, a reference EHR and the same patients in another layout."""
    layouts = Path(__file__).parent / "fixtures" / "layouts"

    def make(name: str, folder: Path) -> tuple[Path, Path]:
        _, first, second = (layouts / f"{name}.sql").read_text(encoding="utf-8").split("-- # ")
        reference, out = folder / "reference.sqlite", folder / f"{name}.sqlite"
        build_demo(folder / "demo.sqlite", patients=30)
        shutil.copy(folder / "demo.sqlite", reference)
        with closing(sqlite3.connect(reference)) as ehr:
            ehr.executescript(first.removeprefix("reference"))
            ehr.commit()
        with closing(sqlite3.connect(out)) as made:
            made.execute("ATTACH ? AS ehr", (str(reference),))
            made.executescript(second.removeprefix("layout"))
            made.commit()
        return reference, out

    return make
