"""What MIMIC-IV has beside the 17 tables of EHRSQL-2024: imported, shifted, accounted for."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.mimic.accounting import explain
from ehrqa_cli.ehr.mimic.fields import number, second_number, sources, unit_of
from ehrqa_cli.ehr.mimic.importer import import_mimic
from ehrqa_cli.ehr.mimic.options import ImportOptions, ImportReport
from ehrqa_cli.ehr.schema import BY_NAME

MakeRelease = Callable[..., Path]
FURTHER: dict[str, list[str]] = {
    "hosp/emar": [
        "subject_id,hadm_id,emar_id,emar_seq,poe_id,pharmacy_id,enter_provider_id,charttime,"
        "medication,event_txt,scheduletime,storetime",
        "1,11,1-5,5,1-9,77,,2150-03-01 12:30:00,Senna,Administered,2150-03-01 12:00:00,",
        "1,,1-6,6,,,,2150-04-01 12:30:00,Senna,Not Given,,",
        "2,21,2-7,7,,,,2181-01-05 12:30:00,Senna,Administered,2181-01-05 12:00:00,",
        "9,,9-8,8,,,,2181-01-05 12:30:00,Senna,Administered,,",
    ],
    "hosp/emar_detail": [
        "subject_id,emar_id,emar_seq,parent_field_ordinal,dose_due,dose_given,dose_given_unit",
        "1,1-6,6,,1,,",
        "1,1-5,5,1.1,8.6,8.6,mg",
        "1,1-5,5,1.2,8.6,___,mg",
        "2,2-7,7,1.1,2,2,TAB",
        "9,9-8,8,1.1,2,2,TAB",
    ],
    "hosp/omr": [
        "subject_id,chartdate,seq_num,result_name,result_value",
        "1,2150-01-05,1,Blood Pressure,110/65",
        "1,2150-01-05,1,Weight (Lbs),180.5",
        "3,2150-01-05,1,eGFR,>60",
    ],
    "hosp/drgcodes": [
        "subject_id,hadm_id,drg_type,drg_code,description,drg_severity,drg_mortality",
        "1,11,HCFA,864,FEVER,,",
    ],
    "icu/procedureevents": [
        "subject_id,hadm_id,stay_id,caregiver_id,starttime,endtime,storetime,itemid,value,valueuom",
        "1,11,31,5,2150-03-01 13:00:00,2150-03-04 13:00:00,,224275,4320,min",
    ],
    "icu/datetimeevents": [
        "subject_id,hadm_id,stay_id,charttime,itemid,value,valueuom,newcomer",
        "1,11,31,2150-03-01 13:00:00,224275,2150-02-28,Date,1",
    ],
}


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def report_of(report: ImportReport, table: str) -> tuple[int, int, dict[str, int]]:
    return next((t.read, t.kept, t.dropped) for t in report.tables if t.table == table)


def test_further_tables(release: MakeRelease, tmp_path: Path) -> None:
    out = tmp_path / "ehr.sqlite"
    report = import_mimic(release(FURTHER), out)
    for table in report.tables:
        assert table.read == table.kept + sum(table.dropped.values()), table
    given = "SELECT hadm_id, charttime, poe_id, pharmacy_id, medication, event_txt FROM emar"
    assert rows(out, given) == [
        (11, "2150-03-01 12:30:00", "1-9", 77, "senna", "administered"),
        (None, "2150-04-01 12:30:00", None, None, "senna", "not given"),
        (21, "2181-01-05 12:30:00", None, None, "senna", "administered"),
    ]
    assert report_of(report, "emar") == (4, 3, {"its patient is not imported": 1})
    # in the order of their file, with the visit and the time of what they detail
    doses = "SELECT row_id, hadm_id, charttime, dose_given, valuenum FROM emar_detail"
    assert rows(out, doses) == [
        (0, None, "2150-04-01 12:30:00", None, None),
        (1, 11, "2150-03-01 12:30:00", "8.6", 8.6),
        (2, 11, "2150-03-01 12:30:00", "___", None),
        (3, 21, "2181-01-05 12:30:00", "2", 2.0),
    ]
    assert rows(out, "SELECT hadm_id, charttime, result_value, valuenum, valuenum2, valueuom"
                " FROM omr") == [
        (None, "2150-01-05 00:00:00", "110/65", 110.0, 65.0, "mmhg"),
        (None, "2150-01-05 00:00:00", "180.5", 180.5, None, "lbs"),
        (None, "2150-01-05 00:00:00", ">60", None, None, "ml/min/1.73m2"),
    ]  # fmt: skip
    assert rows(out, "SELECT charttime FROM drgcodes") == [("2150-03-01 10:00:00",)]
    assert rows(out, "SELECT label, value FROM procedureevents") == [("20 gauge", 4320.0)]
    assert rows(out, "SELECT label, value FROM datetimeevents") == [
        ("20 gauge", "2150-02-28 00:00:00")
    ]
    made = {name for (name,) in rows(out, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert "poe" not in made, "a table without a file"
    assert rows(out, "PRAGMA foreign_key_check") == []


def test_with_ehrsql_s_conventions_they_are_shifted_too(
    release: MakeRelease, tmp_path: Path
) -> None:
    out = tmp_path / "ehr.sqlite"
    later = "1,12,1-7,7,,,,2152-06-01 12:30:00,Senna,Administered,,"
    changes = {
        **FURTHER,
        "hosp/emar": [*FURTHER["hosp/emar"], later],
        "hosp/emar_detail": [*FURTHER["hosp/emar_detail"], "1,1-7,7,1.1,2,2,TAB"],
    }
    report = import_mimic(release(changes), out, ImportOptions().as_ehrsql())
    assert rows(out, "SELECT hadm_id, charttime, scheduletime FROM emar") == [
        (11, "2100-03-13 12:30:00", "2100-03-13 12:00:00"),
        (None, "2100-04-13 12:30:00", None),
    ]
    detail = report_of(report, "emar_detail")
    assert detail[:2] == (6, 3)
    assert detail[2] == {"its patient is not imported": 2, "its row of emar is not imported": 1}
    # of patients whose visits are later, nothing; names though d_items has none
    assert rows(out, "SELECT subject_id, charttime FROM omr") == [(1, "2100-01-17 00:00:00")] * 2
    assert rows(out, "SELECT label FROM procedureevents") == [("20 gauge",)]
    assert rows(out, "SELECT count(*) FROM d_items WHERE linksto = 'procedureevents'") == [(0,)]


def test_what_is_not_known_yet(release: MakeRelease, tmp_path: Path) -> None:
    """Of a visit that is not over: neither how it ended nor a death in it."""
    changes = {
        "hosp/admissions": [
            "subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,admission_location,"
            "discharge_location,insurance,language,marital_status,edregtime,hospital_expire_flag",
            "2,21,2180-12-10 22:00:00,2181-01-09 10:00:00,2181-01-09 10:00:00,EU OBSERVATION,X,"
            "DIED,Medicare,ENGLISH,,2180-12-10 12:00:00,1",
        ],
    }
    asked = "SELECT discharge_location, deathtime, hospital_expire_flag, encounter FROM admissions"
    whole = import_mimic(release(changes), tmp_path / "a.sqlite")
    assert rows(whole.out, asked) == [("died", "2181-01-09 10:00:00", 1, "observation")]
    options = dataclasses.replace(ImportOptions(), time_shift="ehrsql")
    import_mimic(release(changes), tmp_path / "b.sqlite", options)
    assert rows(tmp_path / "b.sqlite", asked) == [(None, None, None, "observation")]


def test_a_newer_release_s_column_is_told(release: MakeRelease) -> None:
    found = {(c.file, c.column): c for c in explain(release(FURTHER))}
    assert found["icu/datetimeevents", "newcomer"].what == "unknown"
    assert found["icu/d_items", "high"].what == "unknown"
    assert found["hosp/omr", "result_name"].what == "kept"
    assert found["hosp/omr", "chartdate"].to == "charttime"
    assert found["hosp/patients", "anchor_age"].what == "made into"
    left = found["hosp/emar", "emar_seq"]
    assert (left.what, left.why) == ("left out", "the end of emar_id or poe_id")


def test_details_need_what_they_detail(release: MakeRelease, tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match=r"hosp/emar\.csv\.gz"):
        import_mimic(release({**FURTHER, "hosp/emar": None}), tmp_path / "ehr.sqlite")


def test_a_field_that_is_wrong_is_named(release: MakeRelease, tmp_path: Path) -> None:
    lines = [*FURTHER["hosp/drgcodes"], "1,11,HCFA,864,FEVER,high,"]
    with pytest.raises(ImportFailed, match=r"drgcodes\.csv line 3 column drg_severity: 'high'"):
        import_mimic(release({"hosp/drgcodes": lines}), tmp_path / "ehr.sqlite")


def test_numbers_and_units_in_text() -> None:
    assert (number("110/65"), second_number("110/65")) == (110.0, 65.0)
    assert (number(" -2.5 "), second_number("-2.5"), number(".5")) == (-2.5, None, 0.5)
    assert [number(t) for t in ("", "___", ">60", "n/a")] == [None] * 4
    assert unit_of("Blood Pressure Standing (1 min)") == "mmhg"
    assert (unit_of("Height (Inches)"), unit_of("Height")) == ("inches", None)


def test_every_source_can_be_read() -> None:
    """What the schema says of where a column is from is a column, or said in words known here."""
    for table in BY_NAME.values():
        for column in table.columns[1:] if table.file else ():
            for name in sources(column):
                assert name.isidentifier(), (table.name, column)
