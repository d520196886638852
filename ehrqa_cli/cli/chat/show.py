"""What a plain chat shows of turns, evidence and patients: lines of text, made safe by `output`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ehrqa_cli.cli.render import answer_lines, evidence_text
from ehrqa_cli.contracts.types import Answer, Result, Status
from ehrqa_cli.engine.chat import (
    ChatInfo,
    Found,
    ImageView,
    NoteView,
    PatientSummary,
    Turn,
)

_FINDINGS = 20
_AROUND = 3  # lines of a note shown around a cited one


def turn_lines(turn: Turn) -> Iterator[str]:
    """A turn's answer; first how a follow-up was completed."""
    answer = turn.answer
    if turn.read_as:
        yield f"asked as: {turn.read_as}"
    yield from answer_lines(replace(answer, suggestions=()), all_in="/evidence, /export")
    if answer.status is Status.FAILED and answer.error and answer.error.get("hint"):
        yield f"  next step: {answer.error['hint']}"
    for number, text in enumerate(answer.suggestions, 1):
        yield f"  /suggest {number}  {text}"


def query_lines(answer: Answer) -> Iterator[str]:
    """How a question was read, and the queries that were made of it."""
    found = False
    for label, text in (
        ("in words", answer.description),
        ("logical form", answer.logical_form),
        ("NeuralSQL", answer.neuralsql),
        ("executed SQL", answer.executed_sql),
    ):
        if text:
            found = True
            yield f"{label}: {' '.join(text.split())}"
    if not found:
        yield "no query was written for it"


def table_lines(tables: Sequence[tuple[str, Result]]) -> Iterator[str]:
    """Cited rows in full, one row a line, each cell with its column's name."""
    for table, result in tables:
        for row in result.rows:
            cells = zip(result.columns, row, strict=True)
            shown = ", ".join(f"{name} {cell}" for name, cell in cells if cell is not None)
            yield f"{table}: {shown}"
        if result.truncated:
            yield f"{table}: and more rows"


def finding_lines(answer: Answer) -> Iterator[str]:
    """The findings of images that an answer rests on."""
    for item in answer.evidence:
        if item.get("kind") == "image":
            p = item.get("probability")
            sure = f", probability {p:.2f}" if isinstance(p, float) else ""
            yield f"{evidence_text(item)}{sure}"


def note_lines(view: NoteView, whole: bool = False) -> Iterator[str]:
    """A note, cited lines begun with ">>"; without ``whole`` only those and the lines around."""
    when = f", {view.charttime}" if view.charttime else ""
    yield f"note {view.note_id} of patient {view.patient_id}, {view.category}{when}"
    cited = [place for place, line in enumerate(view.lines) if line.marks]
    near = {p for c in cited for p in range(c - _AROUND, c + _AROUND + 1)}
    left_out = False
    for place, line in enumerate(view.lines):
        if not whole and cited and place not in near:
            left_out = True
            continue
        if left_out:
            yield "   ..."
            left_out = False
        yield f"{'>>' if line.marks else '  '} {line.text.rstrip()}"
    if left_out:
        yield "   ..."


def image_lines(view: ImageView) -> Iterator[str]:
    """What an image shows, as text."""
    yield f"study {view.study_id}: {view.path or 'no image file'}"
    if view.problem:
        yield f"  {view.problem}"
    facts = [f"view {view.view}"] if view.view else []
    facts += [f"sex {view.sex}"] if view.sex else []
    if facts:
        yield f"  {', '.join(facts)}"
    for finding in view.findings[:_FINDINGS]:
        place = f" in {finding.place}" if finding.place else ""
        told = "present" if finding.present else "not present"
        yield f"  {finding.name}{place}: {told}, probability {finding.probability:.2f}"
    if len(view.findings) > _FINDINGS:
        yield f"  and {len(view.findings) - _FINDINGS} more, less probable"


def patient_lines(patient: PatientSummary, as_of: str) -> Iterator[str]:
    """The patient panel as text."""
    parts = [f"patient {patient.patient_id}"]
    parts += [f"sex {patient.sex}"] if patient.sex else []
    parts += [f"age {patient.age}"] if patient.age is not None else []
    parts += [f"died {patient.died}"] if patient.died else []
    yield ", ".join(parts) + (" (known only from notes)" if patient.only_notes else "")
    if patient.notes:
        yield f"  notes: {patient.notes}"
    if patient.only_notes:
        return
    yield f"  as of {as_of}: {patient.admissions_in_all} hospital admissions"
    for stay in patient.admissions:
        end = f"to {stay.end}" if stay.end else "not over yet"
        yield f"  admission {stay.hadm_id}: {stay.start} {end}, {stay.kind or 'type unknown'}"
    for drug in patient.medications:
        route = f", {drug.route}" if drug.route else ""
        yield f"  medication: {drug.name} {drug.dose}{route}, since {drug.since}"
    for lab in patient.labs:
        earlier = ", ".join(f"{value:g}" for value in lab.values[:-1])
        before = f"; before that {earlier}" if earlier else ""
        yield f"  lab: {lab.name} {lab.last:g} {lab.unit} at {lab.at}{before}"


def history_lines(chats: Sequence[ChatInfo]) -> Iterator[str]:
    """The conversations that were kept."""
    for chat in chats:
        whom = f", patient {chat.patient_id}" if chat.patient_id is not None else ""
        turns = f"{chat.turns} question{'s' if chat.turns != 1 else ''}"
        yield f"/resume {chat.chat_id}  {chat.started_at}, {turns}{whom}: {chat.title}"


def found_lines(found: Sequence[Found]) -> Iterator[str]:
    """The turns that a search found."""
    for one in found:
        yield f"/resume {one.chat_id}  {one.at}: {one.question}"
        yield f"    {one.text}"
