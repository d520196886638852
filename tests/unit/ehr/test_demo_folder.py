"""The demo at any size: the small one's patients and more like them, the same twice, and taken up
where it broke."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.demo import crowd as demo_crowd
from ehrqa_cli.ehr.demo import folder as demo_folder
from ehrqa_cli.ehr.demo.crowd import NEVER, Coded, Crowd, Pool, Rows, seconds
from ehrqa_cli.ehr.demo.folder import Size, build_folder
from ehrqa_cli.ehr.demo.make import DEMO_TABLES, build_demo
from ehrqa_cli.ehr.demo.people import AS_OF
from ehrqa_cli.ehr.demo.vocabulary import vocabulary
from ehrqa_cli.ehr.mimic.costs import price
from ehrqa_cli.ehr.schema import BY_NAME, TABLES
from ehrqa_cli.vqa.tables.demo_films import RELATIONS, dictionaries, films

DEMO = [DEMO_TABLES[table.name] for table in TABLES]

# Patients of the small demo, of the pool, and of the part that is drawn from it.
COUNT, POOLED, MANY = 400, 600, 1500


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("demo") / "demo.sqlite"
    build_demo(path, seed=5, patients=COUNT)
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool(seed=5, patients=POOLED)


@pytest.fixture(scope="module")
def crowd(pool: Pool) -> Crowd:
    """Patients beyond the pool, none of them the very same as one of it."""
    return Crowd(pool, part=1, first=10_000, count=MANY)


@pytest.fixture(scope="module")
def made(crowd: Crowd) -> dict[str, Rows]:
    return dict(crowd.tables())


def numbers(rows: Rows, name: str) -> Any:
    column = rows[name]
    assert isinstance(column, np.ndarray)
    return column


def names(rows: Rows, name: str) -> Any:
    column = rows[name]
    assert isinstance(column, Coded)
    return np.array([*column.names, None], dtype=object)[column.codes]


def one(connection: sqlite3.Connection, sql: str) -> Any:
    return connection.execute(sql).fetchone()[0]


def test_as_many_events_of_each_kind_as_in_the_small_demo(
    small: sqlite3.Connection, crowd: Crowd, made: dict[str, Rows]
) -> None:
    visits = one(small, "SELECT count(*) FROM admissions")
    assert len(crowd.visits) / MANY == pytest.approx(visits / COUNT, rel=0.08)
    for name, rows in made.items():
        expected = one(small, f"SELECT count(*) FROM {name}") / visits
        assert demo_folder._length(rows) / len(crowd.visits) == pytest.approx(expected, rel=0.2), (
            name
        )
    alive = one(small, "SELECT avg(dod IS NOT NULL) FROM patients")
    died = numbers(made["patients"], "dod") != NEVER
    assert np.mean(died) == pytest.approx(alive, abs=0.03)
    here = one(small, "SELECT avg(dischtime IS NULL) FROM admissions")
    gone = numbers(made["admissions"], "dischtime") != NEVER
    assert np.mean(~gone) == pytest.approx(here, abs=0.02)


@pytest.mark.parametrize("label", ["creatinine", "sodium", "platelet count", "lactate"])
def test_labs_have_the_values_of_the_small_demo(
    small: sqlite3.Connection, made: dict[str, Rows], label: str
) -> None:
    item = vocabulary().labs[label].itemid
    rows = small.execute("SELECT valuenum FROM labevents WHERE itemid = ?", (item,)).fetchall()
    expected = np.array([row[0] for row in rows])
    labs = made["labevents"]
    found = np.asarray(labs["valuenum"])[np.asarray(labs["itemid"]) == item]
    for share in (0.1, 0.5, 0.9):
        spread = np.quantile(expected, 0.9) - np.quantile(expected, 0.1)
        one_, other = np.quantile(found, share), np.quantile(expected, share)
        assert one_ == pytest.approx(other, abs=0.2 * spread), (label, share)
    flags = small.execute(
        "SELECT avg(flag IS NOT NULL) FROM labevents WHERE itemid = ?", (item,)
    ).fetchone()[0]
    flagged = names(labs, "flag")[np.asarray(labs["itemid"]) == item] == "abnormal"
    assert flagged.mean() == pytest.approx(flags, abs=0.05)


def test_diagnoses_and_drugs_are_as_frequent_as_in_the_small_demo(
    small: sqlite3.Connection, crowd: Crowd, made: dict[str, Rows]
) -> None:
    visits = one(small, "SELECT count(*) FROM admissions")
    for table, column in (("diagnoses_icd", "icd_code"), ("prescriptions", "drug")):
        found, counts = np.unique(names(made[table], column).astype(str), return_counts=True)
        shares = dict(zip(found, counts / len(crowd.visits), strict=True))
        sql = f"SELECT {column}, count(*) FROM {table} GROUP BY 1 ORDER BY 2 DESC LIMIT 12"
        for name, count in small.execute(sql).fetchall():
            assert shares[name] == pytest.approx(count / visits, abs=0.1), name


def test_everything_happens_within_its_visit(crowd: Crowd, made: dict[str, Rows]) -> None:
    visits = crowd.visits
    begins = dict(zip(visits.hadm_id.tolist(), visits.start.tolist(), strict=True))
    ends = dict(zip(visits.hadm_id.tolist(), visits.until.tolist(), strict=True))
    year = (seconds("2100-01-01"), seconds(AS_OF))
    assert year[0] <= visits.start.min() and visits.until.max() <= year[1]
    died = numbers(made["patients"], "dod")
    assert year[0] <= died[died != NEVER].min() and died.max() <= year[1]
    assert (visits.until >= visits.start).all()
    for name, rows in made.items():
        when = BY_NAME[name].time
        if when is None:
            continue
        at, hadm = numbers(rows, when), numbers(rows, "hadm_id").tolist()
        assert all(begins[h] <= t <= ends[h] for h, t in zip(hadm, at.tolist(), strict=True)), name
    # A patient's visits follow each other, a day apart at least.
    same = visits.subject_id[1:] == visits.subject_id[:-1]
    assert (visits.start[1:][same] > visits.until[:-1][same]).all()
    assert len(set(visits.hadm_id.tolist())) == len(visits)


def test_further_patients_have_ids_and_times_of_their_own(crowd: Crowd, pool: Pool) -> None:
    visits = crowd.visits
    assert visits.subject_id.min() > pool.people[-1].subject_id
    moved = np.unique(visits.start % demo_crowd.DAY)
    assert set(moved.tolist()) <= set((pool.visits.start % demo_crowd.DAY).tolist())
    assert len(set(visits.start.tolist())) > 1.5 * len(set(pool.visits.start.tolist()))
    stays = dict(crowd.tables())["icustays"]
    ids = zip(numbers(stays, "hadm_id"), numbers(stays, "stay_id"), strict=True)
    assert {stay - hadm for hadm, stay in ids} == {10_000_000}


def test_a_share_thins_repeated_observations(pool: Pool, made: dict[str, Rows]) -> None:
    crowd = Crowd(pool, part=1, first=10_000, count=MANY, share=0.15)
    thin = {name: rows for name, rows in crowd.tables() if BY_NAME[name].time and "dob" not in rows}
    for name in ("diagnoses_icd", "prescriptions", "transfers", "icustays"):
        assert demo_folder._length(thin[name]) == demo_folder._length(made[name])
    del thin["admissions"]
    per_visit = sum(map(demo_folder._length, thin.values())) / len(crowd.visits)
    assert per_visit == pytest.approx(100, abs=6)
    # What is measured at one time stays together, and blood is always taken on arrival.
    arrival = crowd.visits.start + 40 * demo_crowd.MINUTE
    taken = numbers(thin["labevents"], "charttime")
    assert set(arrival.tolist()) - set(taken.tolist()) == set(arrival.tolist()) - set(
        numbers(made["labevents"], "charttime").tolist()
    )


def test_films_are_of_visits_and_have_findings(crowd: Crowd) -> None:
    tables = dict(films(crowd))
    studies, relations = tables["tb_cxr"], tables["cxr_relations"]
    ids = np.asarray(studies["study_id"])
    assert len(set(ids.tolist())) == len(ids) == demo_folder._length(tables["cxr_studies"]) > 400
    assert set(np.asarray(relations["study_id"]).tolist()) <= set(ids.tolist())
    assert demo_folder._length(relations) / len(ids) == pytest.approx(16, abs=4)
    assert np.asarray(relations["relation"]).max() < len(RELATIONS)
    pairs = list(zip(relations["study_id"], relations["relation"], strict=True))  # type: ignore[arg-type]
    assert len(set(pairs)) == len(pairs)


def build(out: Path, **more: Any) -> None:
    size = Size(90, seed=3, share=0.3, images=True, part=40)
    build_folder(out, size, more=films, whole=dictionaries(3), **more)


def test_the_first_patients_are_those_of_the_sqlite_file(
    small: sqlite3.Connection, tmp_path: Path
) -> None:
    pytest.importorskip("ehrqa_duckdb")
    from ehrqa_cli.ehr.open import open_database

    build_folder(tmp_path / "a", Size(COUNT, seed=5))
    database = open_database(tmp_path / "a")
    for table in DEMO:
        names, order = table.names(), "row_id"
        if table.name == "cost":  # numbered by part, and not by what the costs are for
            names, order = names[1:], "event_type, event_id"
        sql = f"SELECT {', '.join(names)} FROM {table.name} ORDER BY {order}"
        rows = [tuple(map(str, row)) for row in small.execute(sql)]
        found = database.execute(sql, Limits(rows=10**7)).rows
        assert [tuple(map(str, row)) for row in found] == rows, table.name
    database.close()


def content(folder: Path) -> dict[str, bytes]:
    files = [p for p in folder.rglob("*") if p.is_file()]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def test_a_folder_is_an_ehr_and_the_same_twice(tmp_path: Path) -> None:
    pytest.importorskip("ehrqa_duckdb")
    from ehrqa_cli.ehr.open import open_database
    from ehrqa_cli.vqa.tables import reader_of

    build(tmp_path / "a")
    build(tmp_path / "b")
    assert content(tmp_path / "a") == content(tmp_path / "b")
    database = open_database(tmp_path / "a")
    for table in DEMO:
        assert set(database.schema()[table.name]) == set(table.names())
        sql = f"SELECT count(*), count(DISTINCT row_id) FROM {table.name}"
        count, distinct = database.execute(sql).rows[0]
        assert count == distinct and count, table.name
    costs = (
        "SELECT cost FROM cost JOIN prescriptions p ON p.row_id = event_id "
        "AND p.hadm_id = cost.hadm_id WHERE event_type = 'prescriptions' AND drug = 'heparin'"
    )
    assert {row[0] for row in database.execute(costs).rows} == {
        price(3, "prescriptions", "heparin")
    }
    open_ends = "SELECT count(*) FROM patients WHERE dod IS NULL"
    assert 0 < int(database.execute(open_ends).rows[0][0] or 0) < 90
    assert database.default_as_of() == "2100-12-31 23:59:00"
    reader = reader_of(database)
    assert reader is not None and reader.provenance()["scene_graphs"] == "demo:3"
    database.close()


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    build(tmp_path / "whole")
    write, calls = demo_folder._write, 0

    def breaks(*args: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 40:  # in the middle of the second part
            raise KeyboardInterrupt
        write(*args)

    monkeypatch.setattr(demo_folder, "_write", breaks)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "broken")
    assert not (tmp_path / "broken" / "ehrqa_meta.parquet").exists()
    monkeypatch.setattr(demo_folder, "_write", write)
    with pytest.raises(ImportFailed, match="other settings"):
        build_folder(tmp_path / "broken", Size(91, seed=3))
    build(tmp_path / "broken")
    assert content(tmp_path / "broken") == content(tmp_path / "whole")
    with pytest.raises(ImportFailed, match="complete already"):
        build(tmp_path / "broken")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ImportFailed, match="exists already"):
        build(tmp_path / "other")
