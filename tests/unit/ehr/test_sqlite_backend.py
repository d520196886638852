"""Opening databases of all kinds, and what is known about an open one."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import DatabaseError, DatabaseFault
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.schema import TABLES, missing


def _refused(path: Path, words: str) -> None:
    with pytest.raises(DatabaseError, match=words) as caught:
        SqliteDatabase.open(path)
    assert caught.value.hint
    assert "\n" not in str(caught.value)


def test_files_that_are_no_ehr(tmp_path: Path) -> None:
    _refused(tmp_path / "absent.sqlite", "no database")
    _refused(tmp_path, "folder")
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    _refused(empty, "is empty")
    text = tmp_path / "notes.txt"
    text.write_text("these are not the rows you are looking for")
    _refused(text, "not a SQLite database")
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE patients (a)")
    connection.close()
    _refused(other, r"lacks patients\.row_id")


def test_damaged_file(demo_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.sqlite"
    data = bytearray(demo_file.read_bytes())
    data[100:8192] = bytes(8092)
    path.write_bytes(data)
    _refused(path, "cannot read|not an EHR")


@pytest.mark.parametrize("name", ["a?b.sqlite", "a#b.sqlite", "a%20b.sqlite", "a b&c=d.sqlite"])
def test_strange_names(demo_file: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    shutil.copy(demo_file, path)
    database = SqliteDatabase.open(path)
    assert database.execute("SELECT count(*) FROM patients").rows == ((25,),)
    database.close()
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_wal_database_leaves_no_files(demo_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "wal.sqlite"
    shutil.copy(demo_file, path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    database = SqliteDatabase.open(path)
    assert database.execute("SELECT count(*) FROM patients").rows == ((25,),)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    database.close()


def test_schema_and_meta(demo: SqliteDatabase) -> None:
    schema = demo.schema()
    assert list(schema) == [t.name for t in TABLES]
    assert not missing(schema)
    assert demo.meta["source"] == "demo"
    assert demo.key("labevents") == "row_id"
    assert set(demo.tables) == set(schema)
    assert missing({"patients": ["row_id"]})[:2] == ["patients.subject_id", "patients.gender"]


def test_fingerprint_follows_the_data(demo_file: Path, tmp_path: Path) -> None:
    def of(path: Path) -> str:
        database = SqliteDatabase.open(path)
        try:
            return database.fingerprint()
        finally:
            database.close()

    path = tmp_path / "copy.sqlite"
    shutil.copy(demo_file, path)
    assert of(path) == of(demo_file)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE labevents SET valuenum = valuenum + 1 WHERE row_id = 7")
    connection.close()
    assert of(path) != of(demo_file)


def test_as_of_is_stored_or_follows_the_last_event(demo_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.sqlite"
    shutil.copy(demo_file, path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE ehrqa_meta SET value = '2100-05-01 12:00:00' WHERE key='as_of'")
    database = SqliteDatabase.open(path)
    assert database.default_as_of() == "2100-05-01 12:00:00"
    database.close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE ehrqa_meta")
        connection.execute("UPDATE outputevents SET charttime = '2103-02-03 04:05:06'")
    connection.close()
    database = SqliteDatabase.open(path)
    assert database.default_as_of() == "2103-12-31 23:59:00"
    database.close()


def test_closed_database(demo_file: Path) -> None:
    database = SqliteDatabase.open(demo_file)
    database.close()
    database.close()
    database.cancel()
    with pytest.raises(DatabaseError, match="closed"):
        database.execute("SELECT 1")


def test_text_that_is_not_utf8_and_blobs(demo_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    shutil.copy(demo_file, path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE patients SET gender = CAST(x'ff41' AS TEXT), dod = x'00ff'")
    connection.close()
    database = SqliteDatabase.open(path)
    assert database.execute("SELECT gender, dod FROM patients LIMIT 1").rows == (
        ("\ufffdA", "00ff"),
    )
    database.close()


def test_default_as_of_of_ehrsql(shared_data: Path) -> None:
    for name in ("ehrsql-2024/mimic_iv.sqlite", "ehrxqa-open/mimic_iv_cxr.sqlite"):
        database = SqliteDatabase.open(shared_data / name)
        assert database.default_as_of() == "2100-12-31 23:59:00"
        database.close()


def test_a_file_that_has_gone_is_said_of_its_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "ehr.sqlite"
    connection = sqlite3.connect(path)
    for table in TABLES:
        connection.execute(table.ddl())
    connection.close()
    database = SqliteDatabase.open(path)
    path.unlink()
    with pytest.raises(DatabaseError, match="cannot read"):
        database.fingerprint()
    database.close()


def _spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xa5" * (len(data) - 8192)
    path.write_bytes(data)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _scramble(path: Path) -> None:
    path.write_bytes(b"no longer a database " * 4000)


@pytest.mark.parametrize("harm", [_spoil, _empty, _scramble])
def test_a_file_that_is_harmed_later_is_no_fault_of_the_query(
    demo_file: Path, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / "ehr.sqlite"
    shutil.copy(demo_file, path)
    database = SqliteDatabase.open(path)
    harm(path)
    with pytest.raises(DatabaseFault) as caught:
        database.execute("SELECT count(*) FROM labevents WHERE valuenum > 1")
    assert caught.value.hint and "\n" not in str(caught.value)
    database.close()


def test_a_file_that_another_program_locks_is_no_fault_of_the_query(
    demo_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "ehr.sqlite"
    shutil.copy(demo_file, path)
    database = SqliteDatabase.open(path)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(DatabaseFault, match="locked") as caught:
        database.execute("SELECT count(*) FROM patients")
    assert "later" in caught.value.hint
    writer.execute("ROLLBACK")
    assert database.execute("SELECT count(*) FROM patients").rows == ((25,),)
    with pytest.raises(DatabaseError, match="no such column"):
        database.execute("SELECT no_such_column FROM patients")
    writer.close()
    database.close()
