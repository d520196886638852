"""Answers from notes: what gives them, how it is told to a benchmark, and how a citation is
checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.notes import Note, NoteAnswer, NoteSpan
from ehrqa_cli.contracts.types import Answer, Question, Scope, Status
from ehrqa_cli.engine.faults import fault

LONGEST = 300  # characters of an excerpt


class NoteSystem(Protocol):
    """What answers questions over a patient's notes: a reader (note_desk.py), or a fake."""

    def prepare(self, notes: Iterable[Note]) -> None:
        """Take in all notes that will be asked about."""

    def answer(
        self, question: str, notes: Sequence[Note], choices: Mapping[str, str] | None
    ) -> NoteAnswer:
        """The answer from these notes, and from nothing else. Raises EhrqaError."""

    def provenance(self) -> Mapping[str, str]:
        """Models, hashes and versions, enough to repeat the answers."""


def answer_of(question: Question, ask: Callable[[], NoteAnswer]) -> Answer:
    """What a reader makes of a question, with its seconds; a fault of one is its answer. With
    choices it declines where it chooses none."""
    started = time.perf_counter()
    try:
        found = ask()
    except EhrqaError as error:  # one question that fails is a row, never the end of the run
        return fault(question, error)
    said = found.choice if question.choices else found.text
    return Answer(
        question,
        Status.ABSTAINED if said is None else Status.ANSWERED,
        Scope.NOTE,
        text=found.text or "",
        choice=found.choice,
        confidence=found.confidence,
        reason_kind=found.reason or None,
        evidence=tuple(cited(span) for span in found.spans),
        timings={"answer": round(time.perf_counter() - started, 6)},
    )


def cited(span: NoteSpan) -> dict[str, str | int]:
    """A citation as the evidence of an answer."""
    place: dict[str, str | int] = {"note_id": span.note_id, "start": span.start, "end": span.end}
    return {"kind": "note", **place, "excerpt": span.excerpt}


def spans_of(answer: Answer) -> tuple[NoteSpan, ...]:
    """The citations of an answer."""
    return tuple(
        NoteSpan(e["note_id"], e["start"], e["end"], e["excerpt"]) for e in answer.evidence
    )


def fault_of(span: NoteSpan, notes: Mapping[str, Note]) -> str | None:
    """What is wrong with a citation; None where it quotes its note as it should (interface.md:
    verbatim, one line or sentence, at most 300 characters)."""
    note = notes.get(span.note_id)
    if note is None:
        return "another note"
    if not 0 <= span.start < span.end <= len(note.text):
        return "offsets outside the note"
    if note.text[span.start : span.end] != span.excerpt:
        return "excerpt is not what stands there"
    return "too long" if span.end - span.start > LONGEST else None
