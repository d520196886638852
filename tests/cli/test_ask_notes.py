"""`ehrqa ask` and `ehrqa batch` over notes beside a small EHR, with the reader that is shipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTE = (
    "History of Present Illness:\nShe came in with a cough and fever for three days.\n\n"
    "Hospital Course:\nPneumonia was treated with ceftriaxone, then changed to levofloxacin.\n"
    "Her lisinopril was held because of acute kidney injury.\n\n"
    "Discharge Medications:\n1. Levofloxacin 750 mg daily for 5 days.\n2. Aspirin 81 mg daily.\n"
)
WHY = "Why was her lisinopril held?"


@pytest.fixture
def noted(ehr: Path, tmp_path: Path, cli: Any) -> Path:
    """The small EHR with a note of its patient 101 and one of a patient it does not know."""
    source = tmp_path / "notes.jsonl"
    notes = [
        {"note_id": "101-DS-1", "patient_id": 101, "text": NOTE},
        {"note_id": "900-DS-1", "patient_id": 90001, "text": NOTE},
    ]
    source.write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    assert cli("notes", "import", source, "--db", ehr).code == 0
    return ehr


def test_a_patient_known_only_from_notes(noted: Path, cli: Any, rote: Any) -> None:
    ran = cli("ask", WHY, "--patient", 90001, "--db", noted, "--json")
    assert ran.code == 0, ran.err
    answer = json.loads(ran.out)
    assert answer["scope"] == "note" and "kidney" in answer["value"]
    first = answer["evidence"][0]
    assert first["kind"] == "note" and first["note_id"] == "900-DS-1"
    assert NOTE[first["start"] : first["end"]] == first["excerpt"]
    assert "acute kidney injury" in first["excerpt"]
    assert answer["provenance"]["models"]["notes"]["reader"] == "embedded"


def test_the_scope_can_be_given(noted: Path, cli: Any, rote: Any) -> None:
    ran = cli("ask", WHY, "--patient", 101, "--scope", "note", "--db", noted)
    assert ran.code == 0 and "kidney" in ran.out and "note 101-DS-1:" in ran.out


def test_choices_give_a_letter(noted: Path, cli: Any, rote: Any, tmp_path: Path) -> None:
    file = tmp_path / "choices.json"
    options = {"A": "Acute kidney injury", "B": "A rash", "C": "Low blood pressure"}
    file.write_text(json.dumps(options), encoding="utf-8")
    ran = cli("ask", WHY, "--patient", 90001, "--db", noted, "--choices", file, "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["choice"], answer["value"]) == (0, "A", options["A"])


def test_without_a_database_the_notes_still_answer(
    noted: Path, cli: Any, rote: Any, tmp_path: Path
) -> None:
    alone = tmp_path / "alone.sqlite"
    noted.with_name("ehr.sqlite.notes.sqlite").rename(tmp_path / "alone.sqlite.notes.sqlite")
    ran = cli("ask", WHY, "--patient", 90001, "--db", alone, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["provenance"]["database"] is None


def test_a_reader_that_is_not_there_is_one_line(noted: Path, cli: Any, rote: Any) -> None:
    ran = cli("ask", WHY, "--patient", 90001, "--db", noted, "--reader", "nobody")
    assert ran.code != 0 and len(ran.err.strip().splitlines()) == 2 and "nobody" in ran.err


def test_damaged_notes_are_a_failure_with_the_next_step(noted: Path, cli: Any, rote: Any) -> None:
    Path(f"{noted}.notes.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    ran = cli("ask", WHY, "--patient", 101, "--db", noted)
    assert ran.code == 1 and "notes import" in ran.err and not ran.out


def test_batch_mixes_tables_and_notes(noted: Path, cli: Any, rote: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"id": "n", "question": WHY, "patient_id": 90001, "choices": {"A": "A rash", "B": "AKI"}},
        {"id": "t", "question": "what was the last creatinine value of patient 101?"},
        {"id": "x", "question": "What was her potassium?", "patient_id": 90001},
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ran = cli("batch", source, target, "--db", noted)
    assert ran.code == 0, ran.err
    found = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in found] == ["n", "t", "x"]
    assert [row["scope"] for row in found] == ["note", "table", "note"]
    assert found[1]["value"] == 0.9
    assert found[2]["status"] == "abstained" and found[2]["reason"]["kind"] == "not_in_notes"


@pytest.mark.parametrize(("noted_value", "said"), [("0.9", "yes"), ("2.4", "no")])
def test_a_note_is_compared_with_the_tables(
    ehr: Path, cli: Any, rote: Any, tmp_path: Path, noted_value: str, said: str
) -> None:
    source = tmp_path / "note.jsonl"
    text = f"Pertinent Results:\nCreatinine at discharge was {noted_value} mg/dL.\n"
    note = {"note_id": "101-DS-1", "patient_id": 101, "hadm_id": 1001, "text": text}
    source.write_text(json.dumps({**note, "charttime": "2100-02-05"}) + "\n", encoding="utf-8")
    assert cli("notes", "import", source, "--db", ehr).code == 0
    question = (
        "Is the creatinine in the discharge summary the same as the last one measured"
        " for patient 101?"
    )
    ran = cli("ask", question, "--db", ehr, "--json")
    answer = json.loads(ran.out)
    assert (ran.code, answer["scope"], answer["value"]) == (0, "note", said), answer["text"]
    assert noted_value in answer["text"] and "0.9" in answer["text"]
    assert answer["evidence"][0]["kind"] == "note"
    assert {"kind": "row", "table": "labevents", "key": {"row_id": 2}} in answer["evidence"]
    assert answer["logical_form"] == 'value last lab "creatinine" patient 101'
    # The form is known from the comparison, so that no model had to write it.
    assert answer["executed_sql"] and set(answer["provenance"]["models"]) == {"notes"}


def test_a_patient_of_31_digits_is_nobody(noted: Path, cli: Any, rote: Any) -> None:
    asked = f"does patient {'9' * 31} have an allergy to penicillin?"
    for more in ((), ("--scope", "note"), ("--patient", "9" * 31)):
        ran = cli("ask", asked, "--db", noted, "--no-log", *more)
        assert ran.code == 3 and "unexpected" not in ran.err, ran
