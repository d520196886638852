"""The path of a question that the notes answer: whose they are, reading them, telling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.contracts.types import PatientScope, Scope
from ehrqa_cli.engine import confidence
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.route import Route
from ehrqa_cli.engine.whose import Patient, whose

if TYPE_CHECKING:
    from ehrqa_cli.contracts.notes import NoteAnswer, NoteSpan
    from ehrqa_cli.engine.draft import Draft


def patient_of(draft: Draft) -> Patient | None:
    """The one patient that the question is about, in the tables, the notes or both."""
    desk = draft.session.notes
    return whose(
        draft.question,
        draft.linked,
        lambda patient: in_tables(draft, patient),
        lambda patient: desk is not None and desk.has(patient),
    )


def in_tables(draft: Draft, patient: int) -> bool:
    """Does the EHR know this patient?"""
    if draft.linked is None:
        return False
    try:
        sql = f"SELECT 1 FROM patients WHERE subject_id = {patient}"
        return bool(draft.session.database.execute(sql).rows)
    except Refused:
        return False


def wanted(draft: Draft) -> bool:
    """Shall the notes be read, rather than the tables or images asked?"""
    return draft.session.scope is Scope.NOTE


def instead(draft: Draft, reason: Reason) -> bool:
    """The tables decline for ``reason``: shall the notes be tried?"""
    return False


def find_notes(draft: Draft) -> Reason | None:
    """Are there notes, and of the one patient that the question is about?"""
    patient = draft.patient
    single = PatientScope.SINGLE if patient is not None else PatientScope.NONE
    if draft.route is None:
        draft.route = Route(Scope.NOTE, single, "the scope was given")
    return confidence.of_notes(
        draft.session.notes is not None,
        patient.patient_id if patient else None,
        patient is not None and patient.in_notes,
    )


def read_notes(draft: Draft) -> Reason | None:
    """Let the reader answer from the lines of the patient's notes, or decline."""
    desk, patient = draft.session.notes, draft.patient
    assert desk is not None and patient is not None
    question = draft.question
    choices = dict(question.choices) or None
    draft.note = desk.answer(question.text, patient.patient_id, choices)
    draft.evidence = cited(draft.note)
    return confidence.of_note_answer(draft.note, choices is not None)


def tell_note(draft: Draft) -> Reason | None:
    """Say what the notes say."""
    assert draft.note is not None
    text = (draft.note.text or "").strip()
    draft.text = text if text.endswith((".", "!", "?")) else f"{text}."
    return None


def cited(answer: NoteAnswer) -> tuple[dict[str, Any], ...]:
    """The lines that an answer of the notes rests on, best first."""
    return tuple(_evidence(span) for span in answer.spans)


def _evidence(span: NoteSpan) -> dict[str, Any]:
    return {
        "kind": "note",
        "note_id": span.note_id,
        "start": span.start,
        "end": span.end,
        "excerpt": span.excerpt,
    }
