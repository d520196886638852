"""Which notes a question names, and that it changes what is cited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ehrqa_cli.contracts.notes import FoundLine, Line
from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.importing import import_notes
from ehrqa_cli.notes.read.stays import named

TIMES = {"a": "2139-03-04", "b": "2139-09-18", "c": "2141-01-20"}


def found(times: dict[str, str | None]) -> list[FoundLine]:
    """One line of each note."""
    return [
        FoundLine(Line(note, 0, 0, 1, "x"), 1.0, charttime=time) for note, time in times.items()
    ]


@pytest.mark.parametrize(
    ("question", "notes"),
    [
        ("What was given during the first admission?", "a"),
        ("What was given at the second discharge?", "b"),
        ("What dose did she leave on after the last hospital stay?", "c"),
        ("What was the weight in 2141?", "c"),
        ("What was held in the March stay?", "a"),
        ("Why did he come in the fall?", "b"),
        ("What was held in the February stay?", "a"),  # discharged early in March
        ("How did it change between the first and the second stay?", "ab"),
        ("What was given?", None),
        ("What may she take?", None),
        ("How did it change from 2139 to 2141?", None),  # all of them
        ("What was given at the fourth stay?", None),
    ],
)
def test_notes_are_named(question: str, notes: str | None) -> None:
    assert named(question, found(dict(TIMES))) == (frozenset(notes) if notes else None)


def test_without_times_or_with_one_note_none_is_named() -> None:
    assert named("At the first stay?", found({"a": None, "b": None})) is None
    assert named("At the first stay?", found({"a": "2139-03-04"})) is None


def test_the_stay_asked_about_is_cited_first(tmp_path: Path) -> None:
    notes = [
        {"note_id": f"n-{k}", "patient_id": 3, "charttime": time,
         "text": f"Discharge Medications:\nMetoprolol {dose} mg daily\nAspirin 81 mg daily\n"}
        for k, (time, dose) in enumerate([("2139-03-04", 25), ("2140-09-18", 100)])
    ]  # fmt: skip
    source = tmp_path / "notes.jsonl"
    source.write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    import_notes(source, tmp_path / "ehr.sqlite")
    with NoteDesk.open(tmp_path / "ehr.sqlite") as desk:
        for which, note, dose in (("first", "n-0", "25 mg"), ("last", "n-1", "100 mg")):
            answer = desk.answer(f"What dose of metoprolol was given at the {which} discharge?", 3)
            assert answer.spans[0].note_id == note
            assert answer.text is not None and dose in answer.text
