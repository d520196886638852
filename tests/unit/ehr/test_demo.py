"""The demo EHR: the same content from the same seed, whole, plausible, and all of it in 2100."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.demo.make import DEMO_TABLES, build_demo
from ehrqa_cli.ehr.demo.people import AS_OF, people, person
from ehrqa_cli.ehr.demo.vocabulary import vocabulary
from ehrqa_cli.ehr.schema import TABLES

DEMO = [DEMO_TABLES[table.name] for table in TABLES]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """The demo EHR at its usual size."""
    path = tmp_path_factory.mktemp("demo") / "demo.sqlite"
    build_demo(path)
    opened = sqlite3.connect(path)
    yield opened
    opened.close()


def one(connection: sqlite3.Connection, sql: str) -> Any:
    return connection.execute(sql).fetchone()[0]


def test_same_seed_same_bytes_in_another_process(tmp_path: Path) -> None:
    """Another process has another hash seed, so an order taken from a set would show."""
    build_demo(tmp_path / "a.sqlite", seed=3, patients=12)
    script = (
        "import sys; from pathlib import Path; from ehrqa_cli.ehr.demo.make import build_demo;"
        "build_demo(Path(sys.argv[1]), seed=3, patients=12)"
    )
    for name, hash_seed in (("b", "1"), ("c", "2")):
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / f"{name}.sqlite")],
            check=True,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
    first = (tmp_path / "a.sqlite").read_bytes()
    assert first == (tmp_path / "b.sqlite").read_bytes() == (tmp_path / "c.sqlite").read_bytes()
    build_demo(tmp_path / "d.sqlite", seed=4, patients=12)
    assert first != (tmp_path / "d.sqlite").read_bytes()


def test_a_patient_is_the_same_whatever_comes_after() -> None:
    assert people(7, 5)[3] == people(7, 50)[3] == person(7, 3)


def test_every_table_has_rows_and_every_key_a_target(connection: sqlite3.Connection) -> None:
    for table in DEMO:
        assert one(connection, f"SELECT count(*) FROM {table.name}") > 25, table.name
    wrong = connection.execute("PRAGMA foreign_key_check").fetchall()
    # cost refers to no table by a foreign key: its event_id is a row of the table event_type names
    assert wrong == []
    for kind in ("diagnoses_icd", "procedures_icd", "labevents", "prescriptions"):
        events = one(connection, f"SELECT count(*) FROM {kind}")
        joined = f"cost JOIN {kind} e ON e.row_id = event_id AND e.hadm_id = cost.hadm_id"
        found = f"SELECT count(*) FROM {joined} WHERE event_type = '{kind}'"
        assert one(connection, found) == events


def test_all_of_it_is_in_the_year_before_now(connection: sqlite3.Connection) -> None:
    now = f"{AS_OF:%Y-%m-%d %H:%M:%S}"
    for table in DEMO:
        for column in table.columns:
            if column.type.startswith("TIMESTAMP") and column.name != "dob":
                low, high = connection.execute(
                    f"SELECT min({column.name}), max({column.name}) FROM {table.name}"
                ).fetchone()
                assert low >= "2100-01-01 00:00:00", (table.name, column.name)
                assert high <= now, (table.name, column.name)


def test_events_lie_within_their_visits_and_stays(connection: sqlite3.Connection) -> None:
    now = f"'{AS_OF:%Y-%m-%d %H:%M:%S}'"
    for table in DEMO:
        if table.time is None or "hadm_id" not in table.names() or table.name == "admissions":
            continue
        outside = one(
            connection,
            f"SELECT count(*) FROM {table.name} e JOIN admissions a USING (hadm_id)"
            f" WHERE e.{table.time} < a.admittime"
            f" OR e.{table.time} > coalesce(a.dischtime, {now}) OR e.subject_id <> a.subject_id",
        )
        assert outside == 0, table.name
        if "stay_id" in table.names():
            outside = one(
                connection,
                f"SELECT count(*) FROM {table.name} e JOIN icustays s USING (stay_id)"
                f" WHERE e.{table.time} < s.intime OR e.{table.time} > coalesce(s.outtime, {now})",
            )
            assert outside == 0, table.name


def test_there_are_patients_of_every_kind(connection: sqlite3.Connection) -> None:
    assert one(connection, "SELECT count(*) FROM patients") == 300
    assert one(connection, "SELECT min(subject_id) FROM patients") == 10_000_001
    current = one(connection, "SELECT count(*) FROM admissions WHERE dischtime IS NULL")
    assert 5 <= current <= 40
    several = "SELECT subject_id FROM admissions GROUP BY 1 HAVING count(*) > 1"
    assert one(connection, f"SELECT count(*) FROM ({several})") > 50
    assert one(connection, "SELECT count(*) FROM patients WHERE dod IS NOT NULL") > 5
    assert one(connection, "SELECT count(*) FROM icustays WHERE outtime IS NULL") >= 1
    overlap = (
        "SELECT count(*) FROM admissions a JOIN admissions b ON a.subject_id = b.subject_id"
        " AND a.hadm_id < b.hadm_id WHERE b.admittime <= coalesce(a.dischtime, '9')"
    )
    assert one(connection, overlap) == 0
    assert one(connection, "SELECT count(DISTINCT drug) FROM prescriptions") > 60
    assert one(connection, "SELECT count(DISTINCT org_name) FROM microbiologyevents") > 8


def test_values_are_plausible(connection: sqlite3.Connection) -> None:
    flags = (
        "SELECT count(*) FROM labevents WHERE (flag IS NULL)"
        " <> (valuenum BETWEEN ref_range_lower AND ref_range_upper)"
    )
    assert one(connection, flags) == 0
    abnormal = one(connection, "SELECT avg(flag IS NOT NULL) FROM labevents")
    assert 0.03 < abnormal < 0.5

    def span(table: str, names: str, label: str) -> tuple[float, float]:
        sql = (
            f"SELECT min(valuenum), max(valuenum) FROM {table} JOIN {names} USING (itemid)"
            f" WHERE label = '{label}'"
        )
        low, high = connection.execute(sql).fetchone()
        return float(low), float(high)

    for label, least, most in (("ph", 6.8, 7.8), ("potassium", 1.5, 9.0), ("sodium", 110, 165)):
        low, high = span("labevents", "d_labitems", label)
        assert least < low < high < most, label
    low, high = span("chartevents", "d_items", "o2 saturation pulseoxymetry")
    assert 60 < low < high <= 100


def test_vocabulary_is_rich_and_in_lower_case(connection: sqlite3.Connection) -> None:
    words = vocabulary()
    assert len(words.labs) >= 50
    assert len(words.drugs) >= 60
    assert len(words.diagnoses) >= 60
    assert len(words.procedures) >= 30
    known = {f"icd10|{code}" for story in words.stories for code in story.dx}
    assert known | set(words.chronic) <= set(words.diagnoses)
    for table in DEMO:
        for column in table.columns:
            if column.type.startswith("VARCHAR"):
                sql = f"SELECT count(*) FROM {table.name} WHERE {column.name}"
                assert one(connection, f"{sql} <> lower({column.name})") == 0


def test_output_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "demo.sqlite"
    out.write_text("precious")
    with pytest.raises(ImportFailed, match="exists already"):
        build_demo(out, patients=2)
    build_demo(out, patients=2, force=True)
    assert out.stat().st_size > 10_000
    assert [p.name for p in tmp_path.iterdir()] == ["demo.sqlite"]
    with pytest.raises(ImportFailed, match="patients"):
        build_demo(tmp_path / "b.sqlite", patients=0)
