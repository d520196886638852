"""The path of a question that the notes answer: whose they are, reading them, telling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.contracts.types import PatientScope, Scope
from ehrqa_cli.engine import confidence
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.note_route import Decision, choose, says_note
from ehrqa_cli.engine.risk import probability
from ehrqa_cli.engine.route import Route
from ehrqa_cli.engine.whose import Patient, whose

if TYPE_CHECKING:
    from ehrqa_cli.contracts.notes import NoteAnswer, NoteSpan
    from ehrqa_cli.engine.draft import Draft


# Kinds of values that the tables settle: they are asked first, and the notes may add.
_CODED = frozenset({"dx", "drug", "lab", "proc", "vital", "organism", "mtest"})


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
    """Shall the notes be read first, rather than the tables or images asked?"""
    return _decide(draft).scope is Scope.NOTE


def instead(draft: Draft, reason: Reason) -> Scope | None:
    """The notes, or the tables, decline for ``reason``: which reader shall be tried now, if any?"""
    first = draft.decision
    if first is None or not first.other or draft.declined is not None:
        return None
    if reason.kind == "sources_differ":  # both were asked
        return None
    if first.scope is Scope.NOTE:
        return Scope.TABLE if reason.kind in ("not_in_notes", "unsure_notes") else None
    sure = probability(draft.scores, draft.thresholds)
    risk = None if sure is None else 1.0 - sure
    return Scope.NOTE if _decide(draft, reason.kind, risk).scope is Scope.NOTE else None


def _decide(draft: Draft, declined: str | None = None, risk: float | None = None) -> Decision:
    """The routing decision, kept in the draft with the text's score."""
    session, patient = draft.session, draft.patient
    here, known = (patient.in_notes, patient.in_tables) if patient else (False, False)
    if here and known and "note_score" not in draft.scores:
        draft.scores["note_score"] = session.note_router.note_score(
            draft.question.text, draft.linked
        )
    draft.decision = choose(
        draft.scores.get("note_score", 0.0),
        has_notes=here,
        in_tables=known,
        table_reason=declined,
        table_risk=risk,
        forced=session.scope,
        coded=_coded(draft),
        yes_no=here and known and _asks_yes_or_no(draft),
    )
    if draft.decision.scope is Scope.NOTE:
        draft.route = _to_notes(patient, draft.decision.reason)
    return draft.decision


def _coded(draft: Draft) -> bool:
    """Does the question ask for a thing that the tables record by code: no reason, and no note?"""
    from ehrqa_cli.notes.read.question import AnswerKind, kind_of

    links = draft.linked.links if draft.linked is not None else ()
    if says_note(draft.question.text) or kind_of(draft.question.text) is AnswerKind.REASON:
        return False
    return any(_CODED & set(link.types) for link in links)


def _to_notes(patient: Patient | None, why: str) -> Route:
    return Route(Scope.NOTE, PatientScope.SINGLE if patient else PatientScope.NONE, why)


def find_notes(draft: Draft) -> Reason | None:
    """Are there notes, and of the one patient that the question is about?"""
    patient = draft.patient
    if draft.route is None:
        draft.route = _to_notes(patient, "there are notes here and no tables")
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
    return confidence.of_note_answer(draft.note, choices is not None, draft.session.least_sure)


def add_notes(draft: Draft) -> Reason | None:
    """Where the tables answered yes or no, let the notes add what they say; where the two differ
    nothing is answered, as neither is then founded."""
    patient, question = draft.patient, draft.question
    if patient is None or not patient.in_notes or (tables := _yes_or_no(draft)) is None:
        return None
    desk = draft.session.notes
    assert desk is not None
    note = desk.answer(question.text, patient.patient_id)
    if confidence.of_note_answer(note, False, draft.session.least_sure) is not None:
        return None
    draft.evidence += cited(note)
    if str(note.text).startswith("Yes") is not tables:
        said = "yes" if tables else "no"
        return Reason("sources_differ", f"The tables say {said}; the notes say: {note.text}")
    draft.text = f"{draft.text} The notes say: {note.text}"
    return None


def _yes_or_no(draft: Draft) -> bool | None:
    """What the tables said to a yes/no question; None for another."""
    rows = draft.result.rows if draft.result is not None else ()
    if len(rows) != 1 or rows[0] not in ((0,), (1,)) or not _asks_yes_or_no(draft):
        return None
    return bool(rows[0][0])


def _asks_yes_or_no(draft: Draft) -> bool:
    from ehrqa_cli.notes.read.topic import topic

    return topic(draft.question.text).yes_no


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
