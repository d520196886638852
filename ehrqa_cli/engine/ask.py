"""One function is the whole path of a question, from text to answer: `ask`.

It chooses the path (a query, one image, the notes, a note against the tables) and takes its steps;
those of a query are in `query_path`, those of notes in `note_path`, that of a file in `film_path`.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace

from ehrqa_cli.contracts.errors import (
    Cancelled,
    DatabaseError,
    DatabaseFault,
    EhrqaError,
    UsageError,
)
from ehrqa_cli.contracts.types import Answer, PatientScope, Question, Scope
from ehrqa_cli.engine import namesakes, note_path
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.draft import Draft, OnEvent, Step, answer_of, failed
from ehrqa_cli.engine.film_path import look
from ehrqa_cli.engine.mixed import answer_mixed, note_facts, open_rows, split
from ehrqa_cli.engine.one_study import one_study
from ehrqa_cli.engine.query_path import (
    compare,
    compare_answers,
    compile_form,
    console,
    consult,
    decide,
    empty,
    execute,
    ground,
    link,
    linked_of,
    route,
    take,
    tell,
    understand,
    weigh,
    write,
)
from ehrqa_cli.engine.route import Route
from ehrqa_cli.engine.session import Session
from ehrqa_cli.engine.text import clean_question
from ehrqa_cli.engine.times import check_time


def ask(question: Question, session: Session, on_event: OnEvent | None = None) -> Answer:
    """Answer ``question``, decline with a reason, or report a fault: never raises for those.

    Raises UsageError for an empty or over-long question or a wrong ``as_of``, and Cancelled when
    the user ends it.
    """
    try:
        draft = begin(question, session, on_event)
        advance(draft)
        return end(draft)
    finally:
        session.resume()


def begin(question: Question, session: Session, on_event: OnEvent | None = None) -> Draft:
    """The draft of an answer with the first step to take. Raises UsageError."""
    question = replace(question, text=clean_question(question.text))
    draft = Draft(question, session, on_event or (lambda _name, _what: None))
    if question.as_of is not None:
        draft.as_of = check_time(question.as_of)
    draft.steps = [choose]
    return draft


def advance(draft: Draft, only: Collection[Step] | None = None) -> None:
    """Take the steps that are left, or until there is one that is not among ``only``.

    A fault ends the draft and is kept in it. Raises UsageError and Cancelled.
    """
    try:
        while draft.steps and (only is None or draft.steps[0] in only):
            reason = _timed(draft.steps.pop(0), draft)
            if reason is None:
                continue
            # The thresholds are those of queries, and opening them opens the second opinion.
            if draft.note is None and reason.kind in draft.thresholds.ignore:
                draft.scores[f"ignored_{reason.kind}"] = 1.0
                continue
            decline(draft, reason)
    except (UsageError, Cancelled):
        raise
    except EhrqaError as error:
        draft.fault, draft.steps = error, []


def decline(draft: Draft, reason: Reason) -> None:
    """Turn to the other reader, who may know; else withhold the answer and say why."""
    other = note_path.instead(draft, reason)
    if other is not None:
        draft.try_other(reason)
        draft.steps = list(STEPS_OF_NOTE if other is Scope.NOTE else STEPS)
        return
    draft.settle(reason)
    draft.steps = [] if draft.told is not None else [console]


def end(draft: Draft) -> Answer:
    """The answer that the draft has become, written to the log."""
    session = draft.session
    answer = answer_of(draft) if draft.fault is None else failed(draft, draft.fault)
    if warning := session.record(answer):
        session.warnings.append(warning)
    while session.warnings:
        draft.on_event("warning", session.warnings.pop(0))
    return answer


def choose(draft: Draft) -> Reason | None:
    """Choose the path: an image file, one study, the notes, note against table, or a query."""
    session, question = draft.session, draft.question
    if question.images:
        draft.steps = [look]
        return None
    if session.only_notes:
        draft.patient = note_path.patient_of(draft)
        draft.steps = list(STEPS_OF_NOTE)
        return None
    draft.as_of = draft.as_of or session.as_of
    draft.steps = list(STEPS)
    if session.scope in (None, Scope.IMAGE):
        draft.one = one_study(question, session.graphs)
    if draft.one is not None:
        draft.steps = list(STEPS_OF_ONE)
    elif session.scope is Scope.NOTE or (session.scope is None and session.notes is not None):
        linked = linked_of(draft)
        draft.patient = note_path.patient_of(draft)
        if draft.patient is not None and draft.patient.in_notes and session.scope is None:
            draft.mixed = split(question.text, linked)
        if draft.mixed is not None:
            draft.steps = [compare_sources]
        elif note_path.wanted(draft):
            draft.steps = list(STEPS_OF_NOTE)
    return None


def compare_sources(draft: Draft) -> Reason | None:
    """Ask the notes and the tables for the same thing, and compare what they say."""
    session, desk = draft.session, draft.session.notes
    assert draft.mixed is not None and desk is not None
    draft.route = Route(Scope.NOTE, PatientScope.SINGLE, "it compares a note with the tables")
    found = answer_mixed(
        draft.mixed,
        lambda question: ask_tables(replace(question, as_of=draft.as_of), session),
        lambda text, patient: desk.answer(text, patient),
        rows=open_rows(session.database),
        notes=note_facts(desk),
    )
    if found.error is not None:
        kind = DatabaseFault if any(asked.again for asked in found.table) else DatabaseError
        raise kind(found.error["message"], found.error["hint"])
    draft.compared, draft.evidence, draft.text = found, found.evidence, found.text
    return found.reason


def ask_tables(question: Question, session: Session) -> Answer:
    """The answer of the path by logical form alone: not logged, and no notes are read for it."""
    draft = begin(question, session)
    draft.steps = list(STEPS)
    advance(draft)
    return answer_of(draft) if draft.fault is None else failed(draft, draft.fault)


STEPS: tuple[Step, ...] = (
    link,
    write,
    understand,
    route,
    compile_form,
    compare,
    consult,
    weigh,
    execute,
    compare_answers,
    decide,
    namesakes.check,
    ground,
    tell,
    note_path.add_notes,
)


# For a question about one image that no logical form says.
STEPS_OF_ONE: tuple[Step, ...] = (take, execute, empty, ground, tell)

# For a question that the notes of one patient answer.
STEPS_OF_NOTE: tuple[Step, ...] = (
    note_path.find_notes,
    note_path.read_notes,
    note_path.tell_note,
)


def _timed(step: Step, draft: Draft) -> Reason | None:
    if draft.session.cancelled.is_set():
        raise Cancelled("cancelled", "")
    draft.on_event(step.__name__, None)
    started = time.perf_counter()
    try:
        return step(draft)
    finally:
        seconds = time.perf_counter() - started
        draft.timings[step.__name__] = seconds
        draft.on_event(f"{step.__name__}.done", seconds)
