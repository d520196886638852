"""A database prepared from a made-up hospital."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import shutil
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.ehr.open import open_database
from ehrqa_cli.sets.prepare import preparation as module
from ehrqa_cli.sets.prepare.options import Options
from ehrqa_cli.sets.prepare.preparation import Order, prepare
from ehrqa_cli.vqa import OracleGraphs

from .conftest import Hospital

OPTIONS = Options(silver=24, gold=12, ages=(18, 89))


def _order(hospital: Hospital, out: Path, **changed: Any) -> Order:
    given = {
        "database": open_database(hospital.db),
        "metadata": hospital.metadata,
        "imagenome": hospital.imagenome,
        "checked": hospital.checked,
        "options": OPTIONS,
        **changed,
    }
    return Order(out=out, opener=open_database, **given)


@pytest.fixture(scope="module")
def made(hospital: Hospital, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    out = tmp_path_factory.mktemp("prepared") / "out"
    before = hospital.db.read_bytes()
    card = prepare(_order(hospital, out))
    assert hospital.db.read_bytes() == before
    return out, card


def _rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as opened:
        return opened.execute(sql).fetchall()


def _bytes(out: Path) -> dict[str, str]:
    return {
        str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(out.rglob("*"))
        if p.is_file()
    }


def test_silver_and_gold_share_nobody(made: tuple[Path, Any], hospital: Hospital) -> None:
    out, card = made
    people = {n: {r[0] for r in _rows(out / n / "ehr.sqlite", "SELECT subject_id FROM patients")}
              for n in ("silver", "gold")}  # fmt: skip
    assert len(people["silver"]) == 24 and len(people["gold"]) == 12
    assert not people["silver"] & people["gold"]
    studies = {n: {r[0] for r in _rows(out / n / "ehr.sqlite", "SELECT study_id FROM tb_cxr")}
               for n in people}  # fmt: skip
    assert studies["gold"] and studies["gold"] <= hospital.gold
    assert studies["silver"] and not studies["silver"] & hospital.gold
    assert len(studies["gold"]) <= card["gold_studies"] <= len(hospital.gold)


def test_intervals_and_order_stay(made: tuple[Path, Any], hospital: Hospital) -> None:
    out, _ = made
    shifts: dict[int, set[Any]] = {}
    for name in ("silver", "gold"):
        for table, time, value in (
            ("labevents", "charttime", "valuenum"),
            ("prescriptions", "starttime", "drug"),
            ("admissions", "admittime", "hadm_id"),
            ("icustays", "intime", "stay_id"),
        ):
            sql = f"SELECT subject_id, {value}, {time} FROM {table} ORDER BY subject_id, row_id"
            old: dict[int, list[Any]] = {}
            for who, what, when in _rows(hospital.db, sql):
                old.setdefault(who, []).append((what, when))
            new: dict[int, list[Any]] = {}
            for who, what, when in _rows(out / name / "ehr.sqlite", sql):
                new.setdefault(who, []).append((what, when))
            for who, found in new.items():
                before = iter(old[who])
                for what, when in found:  # the same rows in the same order, less what was left out
                    then = next(
                        t for w, t in before if w == what and t[10:] == when[10:]
                        and (not shifts.get(who) or _between(t, when) in shifts[who])
                    )  # fmt: skip
                    shifts.setdefault(who, set()).add(_between(then, when))
    assert len(shifts) == 36 and all(len(found) == 1 for found in shifts.values())
    assert len({next(iter(found)) for found in shifts.values()}) > 30


def _between(one: str, other: str) -> Any:
    return datetime.fromisoformat(other) - datetime.fromisoformat(one)


def test_the_frame_and_who_is_there_now(made: tuple[Path, Any]) -> None:
    out, card = made
    for name, share in (("silver", 2), ("gold", 1)):
        path = out / name / "ehr.sqlite"
        first = _rows(path, "SELECT min(studydatetime) FROM tb_cxr GROUP BY subject_id")
        assert all("2100-01-01" <= row[0] <= "2105-12-31 23:59:00" for row in first)
        present = _rows(path, "SELECT subject_id FROM admissions WHERE dischtime IS NULL")
        assert len(present) == share == card["databases"][name]["in_hospital_now"]
        checks = card["databases"][name]["checks"]
        assert checks == {"rows_after_now": 0, "broken_references": 0, "in_hospital_now": share}
        ages = _rows(path, "SELECT min(age), max(age) FROM admissions")[0]
        assert ages[0] >= 18 and ages[1] <= 89
    assert open_database(out / "gold" / "ehr.sqlite").default_as_of() == "2105-12-31 23:59:00"


def test_one_unit_of_an_item(made: tuple[Path, Any], hospital: Hospital, tmp_path: Path) -> None:
    out, card = made
    sql = (
        "SELECT DISTINCT valueuom FROM labevents WHERE itemid IN "
        "(SELECT itemid FROM d_labitems WHERE label = 'sodium')"
    )
    assert len(_rows(hospital.db, sql)) == 2
    assert len(_rows(out / "silver" / "ehr.sqlite", sql)) == 1
    assert card["items_in_several_units"]["labevents"] == 1
    dropped = card["databases"]["silver"]["rows_dropped"]["labevents"]
    assert dropped["not in the commonest unit"] > 0
    assert "\tmg/dl\t" in (out / "units.tsv").read_text()
    options = replace(OPTIONS, one_unit=False, silver=5, gold=5)
    prepare(_order(hospital, tmp_path / "all", options=options))
    assert len(_rows(tmp_path / "all" / "silver" / "ehr.sqlite", sql)) == 2


def test_prices_follow_their_events(made: tuple[Path, Any]) -> None:
    path = made[0] / "silver" / "ehr.sqlite"
    sql = (
        "SELECT count(*), sum(l.charttime = c.chargetime AND l.subject_id = c.subject_id) "
        "FROM cost AS c LEFT JOIN labevents AS l ON l.row_id = c.event_id "
        "WHERE c.event_type = 'labevents'"
    )
    count, same = _rows(path, sql)[0]
    assert count == same > 0
    assert _rows(path, "SELECT count(*) FROM labevents")[0][0] == count


def test_one_frontal_image_of_a_study_in_its_visit(made: tuple[Path, Any]) -> None:
    out, card = made
    path = out / "silver" / "ehr.sqlite"
    rows = _rows(path, "SELECT study_id, image_id, viewposition, studydatetime FROM tb_cxr")
    assert all(image == f"{study}-pa" and view == "pa" for study, image, view, _ in rows)
    assert all(time.endswith("11:00:00") for *_, time in rows)
    assert card["images"]["not frontal"] * 2 == card["images"]["images"] - card["images"]["studies"]
    assert card["images"]["without the box of a place"] == 1
    sql = (
        "SELECT count(*) FROM tb_cxr AS t JOIN admissions AS a ON a.hadm_id = t.hadm_id "
        "WHERE t.studydatetime >= a.admittime AND "
        "(a.dischtime IS NULL OR t.studydatetime <= a.dischtime)"
    )
    assert _rows(path, sql)[0][0] == sum(r[0] for r in _rows(
        path, "SELECT count(*) FROM tb_cxr WHERE hadm_id IS NOT NULL"))  # fmt: skip
    assert _rows(path, sql)[0][0] > 0


def test_labels_are_carried_and_gold_ones_are_those_that_were_checked(
    made: tuple[Path, Any],
) -> None:
    out, card = made
    with gzip.open(out / "gold" / "labels" / "scene_graph.tsv.gz", "rt") as file:
        gold = [r for r in csv.DictReader(file, delimiter="\t") if r["present"] == "1"]
    shown = {(r["object"], r["attribute"]) for r in gold}
    assert {("right lower lung zone", "pneumonia"), ("right lung", "lung opacity")} <= shown
    assert not any(name in ("scoliosis", "bronchiectasis") for _, name in shown)
    graphs = OracleGraphs.open(out / "silver" / "labels")
    assert len(graphs.coverage().relations) == 435 and graphs.coverage().heart
    with (out / "silver" / "labels" / "studies.tsv").open() as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    assert len(lines) == card["databases"]["silver"]["labels"]["studies"]
    times = dict(_rows(out / "silver" / "ehr.sqlite", "SELECT study_id, studydatetime FROM tb_cxr"))
    assert {int(r["study_id"]): r["studydatetime"] for r in lines} == times
    assert {r["gender"] for r in lines} == {"male", "female"}


def test_every_patient_has_a_split(made: tuple[Path, Any]) -> None:
    out, card = made
    with (out / "splits.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert {r["split"] for r in rows if r["database"] == "gold"} == {"test"}
    silver = [r["split"] for r in rows if r["database"] == "silver"]
    assert silver.count("valid") == 3 and silver.count("train") == 21
    assert card["patients_by_split"] == {"train": 21, "valid": 3, "test": 12}


def test_the_card_has_the_hash_of_every_file(made: tuple[Path, Any]) -> None:
    out, card = made
    found = _bytes(out)
    assert set(card["sha256"]) == set(found) - {"card.json", "README.md"}
    assert all(found[name] == value for name, value in card["sha256"].items())
    assert (out / "silver" / "ehr.sqlite").stat().st_mode & 0o077 == 0
    assert json.loads((out / "card.json").read_text()) == card


@pytest.mark.parametrize("name", ["write_labels", "write_database", "replace_text"])
def test_broken_off_it_goes_on_to_the_same_bytes(
    made: tuple[Path, Any],
    hospital: Hospital,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    true, calls = getattr(module, name), []

    def breaks(*given: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return true(*given, **more)

    out = tmp_path / "out"
    monkeypatch.setattr(module, name, breaks)
    with pytest.raises(KeyboardInterrupt):
        prepare(_order(hospital, out))
    assert not (out / "card.json").exists()
    monkeypatch.setattr(module, name, true)
    prepare(_order(hospital, out))
    assert _bytes(out) == _bytes(made[0])


def test_another_seed_and_zipped_graphs(
    made: tuple[Path, Any], hospital: Hospital, tmp_path: Path
) -> None:
    folder = tmp_path / "zipped" / "silver_dataset"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "scene_graph.zip", "w") as archive:
        for path in (hospital.imagenome / "silver_dataset" / "scene_graph").iterdir():
            archive.write(path, f"scene_graph/{path.name}")
    given = {"imagenome": tmp_path / "zipped"}
    prepare(_order(hospital, tmp_path / "same", **given))
    assert _bytes(tmp_path / "same") == _bytes(made[0])
    card = prepare(_order(hospital, tmp_path / "other", options=replace(OPTIONS, seed=2), **given))
    assert card["sha256"]["splits.tsv"] != made[1]["sha256"]["splits.tsv"]


def test_a_complete_one_is_kept_and_a_changed_one_refused(
    made: tuple[Path, Any], hospital: Hospital, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(made[0], out)
    assert prepare(_order(hospital, out)) == made[1]
    with pytest.raises(UsageError, match="different silver"):
        prepare(_order(hospital, out, options=replace(OPTIONS, silver=3)))
    (out / "splits.tsv").write_text("changed")
    with pytest.raises(BuildError, match="changed since"):
        prepare(_order(hospital, out))


def test_without_images_or_gold_there_is_one_database(hospital: Hospital, tmp_path: Path) -> None:
    nothing = {"metadata": None, "imagenome": None, "checked": None}
    options = replace(OPTIONS, even_ages=True, current=0.0, lower_case=False)
    card = prepare(_order(hospital, tmp_path / "out", options=options, **nothing))
    assert list(card["databases"]) == ["silver"] and card["images"] == {}
    assert set(card["patients_by_split"]) == {"train", "valid", "test"}
    path = tmp_path / "out" / "silver" / "ehr.sqlite"
    assert _rows(path, "SELECT count(*) FROM sqlite_master WHERE name = 'tb_cxr'") == [(0,)]
    groups: dict[int, int] = {}
    for (age,) in _rows(path, "SELECT age FROM admissions GROUP BY subject_id HAVING min(row_id)"):
        groups[min(age // 10, 6)] = groups.get(min(age // 10, 6), 0) + 1
    assert len(groups) == 4 and max(groups.values()) <= 8
    first = _rows(path, "SELECT min(admittime) FROM admissions GROUP BY subject_id")
    assert all("2100" <= row[0] < "2106" for row in first)


def test_from_mimic_iv_files(hospital: Hospital, mimic: Path, tmp_path: Path) -> None:
    given = {"database": None, "mimic": mimic}
    options = replace(OPTIONS, synthetic_costs=3)
    card = prepare(_order(hospital, tmp_path / "one", options=options, **given))
    assert card["import"]["labevents"]["kept"] > 1000
    path = tmp_path / "one" / "silver" / "ehr.sqlite"
    days = {row[0][5:10] for row in _rows(path, "SELECT dob FROM patients")}
    assert len(days) > 15  # MIMIC-IV has no day of birth: one is drawn
    ages = _rows(path, "SELECT a.age, a.admittime, p.dob FROM admissions AS a JOIN patients AS p "
                 "ON p.subject_id = a.subject_id")  # fmt: skip
    years = [(_between(born, begun).days / 365.25 - age) for age, begun, born in ages]
    assert all(-1.01 < off < 1.01 for off in years)
    assert _rows(path, "SELECT count(*) FROM cost")[0][0] > 1000
    prepare(_order(hospital, tmp_path / "two", options=options, **given))
    assert _bytes(tmp_path / "one") == _bytes(tmp_path / "two")


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


HEAD = "dicom_id,subject_id,study_id,ViewPosition,StudyDate,StudyTime\n"


def test_what_cannot_be_prepared_says_why(hospital: Hospital, tmp_path: Path) -> None:
    metadata, broken = tmp_path / "metadata.csv", tmp_path / "broken.csv"
    _write(metadata, "dicom_id,subject_id\n")
    _write(broken, HEAD + "a,1,2,PA,21800506,101010\nb,1,2,PA,today,101010\n")
    gold = _write(tmp_path / "gold.txt", "image_id\nnobody\n")
    unnamed = _write(tmp_path / "unnamed.txt", "film\nx\n")
    unsure = _write(
        tmp_path / "unsure.txt",
        f"study_id,object,attribute,present\n{min(hospital.gold)},spine,scoliosis,maybe\n",
    )
    relations = _write(tmp_path / "relations.tsv", "object\tattribute\nleft arm\tpneumonia\n")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"mimic": tmp_path}, "name one source"),
        ({"database": None}, "name one source"),
        ({"metadata": None}, "--imagenome needs --metadata"),
        ({"imagenome": None}, "--gold needs labels"),
        ({"scene_graphs": tmp_path}, "labels from two places"),
        ({"imagenome": tmp_path}, "there is no .*scene_graph/ and no scene_graph.zip"),
        ({"metadata": metadata}, "has no column study_id"),
        ({"metadata": broken}, "broken.csv, line 3"),
        ({"metadata": tmp_path / "gone.csv"}, "cannot read .*gone.csv"),
        ({"checked": gold}, "names none of the studies"),
        ({"checked": unnamed}, "no column study_id or image_id"),
        ({"checked": unsure}, "line 2: 'maybe' is neither yes nor no"),
        ({"relations": relations}, "left arm - pneumonia, which is not in the vocabulary"),
        ({"options": replace(OPTIONS, ages=(11, 12))}, "no patient meets the conditions"),
    ]
    for at, (changed, message) in enumerate(cases):
        with pytest.raises((UsageError, BuildError), match=message):
            prepare(_order(hospital, tmp_path / f"out{at}", **changed))
    with pytest.raises(UsageError, match="wrong way round"):
        Options(ages=(80, 20))
    with pytest.raises(UsageError, match="earlier year"):
        Options(first_year=2105, last_year=2100)
