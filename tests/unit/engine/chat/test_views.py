"""Evidence as a person opens it, and the patient panel."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.images import Coverage, SceneGraph
from ehrqa_cli.contracts.plugins import SceneGraphSource
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.ehr import schema
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.engine import Session
from ehrqa_cli.engine.chat.patient import patient_summary
from ehrqa_cli.engine.chat.views import (
    evidence_rows,
    image_studies,
    image_view,
    note_view,
    note_views,
)
from ehrqa_cli.notes.importing import import_notes
from ehrqa_cli.vqa.reader import Vqa

from ..fakes import AS_OF

NOTE = "Name: X\r\nPlan:\n  Colace 100 mg twice a day.\n\nEnd \x1b[31mof note"


@pytest.fixture
def ehr(tmp_path: Path) -> Path:
    """Patient 7: an admission that is over and one that is not; labs in two units. Two notes."""
    path = tmp_path / "ehr.sqlite"
    connection = sqlite3.connect(path)
    for table in schema.TABLES:
        connection.execute(table.ddl())
    connection.execute(
        "INSERT INTO patients (row_id, subject_id, gender, dob) VALUES (1, 7, 'f', '2050-06-15')"
    )
    stay = (
        "INSERT INTO admissions (row_id, subject_id, hadm_id, admittime, dischtime, admission_type,"
        " admission_location, discharge_location, insurance, language, marital_status, age)"
        " VALUES (?, 7, ?, ?, ?, 'urgent', 'er', 'home', 'x', 'x', 'x', 50)"
    )
    connection.execute(stay, (1, 70, "2099-01-01 00:00:00", "2099-01-05 00:00:00"))
    connection.execute(stay, (2, 71, "2100-12-30 00:00:00", None))
    drug = (
        "INSERT INTO prescriptions (row_id, subject_id, hadm_id, starttime, stoptime, drug,"
        " dose_val_rx, dose_unit_rx, route) VALUES (?, 7, ?, ?, ?, ?, '5', 'mg', 'po')"
    )
    connection.execute(drug, (1, 70, "2099-01-02 00:00:00", None, "forgotten"))
    connection.execute(drug, (2, 71, "2100-12-30 01:00:00", "2100-12-30 02:00:00", "over"))
    connection.execute(drug, (3, 71, "2100-12-30 01:00:00", None, "heparin"))
    connection.execute("INSERT INTO d_labitems (row_id, itemid, label) VALUES (0, 500, 'sodium')")
    lab = (
        "INSERT INTO labevents (row_id, subject_id, hadm_id, itemid, charttime, valuenum, valueuom)"
        " VALUES (?, 7, 71, 500, ?, ?, ?)"
    )
    connection.execute(lab, (1, "2100-12-30 01:00:00", 9.0, "other"))
    connection.execute(lab, (2, "2100-12-30 02:00:00", 140.0, "meq/l"))
    connection.execute(lab, (3, "2100-12-30 03:00:00", 141.5, "meq/l"))
    connection.execute(lab, (4, "2100-12-30 04:00:00", None, "meq/l"))
    connection.commit()
    connection.close()
    notes = tmp_path / "notes.jsonl"
    told = [{"note_id": f"{p}-1", "subject_id": p, "text": NOTE} for p in (7, 12345)]
    notes.write_text("".join(json.dumps(note) + "\n" for note in told), encoding="utf-8")
    import_notes(notes, path)
    return path


def answer(*evidence: dict[str, Any], **question: Any) -> Answer:
    return Answer(Question("?", **question), Status.ANSWERED, evidence=evidence)


def row(table: str, **key: Any) -> dict[str, Any]:
    return {"kind": "row", "table": table, "key": key}


def test_a_patient_as_of_a_time(ehr: Path):
    database = SqliteDatabase.open(ehr)
    found = patient_summary(database, 7, AS_OF, ehr)
    assert found is not None
    assert (found.sex, found.age, found.died, found.notes) == ("f", 50, None, 1)
    assert [(stay.hadm_id, stay.end) for stay in found.admissions] == [
        (71, None),
        (70, "2099-01-05 00:00:00"),
    ]
    assert [(drug.name, drug.dose, drug.route) for drug in found.medications] == [
        ("heparin", "5 mg", "po")
    ]
    (sodium,) = found.labs
    assert (sodium.values, sodium.last, sodium.unit) == ((140.0, 141.5), 141.5, "meq/l")
    assert sodium.times == ("2100-12-30 02:00:00", "2100-12-30 03:00:00")
    database.close()


def test_what_had_not_happened_then_is_not_shown(ehr: Path):
    database = SqliteDatabase.open(ehr)
    found = patient_summary(database, 7, "2099-01-03 00:00:00", ehr)
    assert found is not None
    assert found.age == 48 and found.labs == ()
    assert [(s.hadm_id, s.end, s.to) for s in found.admissions] == [(70, None, None)]
    assert [drug.name for drug in found.medications] == ["forgotten"]
    database.close()


def test_a_patient_known_only_from_notes_and_one_not_known_at_all(ehr: Path):
    database = SqliteDatabase.open(ehr)
    found = patient_summary(database, 12345, AS_OF, ehr)
    assert found is not None and found.only_notes and found.notes == 1
    assert patient_summary(None, 7, "", ehr) == patient_summary(None, 7, "x'; --", ehr)
    assert patient_summary(database, 99, AS_OF, ehr) is None
    assert patient_summary(database, 99, AS_OF) is None
    database.close()


def test_a_note_is_shown_line_by_line_with_its_marks(ehr: Path):
    start = NOTE.index("Colace")
    view = note_view(ehr, "7-1", [(start, start + 13), (0, 4)])
    assert [line.text for line in view.lines] == NOTE.split("\n")
    assert view.lines[2].marks == ((2, 15),)
    assert view.lines[2].text[2:15] == "Colace 100 mg"
    assert view.first_marked == 0 and view.patient_id == 7
    assert note_view(ehr, "7-1").first_marked == 0


def test_a_mark_may_span_lines_and_a_note_may_be_gone(ehr: Path):
    view = note_view(ehr, "7-1", [(NOTE.index("Plan"), NOTE.index("mg"))])
    assert [bool(line.marks) for line in view.lines] == [False, True, True, False, False]
    cited = {"kind": "note", "note_id": "7-1", "start": 3, "end": 5, "excerpt": "x"}
    other = {**cited, "note_id": "12345-1"}
    assert [v.note_id for v in note_views(ehr, answer(other, cited, cited))] == ["12345-1", "7-1"]
    with pytest.raises(DatabaseError, match="no note"):
        note_view(ehr, "nothing")


def test_cited_rows_in_full(ehr: Path):
    with Session(ehr) as session:
        found = evidence_rows(
            session,
            answer(
                row("labevents", row_id=3), row("labevents", row_id=2), row("patients", row_id=1)
            ),
        )
        assert [(table, len(result.rows)) for table, result in found] == [
            ("labevents", 2),
            ("patients", 1),
        ]
        assert "valuenum" in found[0][1].columns


@pytest.mark.parametrize(
    "item",
    [
        row("sqlite_master", rowid=1),
        row("labevents; drop table patients", row_id=1),
        row("labevents", **{"row_id) or (1": 1}),
        row("nothing", row_id=1),
        {"kind": "row", "table": "labevents", "key": "5"},
        {"kind": "image", "study_id": 5},
        {},
    ],
)
def test_evidence_that_names_no_row_of_this_database_is_left_out(ehr: Path, item: dict[str, Any]):
    with Session(ehr) as session:
        assert evidence_rows(session, answer(item)) == ()


def test_a_key_that_is_text_stays_text(ehr: Path):
    with Session(ehr) as session:
        item = row("labevents", row_id="1' OR '1'='1")
        assert [len(result.rows) for _, result in evidence_rows(session, answer(item))] == [0]


class OneGraph(SceneGraphSource):
    """Study 5, and an image that cannot be read of study 7."""

    name: ClassVar[str] = "one"

    def coverage(self) -> Coverage:
        return Coverage((("left lung", "opacity"), ("", "effusion"), ("right lung", "nodule")))

    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        there = {
            5: SceneGraph(5, array("f", [0.2, 0.9, float("nan")]), pa=0.9, female=0.1),
            7: SceneGraph(7, array("f", [0.0] * 3), problem="cannot be read: it is empty"),
        }
        return {study: there[study] for study in studies if study in there}

    def provenance(self) -> Mapping[str, str]:
        return {}


def test_an_image_as_text():
    session = Session(graphs=Vqa(OneGraph()))
    view = image_view(session, 5)
    assert (view.view, view.sex, view.path, view.problem) == ("PA", "M", None, "")
    assert [(f.name, f.place, f.present) for f in view.findings] == [
        ("effusion", None, True),
        ("opacity", "left lung", False),
    ]
    assert "no image" in image_view(session, 6).problem
    assert "it is empty" in image_view(session, 7).problem
    assert "no reader" in image_view(Session(), 5).problem


def test_the_studies_of_an_answer():
    image = {"kind": "image", "study_id": 5, "finding": "x"}
    assert image_studies(answer(image, image, {"kind": "row"}, study_id=9)) == (5, 9)
    assert image_studies(answer()) == ()
