"""``ehrqa db map``, and the other commands on a database of another layout."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ehrqa_cli.ehr.demo.make import build_demo
from ehrqa_cli.ehr.mapping import document as mapping


@pytest.fixture
def other(ehr: Path) -> Path:
    """The tests' EHR with its tables under other names, and no costs."""
    with closing(sqlite3.connect(ehr)) as connection:
        connection.execute("ALTER TABLE patients RENAME TO people")
        connection.execute("ALTER TABLE admissions RENAME TO stays")
        connection.execute("DROP TABLE cost")
        connection.commit()
    return ehr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    text = mapping.load("mimic_iv").text
    for old, new in (
        ('name = "mimic_iv"', 'name = "ward"'),
        ('from = "patients"', 'from = "people"'),
        ('from = "admissions"', 'from = "stays"'),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "ward.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_list_and_show(cli) -> None:
    told = cli("db", "map", "--list")
    assert told.code == 0
    assert [line.split("\t")[0] for line in told.out.splitlines()] == [
        "mapping", *mapping.shipped()
    ]  # fmt: skip
    records = json.loads(cli("db", "map", "--list", "--json").out)
    assert {r["name"] for r in records} == set(mapping.shipped())
    shown = cli("db", "map", "--show", "omop_5_4")
    assert (shown.code, shown.out) == (0, mapping.load("omop_5_4").text)
    record = json.loads(cli("db", "map", "--show", "omop_5_4", "--json").out)
    assert record["tables"]["patients"][0]["columns"]["subject_id"] == "p.person_id"


def test_check_of_what_is_usable(cli, other: Path, file: Path) -> None:
    ran = cli("db", "map", "--check", file, "--db", other)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].startswith("mapping ward (sha256 ")
    assert lines[-1] == "usable"
    assert "patients\t2\tpeople\t" in lines
    assert "cost\t\t\tnone: there is no table cost" in lines
    assert any(line.startswith("declined: questions about costs") for line in lines)
    record = json.loads(cli("db", "map", "--check", file, "--db", other, "--json").out)
    assert record["usable"] is True
    assert record["mapping"] == "ward"
    assert record["declined"] == ["costs (there is no table cost)"]
    rows = {table["table"]: table["rows"] for table in record["tables"]}
    assert rows["labevents"] == 3 and rows["cost"] is None


def test_check_of_what_is_not(cli, other: Path, file: Path) -> None:
    assert cli("db", "map", "--check", "mimic_iv", "--db", other).code == 1
    people = 'from = "people"\nsame = true\n'
    changed = people + '[patients.columns]\ngender = "nowhere"\n'
    file.write_text(file.read_text().replace(people, changed))
    ran = cli("db", "map", "--check", file, "--db", other)
    assert ran.code == 0 and "no gender (there is no column nowhere)" in ran.out
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("UPDATE labevents SET charttime = 'yesterday'")
        connection.commit()
    ran = cli("db", "map", "--check", file, "--db", other)
    assert ran.code == 1
    assert "fault: labevents: charttime should be a time" in ran.out
    assert ran.out.splitlines()[-1] == "not usable: 1 faults"


def test_check_takes_the_mapping_that_would_be_used(
    cli, other: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = cli("db", "map", "--check", "--db", other)
    assert (ran.code, ran.out) == (2, "")
    assert "no mapping is known for" in ran.err and "db map --new" in ran.err
    monkeypatch.setenv("EHRQA_SCHEMA", str(file))
    assert cli("db", "map", "--check", "--db", other).out.startswith("mapping ward ")
    demo = tmp_path / "demo.sqlite"
    build_demo(demo, patients=3)
    assert cli("db", "map", "--check", "--db", demo).out.startswith("mapping mimic_iv ")


def test_a_new_one_is_filled_in_where_names_are_ours(cli, other: Path, tmp_path: Path) -> None:
    out = tmp_path / "7 North.toml"
    ran = cli("db", "map", "--new", out, "--db", other)
    assert (ran.code, ran.out) == (0, "")
    text = out.read_text()
    assert 'name = "ehr_7_north"' in text
    assert "#   people(row_id, subject_id, gender, dob, dod" in text
    assert "\n# [patients]\n" in text and "\n[labevents]\n" in text
    again = cli("db", "map", "--new", out, "--db", other)
    assert again.code == 2 and "there already" in again.err


@pytest.mark.parametrize("flags", [[], ["--list", "--show", "omop_5_4"], ["--show", "nothing"]])
def test_usage(cli, flags: list[str]) -> None:
    ran = cli("db", "map", *flags)
    assert (ran.code, ran.out) == (2, "")
    assert [line.split(":")[0] for line in ran.err.splitlines()] == ["error", "hint"]


def test_the_other_commands(cli, other: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = cli("db", "info", other)
    assert refused.code == 1 and "is not an EHR" in refused.err
    monkeypatch.setenv("EHRQA_SCHEMA", str(file))
    facts = json.loads(cli("db", "info", other, "--json").out)
    assert facts["about"]["schema"] == "ward"
    assert facts["tables"]["patients"]["rows"] == 2
    ran = cli("sql", "SELECT gender FROM patients ORDER BY 1", "--db", other, "--csv")
    assert ran.out.split() == ["gender", "f", "m"]
    ran = cli("sql", "SELECT * FROM people", "--db", other)
    assert ran.code == 1 and "no such table: people" in ran.err
    ran = cli("sql", "SELECT count(*) FROM cost", "--db", other, "--json")
    assert (ran.code, json.loads(ran.out)["rows"]) == (0, [[0]])
    assert "warning: this database does not record costs" in ran.err
    assert cli("config", "validate").code == 0
    monkeypatch.setenv("EHRQA_SCHEMA", "wrong")
    ran = cli("config", "validate")
    assert ran.code == 1 and "no mapping 'wrong'" in ran.out + ran.err


def test_on_a_terminal_its_progress_is_shown(
    cli, other: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    ran = cli("db", "map", "--check", file, "--db", other)
    assert ran.code == 0, ran.err
    assert "tables" in ran.err
