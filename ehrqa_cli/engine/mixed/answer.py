"""A mixed question answered: the note read, the tables asked, the two compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehrqa_cli.contracts.types import Answer, Row, Status
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.mixed.compare import NOTE, TABLE, compare
from ehrqa_cli.engine.mixed.reading import read_note
from ehrqa_cli.engine.mixed.tables import ask_tables
from ehrqa_cli.engine.mixed.types import (
    AskTable,
    Aspect,
    Compared,
    Mixed,
    MixedAnswer,
    NoteFound,
    RowOpener,
    TableFound,
)
from ehrqa_cli.engine.note_path import cited

if TYPE_CHECKING:
    from ehrqa_cli.notes.store import NoteStore

COLUMNS = ("source", "value")
PATIENT = "mixed_patient"
_MOST = 10  # rows and lines cited, of each


def answer_mixed(
    mixed: Mixed, ask_table: AskTable, rows: RowOpener, notes: NoteStore
) -> MixedAnswer:
    """Answer ``mixed``, or decline with what either side says.

    ``ask_table`` answers a logical form, ``rows`` opens the rows that it rests on, for units and
    times. Raises what these raise.
    """
    if mixed.patient_id is None:
        told = "A note is compared with the tables for one patient. Name one by id."
        return _declined(PATIENT, told)
    if mixed.refused:
        return _declined(TABLE, mixed.refused)
    note = read_note(mixed, mixed.patient_id, notes)
    table, asked = ask_tables(mixed, ask_table, rows)
    if table is None:
        return _without_tables(mixed, note, asked)
    return _filled(mixed, note, table, compare(mixed, note, table), asked)


def _filled(
    mixed: Mixed,
    note: NoteFound,
    table: TableFound,
    told: Compared,
    asked: tuple[Answer, ...],
) -> MixedAnswer:
    declined = Reason(told.kind, told.reason) if told.kind else None
    text = told.text if declined is None else f"I don't know. {told.text}"
    if declined is not None and told.reason not in told.text:
        text = f"{text} {told.reason}"
    return MixedAnswer(
        Status.ABSTAINED if declined else Status.ANSWERED,
        text,
        told.value,
        COLUMNS,
        _rows(mixed, note, table),
        cited(note.spans[:_MOST]) + table.evidence[:_MOST],
        declined,
        told,
        asked,
    )


def _rows(mixed: Mixed, note: NoteFound, table: TableFound) -> tuple[Row, ...]:
    if mixed.aspect is Aspect.PRESENT:
        said = "unsure" if note.present is None else "yes" if note.present else "no"
        return ("note", said), ("table", "yes" if table.present else "no")
    told: list[Row] = [("note", each.text) for each in note.measures]
    held: list[Row] = [("table", each.text) for each in table.measures]
    return (*(told or [("note", None)]), *(held or [("table", None)]))


def _without_tables(mixed: Mixed, note: NoteFound, asked: tuple[Answer, ...]) -> MixedAnswer:
    """The tables declined: say so, with what the note says."""
    last = asked[-1] if asked else None
    nothing = f"The tables have nothing called “{mixed.subject}”."
    why = last.reason if last is not None and last.reason else nothing
    said = ", ".join(measure.text for measure in note.measures)
    told = f"The note gives {mixed.subject} {said}. " if said else ""
    return MixedAnswer(
        Status.ABSTAINED,
        f"I don't know. {told}{why}",
        evidence=cited(note.spans[:_MOST]),
        reason=Reason(TABLE if note.spans else NOTE, why),
        table=asked,
    )


def _declined(kind: str, told: str) -> MixedAnswer:
    return MixedAnswer(Status.ABSTAINED, f"I don't know. {told}", reason=Reason(kind, told))
