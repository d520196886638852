"""A desk that is opened for one question, as a command opens it."""

from pathlib import Path

from ehrqa_cli.contracts.notes import NoteAnswer
from ehrqa_cli.notes.desk import NoteDesk


def answer_question(question: str, patient_id: int, db: Path) -> NoteAnswer:
    with NoteDesk.open(db) as desk:
        return desk.answer(question, patient_id)
