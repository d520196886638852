"""Importing a small release: what is kept, what is dropped and why, and what goes wrong how."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.mimic.events import whole_dose
from ehrqa_cli.ehr.mimic.fields import dose_text
from ehrqa_cli.ehr.mimic.importer import import_mimic
from ehrqa_cli.ehr.mimic.options import ImportOptions, ImportReport
from ehrqa_cli.ehr.mimic.values import Dates, birth
from ehrqa_cli.ehr.schema import OPTIONAL_TABLES

MakeRelease = Callable[..., Path]


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def dropped(report: ImportReport, table: str) -> dict[str, int]:
    return next(t for t in report.tables if t.table == table).dropped


@pytest.mark.parametrize("zipped", [False, True])
def test_defaults(release: MakeRelease, tmp_path: Path, zipped: bool) -> None:
    out = tmp_path / "ehr.sqlite"
    report = import_mimic(release(zipped=zipped), out)
    for table in report.tables:
        assert table.read == table.kept + sum(table.dropped.values())
    assert rows(out, "SELECT * FROM patients ORDER BY row_id") == [
        (0, 1, "f", "2100-07-17 00:00:00", None, "2011 - 2013"),
        (1, 2, "m", "2110-07-17 00:00:00", "2182-03-01 00:00:00", "2014 - 2016"),
        (2, 3, "f", "2130-07-17 00:00:00", None, "2014 - 2016"),
    ]
    assert rows(out, "SELECT * FROM admissions ORDER BY row_id")[1] == (
        *(1, 1, 12, "2152-06-01 08:30:00", "2152-06-02 08:30:00"),
        *("ew emer.", "emergency room", "home", "other", "?", None, 52),
        *("a", None, "inpatient"),  # the file has no column of the ED, and none of the flag
    )
    assert rows(out, "SELECT icd_code, charttime FROM diagnoses_icd ORDER BY row_id") == [
        ("icd9|4019", "2150-03-01 10:00:00"),
        ("icd9|2859", "2150-03-01 10:00:00"),
        ("icd10|i10", "2180-12-20 22:00:00"),
    ]
    # on the day of admission: not before it
    assert rows(out, "SELECT charttime FROM procedures_icd ORDER BY row_id") == [
        ("2150-03-01 10:00:00",),
        ("2150-03-03 00:00:00",),
    ]
    labs = "SELECT row_id, itemid, valuenum, valueuom, ref_range_upper, flag FROM labevents"
    assert rows(out, labs) == [
        (0, 50912, 2.5, "mg/dl", 1.2, "abnormal"),
        (1, 51237, 1.1, None, 1.1, None),
        (2, 50971, None, "meq/l", 5.1, None),
        (3, 50912, 0.9, "mg/dl", 1.2, None),
        (4, 50912, 1.0, "mg/dl", 1.2, None),
    ]
    said = "SELECT hadm_id, value, specimen_id, priority, comments FROM labevents"
    assert rows(out, said)[2:4] == [
        (11, "___", 7, "stat", "hemolyzed,\nrepeat"),
        (None, "0.9", 7, "routine", None),
    ]
    assert rows(out, "SELECT label, fluid, category FROM d_labitems WHERE itemid = 51237") == [
        ("inr(pt)", "blood", "hematology")
    ]
    assert rows(out, "SELECT drug, dose_val_rx FROM prescriptions ORDER BY row_id") == [
        ("vancomycin", "1000.0"),
        ("epoetin", "20000.0"),
        ("senna", "8.6"),
        ("oxycodone", "5-10"),
    ]
    charted = "SELECT itemid, stay_id, valuenum, value FROM chartevents ORDER BY row_id"
    assert rows(out, charted) == [(220045, 31, 88.0, None), (220179, 31, 120.0, None)]
    assert dropped(report, "chartevents") == {"its hospital visit is not imported": 1}
    given = "SELECT totalamount, endtime, amount FROM inputevents ORDER BY row_id"
    assert rows(out, given) == [
        (200.0, "2150-03-01 14:00:00", 1.0),
        (None, "2150-03-01 16:00:00", 1.0),
    ]
    assert rows(out, "SELECT hadm_id, subject_id FROM transfers ORDER BY row_id")[2] == (None, 3)
    micro = "SELECT charttime, test_name, org_name FROM microbiologyevents"
    assert rows(out, micro) == [
        ("2150-03-01 15:00:00", "urine culture", "escherichia coli"),
        ("2150-03-02 00:00:00", "blood culture, routine", None),
    ]
    assert rows(out, "SELECT count(*) FROM cost") == [(0,)]
    assert report.as_of == "2181-12-31 23:59:00"
    assert set(report.missing) == {t.file for t in OPTIONAL_TABLES if t.file}


def test_it_opens_as_an_ehr(release: MakeRelease, tmp_path: Path) -> None:
    out = tmp_path / "ehr.sqlite"
    report = import_mimic(release(), out)
    assert out.stat().st_mode & 0o077 == 0, "patients' data are private"
    database = SqliteDatabase.open(out)
    assert database.default_as_of() == report.as_of
    assert database.meta["source"] == "mimic-iv"
    assert json.loads(database.meta["options"])["time_shift"] == "none"
    plan = "EXPLAIN QUERY PLAN SELECT * FROM labevents WHERE hadm_id = 11 AND itemid = 50912"
    assert "ix_labevents_hadm_id_itemid" in str(rows(out, plan))
    assert rows(out, "PRAGMA foreign_key_check") == []
    database.close()


def test_ehrsql_conventions(release: MakeRelease, tmp_path: Path) -> None:
    out = tmp_path / "ehr.sqlite"
    report = import_mimic(release(), out, ImportOptions().as_ehrsql())
    # 50 x 365 days back; the second visit of patient 1 comes after 2100
    assert rows(out, "SELECT hadm_id, admittime, dischtime FROM admissions ORDER BY row_id") == [
        (11, "2100-03-13 10:00:00", "2100-03-17 12:00:00")
    ]
    assert dropped(report, "admissions") == {"begins after 2100-12-31 23:59:00": 2}
    assert rows(out, "SELECT itemid FROM labevents ORDER BY row_id") == [(50912,)]
    assert dropped(report, "labevents")["no unit"] == 1
    assert dropped(report, "d_labitems") == {"its name is also that of another kind of thing": 1}
    assert rows(out, "SELECT icd_code FROM d_icd_diagnoses ORDER BY row_id") == [
        ("icd9|4019",),
        ("icd10|i10",),
        ("icd10|d649",),
    ]
    assert dropped(report, "diagnoses_icd")["its item or code is not in the dictionary"] == 1
    # before the admission (at midnight of that day): at discharge
    assert rows(out, "SELECT charttime FROM procedures_icd ORDER BY row_id") == [
        ("2100-03-17 12:00:00",),
        ("2100-03-15 00:00:00",),
    ]
    assert rows(out, "SELECT drug, dose_val_rx FROM prescriptions ORDER BY row_id") == [
        ("vancomycin", "1000.0"),
        ("epoetin", "20000.0"),
    ]
    assert report.as_of == "2100-12-31 23:59:00"


def test_a_patient_still_in_hospital(release: MakeRelease, tmp_path: Path) -> None:
    """Shifted, the visit spans the present: its end and what follows are not known yet."""
    changes = {
        "hosp/admissions": [
            "subject_id,hadm_id,admittime,dischtime,admission_type,admission_location,"
            "discharge_location,insurance,language,marital_status",
            "2,21,2180-12-10 22:00:00,2181-01-09 10:00:00,URGENT,X,DIED,Medicare,ENGLISH,",
        ],
        "hosp/labevents": [
            "subject_id,hadm_id,itemid,charttime,valuenum,valueuom,ref_range_lower,"
            "ref_range_upper,flag",
            "2,21,50912,2180-12-11 06:00:00,1.5,mg/dL,0.5,1.2,abnormal",
            "2,21,50912,2181-01-05 06:00:00,1.0,mg/dL,0.5,1.2,",
        ],
    }
    out = tmp_path / "ehr.sqlite"
    options = dataclasses.replace(ImportOptions(), time_shift="ehrsql")
    report = import_mimic(release(changes), out, options)
    assert rows(out, "SELECT dischtime, discharge_location FROM admissions ORDER BY row_id") == [
        (None, None)
    ]
    assert rows(out, "SELECT dod FROM patients ORDER BY row_id") == [(None,)]
    assert rows(out, "SELECT charttime FROM labevents ORDER BY row_id") == [
        ("2100-12-31 06:00:00",)
    ]
    assert dropped(report, "labevents") == {"after the present": 1}


def test_options_that_drop(release: MakeRelease, tmp_path: Path) -> None:
    out = tmp_path / "ehr.sqlite"
    options = ImportOptions(
        chart_items=frozenset({220045}),
        lower_case=False,
        drop_without_number=True,
        drop_outside_visits=True,
        drop_other_items=True,
        synthetic_costs=5,
    )
    report = import_mimic(release(), out, options)
    assert dropped(report, "patients") == {"no hospital visit": 1}
    assert dropped(report, "labevents") == {
        "no numeric value": 1,
        "belongs to no hospital visit": 1,
    }
    assert dropped(report, "inputevents") == {"no numeric value": 1}
    assert dropped(report, "transfers") == {"belongs to no hospital visit": 1}
    assert dropped(report, "d_items") == {"an item of another table": 1}
    assert dropped(report, "chartevents") == {
        "its item is not asked for": 1,
        "its hospital visit is not imported": 1,
    }
    assert rows(out, "SELECT spec_type_desc FROM microbiologyevents ORDER BY row_id") == [
        ("URINE",),
        ("BLOOD CULTURE",),
    ]
    costs = rows(out, "SELECT row_id, event_type, event_id, cost FROM cost ORDER BY row_id")
    assert [c[0] for c in costs] == list(range(len(costs)))
    assert len(costs) == 3 + 3 + 2 + 4  # diagnoses, labs in a visit, procedures, prescriptions
    assert len({c[3] for c in costs if c[1] == "labevents" and c[2] in (0, 2)}) == 1


def test_chosen_patients(release: MakeRelease, tmp_path: Path) -> None:
    out = tmp_path / "ehr.sqlite"
    report = import_mimic(release(), out, ImportOptions(patients=frozenset({2})))
    assert rows(out, "SELECT DISTINCT subject_id FROM labevents") == [(2,)]
    assert dropped(report, "admissions") == {"patient not asked for": 2}
    with pytest.raises(ImportFailed, match="none of the patients"):
        import_mimic(release(), tmp_path / "b.sqlite", ImportOptions(patients=frozenset({999})))


@pytest.mark.parametrize("missing", ["hosp/patients", "hosp/admissions", "hosp/d_labitems"])
def test_required_file_missing(release: MakeRelease, tmp_path: Path, missing: str) -> None:
    with pytest.raises(ImportFailed, match=missing):
        import_mimic(release({missing: None}), tmp_path / "ehr.sqlite")


def test_optional_file_missing(release: MakeRelease, tmp_path: Path) -> None:
    report = import_mimic(release({"hosp/microbiologyevents": None}), tmp_path / "ehr.sqlite")
    assert "hosp/microbiologyevents" in report.missing
    assert rows(tmp_path / "ehr.sqlite", "SELECT count(*) FROM microbiologyevents") == [(0,)]


LAB_HEADER = (
    "subject_id,hadm_id,itemid,charttime,valuenum,valueuom,ref_range_lower,ref_range_upper,flag"
)
GOOD_LAB = "1,11,50912,2150-03-01 11:00:00,2.5,mg/dL,0.5,1.2,"


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("x,11,50912,2150-03-01 11:00:00,2.5,mg/dL,0.5,1.2,", "subject_id"),
        ("2,11,50912,2150-03-01 11:00:00,2.5,mg/dL,0.5,1.2,", "subject_id"),
        ("1,eleven,50912,2150-03-01 11:00:00,2.5,mg/dL,0.5,1.2,", "hadm_id"),
        ("1,11,5o912,2150-03-01 11:00:00,2.5,mg/dL,0.5,1.2,", "itemid"),
        ("1,11,50912,2150-13-01 11:00:00,2.5,mg/dL,0.5,1.2,", "charttime"),
        ("1,11,50912,2150-02-30 11:00:00,2.5,mg/dL,0.5,1.2,", "charttime"),
        ("1,11,50912,2150-03-01 24:00:00,2.5,mg/dL,0.5,1.2,", "charttime"),
        ("1,11,50912,01/03/2150,2.5,mg/dL,0.5,1.2,", "charttime"),
        ("1,11,50912,2150-03-01 11:00:00,two,mg/dL,0.5,1.2,", "valuenum"),
        ("1,11,50912,2150-03-01 11:00:00,2.5,mg/dL,low,1.2,", "ref_range_lower"),
        ("1,11,50912,2150-03-01 11:00:00,2.5", "valueuom"),
        ("1,11,50912,2150-03-01 11:00:00,2.5,mg/dL,0.5,1.2,,,", "flag"),
    ],
)
def test_broken_row(release: MakeRelease, tmp_path: Path, line: str, column: str) -> None:
    folder = release({"hosp/labevents": [LAB_HEADER, GOOD_LAB, line, GOOD_LAB]})
    with pytest.raises(ImportFailed) as caught:
        import_mimic(folder, tmp_path / "ehr.sqlite")
    message = str(caught.value)
    assert f"labevents.csv line 3 column {column}" in message
    assert "\n" not in message
    assert [p.name for p in tmp_path.iterdir()] == ["release"], "no half database is left"


def test_line_numbers_count_line_breaks_in_fields(release: MakeRelease, tmp_path: Path) -> None:
    quoted = '1,11,50912,2150-03-01 11:00:00,2.5,mg/dL,0.5,1.2,"a\nb\nc"'
    folder = release({"hosp/labevents": [LAB_HEADER, quoted, "", "1,11,50912,never,1,mg/dL,,,"]})
    with pytest.raises(ImportFailed, match="line 6 column charttime"):
        import_mimic(folder, tmp_path / "ehr.sqlite")


def test_empty_field_that_must_not_be(release: MakeRelease, tmp_path: Path) -> None:
    lines = ["subject_id,gender,anchor_age,anchor_year,dod", "1,F,50,2150,", "2,,70,2180,"]
    with pytest.raises(ImportFailed, match=r"patients\.csv line 3 column gender: .* empty"):
        import_mimic(release({"hosp/patients": lines}), tmp_path / "ehr.sqlite")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "empty"),
        (["subject_id,hadm_id,value"], "line 1 column itemid: the header lacks"),
        ([LAB_HEADER, '1,11,"50912,2150-03-01'], "line 2.*not CSV"),
        ([LAB_HEADER, '1,11,"50912"x,2150-03-01 11:00:00,1,,,,'], "line 2.*not CSV"),
    ],
)
def test_broken_file(release: MakeRelease, tmp_path: Path, lines: list[str], words: str) -> None:
    folder = release({"hosp/labevents": lines})
    if not lines:
        (folder / "hosp/labevents.csv").write_bytes(b"")
    with pytest.raises(ImportFailed, match=words):
        import_mimic(folder, tmp_path / "ehr.sqlite")


def test_broken_bytes(release: MakeRelease, tmp_path: Path) -> None:
    folder = release(zipped=True)
    path = folder / "hosp/labevents.csv.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(ImportFailed, match=r"labevents\.csv\.gz line \d+: broken gzip data"):
        import_mimic(folder, tmp_path / "ehr.sqlite")
    path.write_bytes(b"this is not gzip")
    with pytest.raises(ImportFailed, match="broken gzip data"):
        import_mimic(folder, tmp_path / "ehr.sqlite")
    path.unlink()
    text = f"{LAB_HEADER}\n{GOOD_LAB}\n".encode() + b"1,11,50912,\xff\xfe,1,,,,\n"
    (folder / "hosp/labevents.csv").write_bytes(text)
    with pytest.raises(ImportFailed, match="not UTF-8"):
        import_mimic(folder, tmp_path / "ehr.sqlite")


def test_byte_order_mark_and_windows_line_ends(release: MakeRelease, tmp_path: Path) -> None:
    folder = release()
    path = folder / "hosp/patients.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    import_mimic(folder, tmp_path / "ehr.sqlite")
    assert rows(tmp_path / "ehr.sqlite", "SELECT count(*) FROM patients") == [(3,)]


def test_existing_output_is_kept_unless_forced(release: MakeRelease, tmp_path: Path) -> None:
    out = tmp_path / "ehr.sqlite"
    out.write_text("precious")
    with pytest.raises(ImportFailed, match="exists already"):
        import_mimic(release(), out)
    broken = release({"hosp/labevents": [LAB_HEADER, "1,11,x,y,z,,,,"]})
    with pytest.raises(ImportFailed):
        import_mimic(broken, out, ImportOptions(force=True))
    assert out.read_text() == "precious"
    import_mimic(release(), out, ImportOptions(force=True))
    assert rows(out, "SELECT count(*) FROM admissions") == [(3,)]


def test_interrupted_import_leaves_nothing(release: MakeRelease, tmp_path: Path) -> None:
    folder = release()

    def stop(what: str, done: int, of: int) -> None:
        if what == "icu/chartevents":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_mimic(folder, tmp_path / "ehr.sqlite", progress=stop)
    assert [p.name for p in tmp_path.iterdir()] == ["release"]


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="not a folder"):
        import_mimic(tmp_path / "absent", tmp_path / "ehr.sqlite")
    with pytest.raises(ImportFailed, match="hosp/patients"):
        import_mimic(tmp_path, tmp_path / "ehr.sqlite")
    with pytest.raises(ImportFailed, match="cannot write"):
        folder = tmp_path / "hosp"
        folder.mkdir()
        for name in ("patients", "admissions"):
            (folder / f"{name}.csv").write_text("a")
        import_mimic(tmp_path, tmp_path / "nowhere" / "ehr.sqlite")


def test_a_visit_that_stands_twice(release: MakeRelease, tmp_path: Path) -> None:
    lines = (release() / "hosp/admissions.csv").read_text().splitlines()
    with pytest.raises(ImportFailed, match=r"admissions\.hadm_id is not unique"):
        import_mimic(release({"hosp/admissions": [*lines, lines[1]]}), tmp_path / "ehr.sqlite")


def test_same_release_same_bytes(release: MakeRelease, tmp_path: Path) -> None:
    folder = release()
    for name in ("a.sqlite", "b.sqlite"):
        import_mimic(folder, tmp_path / name)
    assert (tmp_path / "a.sqlite").read_bytes() == (tmp_path / "b.sqlite").read_bytes()


def test_progress_ends_at_the_end(release: MakeRelease, tmp_path: Path) -> None:
    last: dict[str, tuple[int, int]] = {}
    import_mimic(
        release(),
        tmp_path / "ehr.sqlite",
        progress=lambda what, done, of: last.__setitem__(what, (done, of)),
    )
    assert "indexes" in last
    assert all(done == of for done, of in last.values())


@pytest.mark.parametrize(
    ("text", "dose"),
    [
        *(("5", "5.0"), ("0.125", "0.125"), ("20,000", "20000.0"), (".5", "0.5")),
        *(("5-10", "5-10"), ("1-2 TABS", "1-2 tabs"), ("", None), ("  ", None), ("nan", "nan")),
    ],
)
def test_doses(text: str, dose: str | None) -> None:
    assert dose_text(text) == dose
    assert whole_dose("20,000")
    assert not whole_dose("0.5")


def test_time_shift_is_in_days() -> None:
    assert Dates(365 * 50)["2150-03-01"] == "2100-03-13"
    assert birth(2150, 50, 0) == "2100-07-17 00:00:00"
    for wrong in ("2150-02-29", "2150-1-1", "21500101", ""):
        with pytest.raises(ValueError):
            Dates(0)[wrong]
