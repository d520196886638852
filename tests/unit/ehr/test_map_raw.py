"""Raw MIMIC-IV through its mapping gives the rows that `ehrqa db import` writes."""

from __future__ import annotations

import csv
import gzip
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.mapping.mapped import Mapped
from ehrqa_cli.ehr.mimic.importer import import_mimic
from ehrqa_cli.ehr.mimic.options import ImportOptions
from ehrqa_cli.ehr.open import open_database
from ehrqa_cli.ehr.schema import BY_NAME

ALL = Limits(seconds=120.0, rows=2_000_000, length=1 << 30)
# The made-up release lacks the keys that PhysioNet has; and its one chart row of an unknown
# visit is left out, as a mapping does not look for those.
KEYS: dict[str, list[str] | None] = {
    "icu/chartevents": [
        "subject_id,hadm_id,stay_id,caregiver_id,charttime,storetime,itemid,value,valuenum,valueuom",
        "1,11,31,5,2150-03-01 13:00:00,,220045,88,88,bpm",
        "1,11,31,5,2150-03-01 13:00:00,,220179,120,120,mmHg",
        "1,11,31,5,2150-03-01 14:00:00,,220045,high,,bpm",
    ],
    "icu/inputevents": [
        "subject_id,hadm_id,stay_id,starttime,endtime,itemid,orderid,totalamount,totalamountuom",
        "1,11,31,2150-03-01 13:00:00,2150-03-01 14:00:00,225798,1,200,ml",
        "1,11,31,2150-03-01 15:00:00,2150-03-01 16:00:00,225798,2,,",
    ],
    "hosp/microbiologyevents": [
        "microevent_id,subject_id,hadm_id,chartdate,charttime,spec_type_desc,test_name,org_name",
        "1,1,11,2150-03-01 00:00:00,2150-03-01 15:00:00,URINE,URINE CULTURE ,ESCHERICHIA COLI",
        '2,1,11,2150-03-02 00:00:00,,BLOOD CULTURE,"Blood Culture, Routine",',
        "3,1,,2150-04-02 00:00:00,2150-04-02 08:00:00,URINE,URINE CULTURE,",
    ],
    "hosp/prescriptions": [
        "subject_id,hadm_id,pharmacy_id,starttime,stoptime,drug_type,drug,dose_val_rx,"
        "dose_unit_rx,route",
        "1,11,1,2150-03-01 12:00:00,2150-03-02 12:00:00,MAIN,Vancomycin,1000,mg,IV",
        '1,11,2,2150-03-01 12:00:00,2150-03-02 12:00:00,MAIN,Epoetin,"20,000",UNIT,SC',
        "1,11,3,2150-03-01 12:00:00,2150-03-02 12:00:00,MAIN,Senna ,8.6,mg,PO",
        "1,11,4,2150-03-01 12:00:00,,MAIN,Oxycodone,5-10,mg,PO",
        "1,11,5,,2150-03-02 12:00:00,MAIN,Senna,1,TAB,PO",
        "1,11,6,2150-03-01 12:00:00,,BASE,Water,.5,mL,IV",
        "1,11,7,2150-03-01 12:00:00,,BASE,Air,1.,mL,IH",
        "1,11,8,2150-03-01 12:00:00,,BASE,Ice,UD,,",
        "1,11,9,2150-03-01 12:00:00,,BASE,Salt,1.2.3,,",
        "1,11,10,2150-03-01 12:00:00,,BASE,Sand,.,,",
    ],
}
MakeRelease = Callable[..., Path]


def into_sqlite(source: Path, out: Path) -> Path:
    """The CSV files of a release as tables of text and numbers; empty is NULL."""
    with closing(sqlite3.connect(out)) as made:
        for path in sorted(source.glob("*/*.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                header, *rows = csv.reader(file)
            made.execute(
                f"CREATE TABLE {path.stem} ("
                f"{', '.join(f'{n} {_type(path.stem, n)}' for n in header)})"
            )
            marks = ",".join("?" * len(header))
            values = ([value or None for value in row] for row in rows)
            made.executemany(f"INSERT INTO {path.stem} VALUES ({marks})", values)
        made.execute("CREATE INDEX ix_lab ON labevents(itemid)")
        made.execute("CREATE INDEX ix_visit ON admissions(subject_id)")
        made.commit()
    return out


def _type(table: str, name: str) -> str:
    if (name.startswith("anchor_") and name != "anchor_year_group") or name == "icd_version":
        return "INTEGER"
    ours = BY_NAME[table].columns if table in BY_NAME else ()
    held = next((c.type for c in ours if c.name == name), "INTEGER" if name[-3:] == "_id" else "")
    return "INTEGER" if held.startswith("INT") else "REAL" if held.startswith("DOUBLE") else "TEXT"


def rows_of(database: Database, like: Database | None = None) -> dict[str, Counter[str]]:
    """All rows of all tables, without row_id; ``like``: of the tables and columns of that one."""
    return {
        table: Counter(
            repr([*map(_plain, row)])
            for row in database.execute(f"SELECT {', '.join(columns[1:])} FROM {table}", ALL).rows
        )
        for table, columns in (like or database).schema().items()
        if not table.startswith("ehrqa_")
    }


def _plain(value: object) -> object:
    """A number as such: a column of text may be read as numbers where a CSV has no types."""
    try:
        return float(str(value))
    except ValueError:
        return value


@pytest.fixture
def raw(release: MakeRelease) -> Path:
    return release(KEYS)


@pytest.fixture
def imported(raw: Path, tmp_path: Path) -> Iterator[SqliteDatabase]:
    import_mimic(raw, tmp_path / "imported.sqlite", ImportOptions())
    database = SqliteDatabase.open(tmp_path / "imported.sqlite")
    yield database
    database.close()


@pytest.fixture
def in_sqlite(raw: Path, tmp_path: Path) -> Iterator[Mapped]:
    database = open_database(into_sqlite(raw, tmp_path / "raw.sqlite"))
    assert isinstance(database, Mapped)
    yield database
    database.close()


def test_the_rows_are_those_of_an_import(in_sqlite: Mapped, imported: SqliteDatabase) -> None:
    assert in_sqlite.fitted.mapping.name == "mimic_iv_raw"
    found, wanted = rows_of(in_sqlite, imported), rows_of(imported)
    assert found == wanted
    assert wanted["prescriptions"].total() == 9
    assert [t for t, rows in wanted.items() if not rows] == ["cost"]
    assert in_sqlite.default_as_of() == imported.default_as_of() == "2181-12-31 23:59:00"


def test_files_are_read_where_they_are(raw: Path, imported: SqliteDatabase) -> None:
    pytest.importorskip("ehrqa_duckdb")
    in_place = open_database(raw)
    assert isinstance(in_place, Mapped)
    assert in_place.dialect == "duckdb"
    assert rows_of(in_place, imported) == rows_of(imported)
    assert in_place.default_as_of() == imported.default_as_of()
    in_place.close()


def test_the_demo(shared_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("ehrqa_duckdb")
    source = tmp_path / "demo"
    for table in (shared_data / "mimic-iv-demo").glob("*/*.csv.gz"):
        # the files that the mapping reads: DuckDB looks through all that it finds
        if table.name.split(".")[0] in BY_NAME:
            (source / table.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(table, source / table.parent.name)
    in_place = open_database(source)
    import_mimic(shared_data / "mimic-iv-demo", tmp_path / "imported.sqlite", ImportOptions())
    imported = SqliteDatabase.open(tmp_path / "imported.sqlite")
    found, wanted = rows_of(in_place, imported), rows_of(imported)
    assert {t: rows.total() for t, rows in found.items()} == {
        t: rows.total() for t, rows in wanted.items()
    }
    assert [t for t in wanted if found[t] != wanted[t]] == []
    assert wanted["labevents"].total() == 107_727
    in_place.close()
    imported.close()


def test_rows_are_named_by_the_keys_of_mimic(in_sqlite: Mapped) -> None:
    one = in_sqlite.execute("SELECT valuenum FROM labevents WHERE row_id = 5").rows
    assert one == ((1.0,),)
    key = "31/220045/2150-03-01 13:00:00"
    sql = f"SELECT row_id, valuenum FROM chartevents WHERE row_id = '{key}'"
    assert in_sqlite.execute(sql).rows == ((key, 88.0),)
    sql = "SELECT row_id FROM diagnoses_icd ORDER BY row_id"
    assert [row[0] for row in in_sqlite.execute(sql).rows] == [11001, 11002, 21001]


def test_conditions_reach_the_indexes(in_sqlite: Mapped, tmp_path: Path) -> None:
    asked = {
        "SELECT valuenum FROM labevents WHERE itemid = 50912": "labevents USING INDEX ix_lab",
        "SELECT hadm_id FROM admissions WHERE subject_id = 1": "a USING INDEX ix_visit",
        "SELECT count(*) FROM labevents AS l WHERE l.itemid IN (SELECT itemid FROM d_labitems "
        "WHERE label = 'creatinine')": "labevents USING INDEX ix_lab",
    }
    with closing(sqlite3.connect(tmp_path / "raw.sqlite")) as connection:
        for sql, wanted in asked.items():
            plan = connection.execute("EXPLAIN QUERY PLAN " + in_sqlite.rewritten(sql)).fetchall()
            assert any(f"SEARCH {wanted}" in step[3] for step in plan), plan


def test_without_files_of_the_icu_it_is_still_an_ehr(raw: Path, tmp_path: Path) -> None:
    for path in (raw / "icu").iterdir():
        path.unlink()
    database = open_database(into_sqlite(raw, tmp_path / "hosp.sqlite"))
    assert isinstance(database, Mapped)
    assert database.execute("SELECT count(*) FROM chartevents").rows == ((0,),)
    assert database.execute("SELECT count(*) FROM labevents").rows == ((5,),)
    assert database.lacking("SELECT count(*) FROM chartevents") == (
        "vital signs (there is no table chartevents)"
    )
    assert database.lacking("SELECT count(*) FROM labevents") == ""
    database.close()


def test_what_is_no_ehr_and_no_known_layout(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE patients (subject_id INTEGER)")
    with pytest.raises(DatabaseError, match="is not an EHR: it lacks") as raised:
        open_database(path)
    assert "ehrqa db map --new" in raised.value.hint


def test_gzipped_files_too(raw: Path) -> None:
    pytest.importorskip("ehrqa_duckdb")
    for path in list(raw.glob("*/*.csv")):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    database = open_database(raw)
    assert database.execute("SELECT count(*) FROM labevents").rows == ((5,),)
    assert database.meta["schema"] == "mimic_iv_raw"  # type: ignore[attr-defined]
    database.close()
