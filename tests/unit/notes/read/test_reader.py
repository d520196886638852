"""The embedded reader over notes of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contracts.errors import DatabaseError, ModelError, PluginError
from ehrqa_cli.contracts.plugins import NoteReader
from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.importing import import_notes
from ehrqa_cli.notes.read import EmbeddedReader
from ehrqa_cli.notes.read.weights import load

from .one_question import answer_question

NOTE = """Admission Date: 2150-03-02     Discharge Date: 2150-03-09
History of Present Illness: He fell from a ladder while picking cherries. No chest pain.
Hospital Course: The left radius was fixed with a plate by Dr. Haverkamp on 2150-03-03.
Ibuprofen was stopped because of a gastric ulcer. Hemoglobin fell to 8.4.
Discharge Medications:
1. Oxycodone 5 mg PO q6h prn
2. Pantoprazole 40 mg PO BID
Discharge Disposition: Home with his wife.
Allergies: Latex (rash). Codeine (nausea).
"""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes")
    note = {"note_id": "n-1", "patient_id": 7, "text": NOTE, "charttime": "2150-03-09"}
    (folder / "notes.jsonl").write_text(json.dumps(note) + "\n", encoding="utf-8")
    import_notes(folder / "notes.jsonl", folder / "ehr.sqlite")
    return folder / "ehr.sqlite"


@pytest.fixture(scope="module")
def desk(db: Path) -> Iterator[NoteDesk]:
    with NoteDesk.open(db) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What dose of pantoprazole was he discharged on?", "40 mg PO BID"),
        ("Why was ibuprofen stopped?", "gastric ulcer"),
        ("Who fixed the radius?", "Dr. Haverkamp"),
        ("How low did the hemoglobin fall?", "8.4"),
    ],
)
def test_a_short_answer_with_its_line(desk: NoteDesk, question: str, said: str) -> None:
    answer = desk.answer(question, 7)
    assert answer.text is not None, answer
    assert said in answer.text
    assert answer.confidence is not None and 0 <= answer.confidence <= 1
    text = desk.finder.store.notes(7)[0].text
    assert 1 <= len(answer.spans) <= 10
    for span in answer.spans:
        assert text[span.start : span.end] == span.excerpt
        assert len(span.excerpt) <= 300


def test_of_a_list_that_is_asked_for_no_item_is_left_out(desk: NoteDesk) -> None:
    whole = desk.answer("What were his discharge medications: oxycodone and what else?", 7)
    assert whole.text == "Oxycodone 5 mg PO q6h prn; Pantoprazole 40 mg PO BID"
    assert len(whole.spans) >= 2
    drugs = desk.answer("What are his allergies?", 7)
    assert drugs.text is None or ("Latex" in drugs.text and "Codeine" in drugs.text)
    one = desk.answer("What dose of pantoprazole was he discharged on?", 7)
    assert one.text == "Pantoprazole 40 mg PO BID"


@pytest.mark.parametrize(
    "question",
    ["What was the tacrolimus level?", "How was the melanoma on her scalp treated?"],
)
def test_what_is_not_there_is_declined(desk: NoteDesk, question: str) -> None:
    choices = {"A": "8.4", "B": "40 mg", "C": "5 mg"}
    for given in (None, choices):
        answer = desk.answer(question, 7, given)
        assert answer.text is None and answer.choice is None
        assert answer.reason


def test_a_choice_is_made(desk: NoteDesk) -> None:
    answer = desk.answer(
        "Why was ibuprofen stopped?", 7, {"A": "Rash", "B": "A gastric ulcer", "C": "A fall"}
    )
    assert (answer.choice, answer.text) == ("B", "A gastric ulcer")
    assert "Ibuprofen was stopped" in answer.spans[0].excerpt


def test_a_patient_without_notes_is_declined(desk: NoteDesk) -> None:
    answer = desk.answer("Why was ibuprofen stopped?", 8)
    assert answer.text is None
    assert "8 has no notes" in answer.reason


def test_one_call(db: Path) -> None:
    answer = answer_question("Why was ibuprofen stopped?", 7, db)
    assert answer.text is not None and "gastric ulcer" in answer.text
    with pytest.raises(DatabaseError):
        answer_question("Why?", 7, db.with_name("other.sqlite"))
    with pytest.raises(PluginError):
        NoteDesk.open(db, "no such reader")


def test_it_is_a_plugin() -> None:
    loaded = registry.load(registry.NOTE_READER, "embedded", NoteReader)  # type: ignore[type-abstract]
    assert loaded is EmbeddedReader
    told = loaded().provenance()
    assert told["reader"] == "embedded" and len(told["weights_sha256"]) == 64


def test_the_weights_are_those_of_the_manifest_and_small() -> None:
    from ehrqa_cli.modelstore import shipped

    path = shipped("note_reader/weights.json")
    manifest = json.loads(path.with_name("manifest.json").read_text(encoding="utf-8"))
    assert load().sha256 == manifest["sha256"]
    assert path.stat().st_size == manifest["bytes"] < 10_000


@pytest.mark.parametrize("text", ["", "[]", '{"line": {}}', '{"line": {"found": "much"}}'])
def test_broken_weights_are_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "weights.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError):
        load(tmp_path / "weights.json")
    with pytest.raises(ModelError):
        load(tmp_path / "missing.json")
