"""The path of a question that the notes answer: whose they are, reading them, telling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.contracts.types import LinkedQuestion, PatientScope, Row, Scope
from ehrqa_cli.engine import confidence, note_route
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.note_route import Decision, says_note
from ehrqa_cli.engine.question_run import Evidence, Run, Withheld
from ehrqa_cli.engine.route import Route
from ehrqa_cli.engine.whose import Patient, whose

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ehrqa_cli.contracts.notes import NoteAnswer, NoteSpan
    from ehrqa_cli.notes.desk import NoteDesk


# Kinds of values that the tables settle: they are asked first, and the notes may add.
_CODED = frozenset({"dx", "drug", "lab", "proc", "vital", "organism", "mtest"})
# What the reader of notes declines for: the tables may know.
SILENT = frozenset({"not_in_notes", "unsure_notes"})


@dataclass(frozen=True)
class Readers:
    """Which reader is asked first, about which ``patient``; ``again`` decides anew once that has
    declined (``table_reason`` and ``table_risk`` of `note_route.choose`)."""

    patient: Patient | None
    first: Decision
    again: Callable[..., Decision] | None = None


TABLES_ALONE = Readers(None, Decision(Scope.TABLE, False, "no notes come into play"))


def readers(run: Run, linked: LinkedQuestion, patient: Patient | None) -> Readers:
    """Shall the notes be read first, or the tables and images asked?"""
    here, known = (patient.in_notes, patient.in_tables) if patient else (False, False)
    both = here and known
    if both:
        score = run.session.note_router.note_score(run.question.text, linked)
        run.scores["note_score"] = score
    choose = partial(
        note_route.choose,
        run.scores.get("note_score", 0.0),
        has_notes=here,
        in_tables=known,
        forced=run.session.scope,
        coded=_coded(run.question.text, linked),
        yes_no=both and _asks_yes_or_no(run.question.text),
    )
    first = choose()
    if first.scope is Scope.NOTE:
        to_notes(run, patient, first)
    return Readers(patient, first, choose)


def notes_alone(run: Run) -> Readers:
    """For notes without tables."""
    patient = patient_of(run, None)
    first = Decision(Scope.NOTE, False, "there are notes here and no tables")
    to_notes(run, patient, first)
    return Readers(patient, first)


def to_notes(run: Run, patient: Patient | None, decided: Decision) -> None:
    """Keep that the notes are asked, and why."""
    scope = PatientScope.SINGLE if patient else PatientScope.NONE
    run.known = replace(run.known, route=Route(Scope.NOTE, scope, decided.reason))


def patient_of(run: Run, linked: LinkedQuestion | None) -> Patient | None:
    """The one patient that the question is about, in the tables, the notes or both."""
    desk = run.session.notes
    return whose(
        run.question,
        linked,
        lambda patient: linked is not None and _in_tables(run, patient),
        lambda patient: desk is not None and desk.has(patient),
    )


def _in_tables(run: Run, patient: int) -> bool:
    """Does the EHR know this patient?"""
    try:
        sql = f"SELECT 1 FROM patients WHERE subject_id = {patient}"
        return bool(run.session.database.execute(sql).rows)
    except Refused:
        return False


def _coded(text: str, linked: LinkedQuestion) -> bool:
    """Does the question ask for a thing that the tables record by code: no reason, and no note?"""
    from ehrqa_cli.notes.read.question import AnswerKind, kind_of

    if says_note(text) or kind_of(text) is AnswerKind.REASON:
        return False
    return any(_CODED & set(link.types) for link in linked.links)


def find_notes(run: Run, patient: Patient | None) -> tuple[NoteDesk, int]:
    """The notes, and the one patient that the question is about, who has some."""
    desk = run.session.notes
    if desk is None or patient is None or not patient.in_notes:
        named = patient.patient_id if patient else None
        raise Withheld(confidence.without_notes(desk is not None, named))
    return desk, patient.patient_id


def read_notes(run: Run, desk: NoteDesk, patient_id: int) -> NoteAnswer:
    """Let the reader answer from the lines of the patient's notes, or decline."""
    choices = dict(run.question.choices) or None
    note = desk.answer(run.question.text, patient_id, choices)
    run.known = replace(run.known, notes_read=True)
    least = run.session.least_sure
    if reason := confidence.of_note_answer(note, choices is not None, least):
        raise Withheld(reason, cited(note.spans))
    return note


def add_notes(
    run: Run, patient: Patient | None, rows: Sequence[Row], text: str, evidence: Evidence
) -> tuple[str, Evidence]:
    """Where the tables answered yes or no, let the notes add what they say; where the two differ
    nothing is answered, as neither is then founded."""
    desk = run.session.notes if patient is not None and patient.in_notes else None
    if desk is None or patient is None or (tables := _yes_or_no(rows, run.question.text)) is None:
        return text, evidence
    note = desk.answer(run.question.text, patient.patient_id)
    if confidence.of_note_answer(note, False, run.session.least_sure) is not None:
        return text, evidence
    evidence += cited(note.spans)
    if str(note.text).startswith("Yes") is not tables:
        said = "yes" if tables else "no"
        told = f"The tables say {said}; the notes say: {note.text}"
        run.check(Reason("sources_differ", told), evidence)
        return text, evidence
    return f"{text} The notes say: {note.text}", evidence


def _yes_or_no(rows: Sequence[Row], text: str) -> bool | None:
    """What the tables said to a yes/no question; None for another."""
    if len(rows) != 1 or rows[0] not in ((0,), (1,)) or not _asks_yes_or_no(text):
        return None
    return bool(rows[0][0])


def _asks_yes_or_no(text: str) -> bool:
    from ehrqa_cli.notes.read.topic import topic

    return topic(text).yes_no


def tell_note(run: Run, note: NoteAnswer) -> str:
    """Say what the notes say."""
    del run
    text = (note.text or "").strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def cited(spans: Iterable[NoteSpan]) -> Evidence:
    """The lines that something of the notes rests on, best first."""
    return tuple(
        {
            "kind": "note",
            "note_id": span.note_id,
            "start": span.start,
            "end": span.end,
            "excerpt": span.excerpt,
        }
        for span in spans
    )
