"""What a plain chat shows of turns, evidence and patients: lines of text, made safe by `output`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ehrqa_cli.cli.render import answer_lines, evidence_text
from ehrqa_cli.contracts.types import Answer, Result, Status
from ehrqa_cli.engine.chat import commands, events
from ehrqa_cli.engine.chat.history import ChatInfo, Found
from ehrqa_cli.engine.chat.patient import PatientSummary
from ehrqa_cli.engine.chat.values import Turn
from ehrqa_cli.engine.chat.views import Evidence, ImageView, NoteView

_FINDINGS = 20
_AROUND = 3  # lines of a note shown around a cited one


def event_lines(event: events.Event) -> Iterator[str]:
    """What an event of a chat says on stdout: none for those that are narration."""
    match event:
        case events.Answered(turn):
            yield from turn_lines(turn)
        case events.EvidenceRead(turn, evidence, part):
            yield from _looked_at(turn, evidence, part)
        case events.PatientRead(None, chosen=True):
            yield "questions are about nobody in particular"
        case events.PatientRead(None):
            yield "no patient: say whom with /patient ID"
        case events.PatientRead(_, PatientSummary() as patient, as_of):
            yield from patient_lines(patient, as_of)
        case events.Now(as_of):
            yield f"now is taken to be {as_of}"
        case events.Listed(words, found):
            nothing = "nothing was found" if words else "no conversation was kept yet"
            yield from listed_lines(found) if found else [nothing]
        case events.Resumed(turns):
            for turn in turns:
                yield f"{turn.number}. {turn.typed}"
                yield from turn_lines(turn)
        case events.Said(text, bad=False):
            yield text
        case events.HelpWanted():
            yield from (f"{typed:<22}{told}" for typed, told in commands.explained())
            yield "Anything else is a question. A follow-up is completed: what about potassium?"


def _looked_at(turn: Turn | None, evidence: Evidence, part: str) -> Iterator[str]:
    """One part of what an answer rests on; of notes the whole where they were wanted."""
    nothing = ""
    match part:
        case "rows" if turn is not None:
            yield from table_lines(evidence.rows)
            for note in evidence.notes:
                yield from note_lines(note)
            yield from finding_lines(turn.answer)
            nothing = "" if turn.answer.evidence else "nothing is cited for it"
        case "query" if turn is not None:
            yield from query_lines(turn.answer)
        case "note":
            for note in evidence.notes:
                yield from note_lines(note, whole=True)
            nothing = "" if evidence.notes else "no note is cited for it"
        case "image":
            for image in evidence.images:
                yield from image_lines(image)
            if not evidence.images:
                nothing = "no image is cited for it: name a study with /image STUDY"
    if nothing and not evidence.problems:
        yield nothing


def turn_lines(turn: Turn) -> Iterator[str]:
    """A turn's answer; first how a follow-up was completed."""
    answer = turn.answer
    if turn.read_as:
        yield f"asked as: {turn.read_as}"
    shown = replace(answer, suggestions=())
    yield from answer_lines(shown, all_in="/evidence, /export", run_by="/run", teach_by="/teach")
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


def listed_lines(found: Sequence[ChatInfo | Found]) -> Iterator[str]:
    """Conversations that were kept, or the turns of them that a search found."""
    for one in found:
        if isinstance(one, Found):
            yield f"/resume {one.chat_id}  {one.at}: {one.question}"
            yield f"    {one.text}"
            continue
        whom = f", patient {one.patient_id}" if one.patient_id is not None else ""
        turns = f"{one.turns} question{'s' if one.turns != 1 else ''}"
        yield f"/resume {one.chat_id}  {one.started_at}, {turns}{whom}: {one.title}"
