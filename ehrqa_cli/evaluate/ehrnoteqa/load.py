"""Questions over a patient's notes: EHRNoteQA's own files, and the open set's (noteqa)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.evaluate.ehrnoteqa.notes import Notes, read_notes
from ehrqa_cli.evaluate.files import ReadFile, check_ids, find_file, read_objects
from ehrqa_cli.notes.lengths import length_of, level_of

NAME = "EHRNoteQA"
OWN, OPEN_LAYOUT = "ehrnoteqa", "noteqa"
LETTERS = "ABCDE"
MOST_NOTES = 3
# PhysioNet's file, that with the notes put in by its authors' script, and the open set's.
OWN_FILES = ("EHRNoteQA_processed.jsonl", "EHRNoteQA.jsonl")
OPEN_FILE = "questions.jsonl"
_CHOICES = tuple(f"choice_{letter}" for letter in LETTERS)
_LEVEL = re.compile(r"level\s*_?([12])", re.I)


@dataclass(frozen=True)
class Gold:
    """Where a piece of the evidence stands: ``text[start:end]`` of that note."""

    note_id: str
    start: int
    end: int


@dataclass(frozen=True)
class NoteQuestion:
    """One question. ``answer`` is a letter, None where the notes have no answer; ``notes`` are in
    order of time; ``level`` is "1", "2" or "beyond"; ``tokens`` the estimated length of the notes;
    ``evidence`` is empty where the set has none."""

    id: str
    patient_id: str
    question: str
    choices: Mapping[str, str]
    answer: str | None
    answer_text: str | None
    notes: tuple[Note, ...]
    tokens: int
    level: str
    category: str = ""
    clinician: str = ""
    evidence: tuple[Gold, ...] = ()

    @property
    def answerable(self) -> bool:
        return self.answer is not None or self.answer_text is not None


@dataclass(frozen=True)
class NoteSet:
    """A set of questions in ``layout`` (``ehrnoteqa`` or ``noteqa``), with the SHA-256 of the
    questions' and of the notes' file (the former twice where the notes stand in it)."""

    layout: str
    sha256: str
    notes_sha256: str
    items: tuple[NoteQuestion, ...]


def load_noteqa(data: Path, notes: Path | None = None) -> NoteSet:
    """Read the questions in the folder ``data``, and the notes there or in the file ``notes``.

    Raises EvaluationError for a wrong folder, half a download, or a note that is not there.
    """
    path = find_file(data, (*OWN_FILES, OPEN_FILE), NAME)
    if path.name == OPEN_FILE:
        source = read_objects(path, ("id", "patient_id", "question", "choices", "answer"))
        found = read_notes(data, notes, {str(raw["patient_id"]) for raw in source.content}, set())
        items = [_open(raw, found, source) for raw in source.content]
        layout = OPEN_LAYOUT
    else:
        source = read_objects(path, ("patient_id", "question", *_CHOICES, "answer"))
        found = _own_notes(source, data, notes)
        items = [_own(raw, k, found, source) for k, raw in enumerate(source.content, 1)]
        layout = OWN
    check_ids([item.id for item in items], path)
    return NoteSet(layout, source.sha256, found.sha256 or source.sha256, tuple(items))


def _own_notes(source: ReadFile, data: Path, notes: Path | None) -> Notes:
    given = [_given_notes(raw) for raw in source.content]
    if all(given) and all(_is_text(note) for row in given for note in row):
        return Notes({}, {}, "")
    ids = {note for row in given for note in row if not _is_text(note)}
    patients = {str(r["patient_id"]) for r, row in zip(source.content, given, strict=True)}
    return read_notes(data, notes, patients, ids)


def _given_notes(raw: Mapping[str, Any]) -> list[str]:
    found = [raw.get(f"note_{k}") for k in range(1, MOST_NOTES + 1)]
    return [str(note) for note in found if note not in (None, "") and note == note]


def _is_text(note: str) -> bool:
    """A note itself, not the id of one: 10000032-DS-21 has no blank in it."""
    return len(note.split()) > 1


def _own(raw: Mapping[str, Any], number: int, found: Notes, source: ReadFile) -> NoteQuestion:
    patient = _whole(raw["patient_id"])
    answer = _letter(raw["answer"], number, source)
    assert answer is not None
    choices = {letter: str(raw[f"choice_{letter}"]) for letter in LETTERS}
    notes = _notes_of(raw, patient, number, found, source)
    expected = raw.get("num_notes")
    if expected not in (None, "") and _whole(expected) != str(len(notes)):
        raise EvaluationError(
            f"question {number} of {source.path} has {_whole(expected)} notes,"
            f" {len(notes)} were found",
            "is the notes' file whole, and of the release that the questions were made on?",
        )
    tokens = length_of(notes)
    category = str(raw.get("category") or "")
    named = _LEVEL.search(str(raw.get("level") or category))
    return NoteQuestion(
        id=str(raw.get("id", number)),
        patient_id=patient,
        question=str(raw["question"]),
        choices=choices,
        answer=answer,
        answer_text=choices[answer],
        notes=notes,
        tokens=tokens,
        level=named[1] if named else level_of(tokens),
        category="" if named and named[0] in category else category,
        clinician=str(raw.get("clinician") or ""),
    )


def _notes_of(
    raw: Mapping[str, Any], patient: str, number: int, found: Notes, source: ReadFile
) -> tuple[Note, ...]:
    given = _given_notes(raw)
    if not given:
        notes = found.of_patient.get(patient, ())
        if not notes:
            raise _no_notes(patient, source)
        return tuple(notes)
    out = []
    for place, note in enumerate(given, 1):
        if _is_text(note):
            out.append(Note(f"{patient}-{place}", int(patient), note))
        elif note in found.by_id:
            out.append(found.by_id[note])
        else:
            raise EvaluationError(
                f"question {number} of {source.path} names the note {note}, which is not there",
                "give the whole discharge.csv of MIMIC-IV-Note with --notes FILE",
            )
    return tuple(out)


def _open(raw: Mapping[str, Any], found: Notes, source: ReadFile) -> NoteQuestion:
    patient = str(raw["patient_id"])
    notes = tuple(found.of_patient.get(patient, ()))
    if not notes:
        raise _no_notes(patient, source)
    letter = _letter(raw["answer"], raw["id"], source)
    choices = {str(k): str(v) for k, v in dict(raw["choices"] or {}).items()}
    text = raw.get("answer_text")
    if text is None and letter is not None:
        text = choices.get(letter)
    tokens = length_of(notes)
    return NoteQuestion(
        id=str(raw["id"]),
        patient_id=patient,
        question=str(raw["question"]),
        choices=choices,
        answer=letter,
        answer_text=None if text is None else str(text),
        notes=notes,
        tokens=tokens,
        level=level_of(tokens),
        category=str(raw.get("category") or ""),
        evidence=_evidence(raw.get("evidence") or (), {n.note_id: n for n in notes}, source),
    )


def _no_notes(patient: str, source: ReadFile) -> EvaluationError:
    return EvaluationError(
        f"there are no notes of patient {patient}, whom {source.path} asks about",
        "give their file with --notes FILE (MIMIC-IV-Note's discharge.csv, or JSON Lines)",
    )


def _evidence(
    pieces: Sequence[Mapping[str, Any]], notes: Mapping[str, Note], source: ReadFile
) -> tuple[Gold, ...]:
    out = []
    for piece in pieces:
        note = notes.get(str(piece.get("note_id")))
        text = str(piece.get("text", ""))
        start = note.text.find(text) if note and text else -1
        if start < 0:
            raise EvaluationError(
                f"{source.path}: the evidence {text[:50]!r} does not stand in note"
                f" {piece.get('note_id')}",
                "questions and notes must be of one release; fetch both again",
            )
        out.append(Gold(str(piece["note_id"]), start, start + len(text)))
    return tuple(out)


def _letter(value: Any, where: Any, source: ReadFile) -> str | None:
    if value is None:
        return None
    found = str(value).strip().upper()
    if found not in LETTERS or len(found) != 1:
        raise EvaluationError(
            f"the answer of question {where} of {source.path} is {str(value)[:20]!r}",
            "expected a letter from A to E",
        )
    return found


def _whole(value: Any) -> str:
    """An id as text; pandas writes whole numbers with gaps as 123.0."""
    return str(value).strip().removesuffix(".0")


def count_by_level(items: Sequence[NoteQuestion]) -> dict[str, int]:
    """How many questions there are of each level and number of notes (the paper's table 2)."""
    found: dict[str, int] = defaultdict(int)
    for item in items:
        found[f"level {item.level}, {len(item.notes)} notes"] += 1
    return dict(sorted(found.items()))
