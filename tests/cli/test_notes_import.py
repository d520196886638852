"""`ehrqa notes import`: what it prints and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ehrqa_cli.notes.store import NoteStore

FIRST = '{"note_id": "n1", "patient_id": "101", "text": "HPI: Fell. Plan: rest."}\n'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    path.write_text(FIRST, "utf-8")
    return path


def test_an_import_says_what_it_did(cli, ehr, source):
    before = ehr.read_bytes()
    ran = cli("notes", "import", source, "--db", ehr)
    assert (ran.code, ran.err) == (0, "")
    assert "1 notes read: 1 added" in ran.out
    assert "1 notes of 1 patients, 2 lines" in ran.out
    assert ehr.read_bytes() == before  # the EHR is left as it is
    again = cli("notes", "import", source, "--db", ehr)
    assert again.code == 0 and "1 already there" in again.out


def test_json(cli, ehr, source):
    ran = cli("notes", "import", source, "--db", ehr, "--json")
    report = json.loads(ran.out)
    assert report["outcomes"] == {"added": 1}
    assert (report["notes"], report["patients"], report["left_out"]) == (1, 1, 0)


def test_a_broken_line_is_named_on_stderr_and_ends_in_1(cli, ehr, source):
    source.write_text(FIRST + "{broken\n", "utf-8")
    ran = cli("notes", "import", source, "--db", ehr)
    assert ran.code == 1
    assert "line 2: not JSON" in ran.err
    assert "error: 1 of 2 notes were left out" in ran.err
    assert "1 added" in ran.out
    with NoteStore.open(ehr) as store:
        assert store.count() == 1


def test_many_problems_are_counted_and_not_all_told(cli, ehr, source):
    source.write_text("{broken\n" * 50, "utf-8")
    ran = cli("notes", "import", source, "--db", ehr)
    assert ran.code == 1
    assert ran.err.count("not JSON") == 20
    assert "and 30 more like these" in ran.err


def test_letters_of_one_patient(cli, ehr, tmp_path):
    letter = tmp_path / "letter.txt"
    letter.write_bytes("38 °C".encode("cp1252"))
    ran = cli("notes", "import", letter, "--db", ehr)
    assert ran.code == 1 and "--patient ID" in ran.err
    ran = cli("notes", "import", letter, "--db", ehr, "--patient", 101)
    assert ran.code == 0
    assert "1 bytes are not UTF-8 and were read as cp1252" in ran.err


def test_patients_known_only_from_notes_need_no_ehr(cli, tmp_path, source):
    ran = cli("notes", "import", source, "--db", tmp_path / "none.sqlite")
    assert ran.code == 0
    assert "there is no EHR at" in ran.err
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["gone.csv"], 1, "there is no file or folder"),
        (["notes.jsonl", "--encoding", "klingon"], 2, "no encoding 'klingon'"),
        (["notes.jsonl", "--patient", "x"], 2, "--patient"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(cli, ehr, source, monkeypatch, args, code, words):
    monkeypatch.chdir(source.parent)
    ran = cli("notes", "import", *args, "--db", ehr)
    assert ran.code == code
    assert words in ran.err and "hint:" in ran.err
    assert ran.out == ""


def test_without_a_database(cli, source):
    ran = cli("notes", "import", source)
    assert ran.code == 2 and "no database given" in ran.err
