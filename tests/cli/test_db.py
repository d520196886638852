from __future__ import annotations

import json
import sqlite3
from dataclasses import fields
from pathlib import Path

import pytest

from ehrqa_cli.cli.db import importing as db_import
from ehrqa_cli.cli.demo import QUESTIONS
from ehrqa_cli.ehr.mimic import importer as mimic_import
from ehrqa_cli.ehr.mimic.options import EHRSQL_CHART_ITEMS, ImportOptions, ImportReport


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[ImportOptions]:
    """The options an import was asked with; nothing is imported."""
    seen: list[ImportOptions] = []

    def fake(source: Path, out: Path, options: ImportOptions, progress: object) -> ImportReport:
        seen.append(options)
        return ImportReport(out, (), (), (), "2100-12-31 23:59:00", 0.1)

    monkeypatch.setattr(mimic_import, "import_mimic", fake)
    return seen


def test_no_option_means_the_importer_s_own_defaults(cli, asked, tmp_path):
    assert cli("db", "import", tmp_path, "--out", tmp_path / "x").code == 0
    assert asked == [ImportOptions()]


def test_every_flag_reaches_the_importer(cli, asked, tmp_path):
    flags = ["--" + name.replace("_", "-") for name in db_import.FLAGS]
    more = ["--keep-case", "--vital-signs", "--patient", 1, "--synthetic-costs", 5, "--force"]
    more += ["--time-shift", "ehrsql"]
    assert cli("db", "import", tmp_path, "--out", tmp_path / "x", *flags, *more).code == 0
    default = ImportOptions()
    for field in fields(ImportOptions):
        assert getattr(asked[0], field.name) != getattr(default, field.name), field.name
    assert cli("db", "import", tmp_path, "--out", tmp_path / "x", "--ehrsql").code == 0
    assert asked[1] == ImportOptions().as_ehrsql()
    assert cli("db", "import", tmp_path, "--out", tmp_path / "x", "--chart-item", 7).code == 0
    assert asked[2].chart_items == {7} != EHRSQL_CHART_ITEMS == asked[0].chart_items


def test_every_column_of_a_release_is_explained(cli, tmp_path):
    (tmp_path / "hosp").mkdir()
    for name, header in (
        ("patients", "subject_id,gender,anchor_age,anchor_year,dod,shoe_size"),
        ("admissions", "subject_id,hadm_id,admittime,admit_provider_id"),
        ("provider", "provider_id"),
        ("novelties", "subject_id"),
    ):
        (tmp_path / "hosp" / f"{name}.csv").write_text(header + "\n")
    ran = cli("db", "import", tmp_path, "--explain")
    assert ran.code == 0, ran.err
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert lines[0] == ["file", "column", "is", "as, or why"]
    assert ["hosp/patients", "gender", "kept", "gender"] in lines
    assert ["hosp/patients", "anchor_age", "made into", "dob"] in lines
    assert ["hosp/patients", "shoe_size", "unknown", "not of MIMIC-IV 2.2 or 3.1"] in lines
    who = ["hosp/admissions", "admit_provider_id", "left out", "who did it is not asked about"]
    assert who in lines
    assert [line[2] for line in lines if line[0] in ("hosp/provider", "hosp/novelties")] == [
        "ignored",
        "ignored",
    ]
    told = json.loads(cli("db", "import", tmp_path, "--explain", "--json").out)["columns"]
    assert [[c["file"], c["column"], c["what"]] for c in told] == [line[:3] for line in lines[1:]]


def test_info_says_what_is_there_and_what_is_not(cli, ehr):
    told = json.loads(cli("db", "info", "--db", ehr, "--json").out)
    labs = told["tables"]["labevents"]
    assert (labs["rows"], labs["outside_visits"]) == (3, 0)
    assert (labs["first"], labs["last"]) == ("2100-02-02 08:00:00", "2100-02-04 08:00:00")
    assert labs["lacks"] == {}
    assert told["lacks"]["emar"] == "what was given, and what was held or refused"
    with sqlite3.connect(ehr) as connection:  # as an older import is
        connection.execute("ALTER TABLE d_labitems DROP COLUMN fluid")
        connection.execute("UPDATE labevents SET hadm_id = NULL WHERE row_id = 1")
        connection.execute("UPDATE admissions SET encounter = 'observation' WHERE row_id = 1")
    connection.close()
    told = json.loads(cli("db", "info", ehr, "--json").out)
    assert told["tables"]["labevents"]["outside_visits"] == 1
    assert told["tables"]["d_labitems"]["lacks"] == {"fluid": "specimen of a lab"}
    assert told["encounters"] == {"observation": 1}
    shown = cli("db", "info", ehr).out
    assert "labevents\t3\t2100-02-02\t2100-02-04\t1\t" in shown
    assert "d_labitems\t1\t\t\t\tspecimen of a lab" in shown
    assert "Encounters: 1 observation" in shown
    assert "(omr)" in shown.splitlines()[-1]


def test_a_folder_that_is_no_mimic_is_one_line(cli, tmp_path):
    ran = cli("db", "import", tmp_path, "--out", tmp_path / "x.sqlite")
    assert (ran.code, ran.out) == (1, "")
    assert [line.split(":")[0] for line in ran.err.splitlines()] == ["error", "hint"]
    assert not (tmp_path / "x.sqlite").exists()


def test_the_demo_ehr_is_the_same_for_the_same_seed(cli, tmp_path):
    def build(name: str, seed: int, *more: object) -> dict:
        path = tmp_path / name
        ran = cli("db", "demo", "--out", path, "--patients", 5, "--seed", seed, *more)
        assert (ran.code, ran.out) == (0, ""), ran.err
        return json.loads(cli("db", "info", path, "--json").out)["tables"]

    first = build("a.sqlite", 1)
    assert first["patients"]["rows"] == 5
    assert first == build("b.sqlite", 1) != build("c.sqlite", 2)
    assert cli("db", "demo", "--out", tmp_path / "a.sqlite").code == 1
    assert build("a.sqlite", 2, "--force") != first


def test_the_demo_asks_every_question_and_shows_a_refusal(cli, ehr, rote, monkeypatch):
    monkeypatch.setattr(
        "ehrqa_cli.cli.demo.values",
        lambda database, path: {"patient": 101, "lab": "creatinine", "dx": "sepsis"},
    )
    ran = cli("demo", "--db", ehr)
    assert ran.code == 0
    assert ran.out.count("$ ehrqa ask ") == len(QUESTIONS)
    assert "0.9" in ran.out and "evidence" in ran.out and "I don't know" in ran.out


def test_the_demo_needs_labs_and_diagnoses(cli, ehr, rote):
    ran = cli("demo", "--db", ehr)
    assert ran.code == 1
    assert "no diagnoses" in ran.err


def test_eval_lists_and_scores(cli, shared_data: Path, tmp_path: Path):
    assert cli("eval", "list").out.startswith("ehrsql  ")
    data = shared_data / "ehrsql-2024"
    arguments = ["--predictions", data / "valid" / "label.json", "--limit", 20]
    arguments += ["--data", data, "--db", data / "mimic_iv.sqlite"]
    ran = cli("eval", "ehrsql", *arguments, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)
    assert "RS(0)" in cli("eval", "ehrsql", *arguments).out


def test_eval_without_its_files_is_one_line(cli, ehr, tmp_path: Path):
    ran = cli("eval", "ehrsql", "--data", tmp_path, "--db", ehr)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
