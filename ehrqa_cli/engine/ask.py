"""The path of a question, from text to answer: one small function a step.

A step reads and fills the Draft. It returns a Reason to withhold the answer (the checks are all in
engine.confidence) or None to go on. A fault raises EhrqaError and makes the answer ``failed``.
"""

from __future__ import annotations

import time
from dataclasses import replace

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import (
    Cancelled,
    DatabaseError,
    EhrqaError,
    FormError,
    LimitExceeded,
    UsageError,
)
from ehrqa_cli.contracts.images import NotAnswered
from ehrqa_cli.contracts.types import Answer, LinkedQuestion, PatientScope, Query, Question, Scope
from ehrqa_cli.engine import confidence, evidence, note_path, reasons
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.draft import Draft, OnEvent, Step, answer_of, failed
from ehrqa_cli.engine.measures import left_out
from ehrqa_cli.engine.mixed import answer_mixed, note_facts, open_rows, split
from ehrqa_cli.engine.one_study import one_study
from ehrqa_cli.engine.route import Route, route_form, route_sql
from ehrqa_cli.engine.session import Mode, Session, check_time
from ehrqa_cli.engine.suggest import suggestions_for
from ehrqa_cli.engine.text import clean_question, sentence
from ehrqa_cli.logical_form import (
    Combine,
    Form,
    Select,
    bind,
    compile_sql,
    describe,
    flaw,
    parse,
    print_form,
    used_links,
)


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


def advance(draft: Draft, before: Step | None = None) -> None:
    """Take the steps that are left, or only those before ``before`` (to take it for many at once).

    A fault ends the draft and is kept in it. Raises UsageError and Cancelled.
    """
    try:
        while draft.steps and draft.steps[0] is not before:
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
    """Choose the path: one image, the notes, note against table, or a query."""
    session, question = draft.session, draft.question
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
        raise DatabaseError(found.error["message"], found.error["hint"])
    draft.compared, draft.evidence, draft.text = found, found.evidence, found.text
    return found.reason


def ask_tables(question: Question, session: Session) -> Answer:
    """The answer of the path by logical form alone: not logged, and no notes are read for it."""
    draft = begin(question, session)
    draft.steps = list(STEPS)
    advance(draft)
    return answer_of(draft) if draft.fault is None else failed(draft, draft.fault)


def take(draft: Draft) -> Reason | None:
    """Take the question about one image as it is, with no model's help."""
    assert draft.one is not None
    draft.route, draft.neuralsql = draft.one.route, draft.one.neuralsql
    return None


def link(draft: Draft) -> Reason | None:
    """Find patients, values, dates and numbers in the question."""
    return confidence.of_links(linked_of(draft))


def linked_of(draft: Draft) -> LinkedQuestion:
    """The question with its links, found once."""
    if draft.linked is None:
        question = draft.question
        draft.linked = draft.session.linker.link(
            question.text, patient_id=question.patient_id, study_id=question.study_id
        )
    return draft.linked


def write(draft: Draft) -> Reason | None:
    """Let the model write a query for the linked question."""
    assert draft.linked is not None
    return take_written(
        draft,
        draft.session.model.generate(
            draft.linked, on_token=lambda token: draft.on_event("token", token)
        ),
    )


def take_written(draft: Draft, queries: list[Query]) -> Reason | None:
    """Take the first of the queries that were written, with its scores."""
    reason = confidence.of_queries(queries)
    if queries:
        draft.query = queries[0]
        draft.scores.update(queries[0].scores)
    return reason


def understand(draft: Draft) -> Reason | None:
    """Read the form, put the linked values in, compile and describe it."""
    assert draft.linked is not None and draft.query is not None
    if not draft.query.logical_form:
        draft.neuralsql = draft.query.neuralsql
        return None
    try:
        draft.form = parse(draft.query.logical_form)
        draft.bound = bind(draft.form, draft.linked.links)
        draft.description = describe(draft.bound)
    except FormError as error:
        return confidence.no_form(error.message)
    return confidence.of_sense(flaw(draft.bound))


def route(draft: Draft) -> Reason | None:
    """Say which data and whose the query reads, and whether there is a reader for them."""
    assert draft.linked is not None
    forced = draft.session.scope
    if draft.bound is not None:
        draft.route = route_form(draft.bound, forced)
    else:
        patients = {x.value for x in draft.linked.links if "pat" in x.types}
        draft.route = route_sql(draft.neuralsql or "", len(patients), forced)
    images = draft.session.graphs is not None
    return confidence.of_scope(draft.route.scope, draft.route.reason, images)


def compile_form(draft: Draft) -> Reason | None:
    """The logical form as NeuralSQL."""
    if draft.bound is not None:
        try:
            draft.neuralsql = compile_sql(draft.bound)
        except FormError as error:
            return confidence.no_form(error.message)
    return None


def compare(draft: Draft) -> Reason | None:
    """Does the query use every value of the question?"""
    assert draft.linked is not None
    links = draft.linked.links
    if draft.form is None:
        return confidence.of_unused_literals(links, draft.neuralsql or "")
    used = used_links(draft.form)
    draft.scores.update(confidence.link_scores(links, used))
    return confidence.of_unused_links(links, used)


def consult(draft: Draft) -> Reason | None:
    """Ask the second opinion, where there is one, what it thinks of the question and the form."""
    second = draft.session.second
    if second is not None and draft.linked is not None:
        form = print_form(draft.form) if draft.form is not None else None
        draft.scores.update(confidence.opinion_scores(second.scores(draft.linked, form)))
    return None


def weigh(draft: Draft) -> Reason | None:
    """Join the measured signals, words left unused among them.

    No later signal lowers the risk, but for a third opinion: then all are joined after it.
    """
    assert draft.linked is not None
    if draft.form is not None:
        form = print_form(draft.form)
        draft.left = confidence.words_left(draft.linked, form)
        draft.scores["unknown_words"] = float(len(draft.left.unknown))
        draft.scores["elsewhere_words"] = float(len(draft.left.elsewhere))
        if reason := confidence.of_measures(left_out(draft.linked.text, form)):
            return reason
    if draft.session.mode is Mode.CAREFUL:
        return None
    return confidence.of_scores(draft.scores, draft.thresholds, draft.left)


def execute(draft: Draft) -> Reason | None:
    """Run the query on the database, read-only and within limits."""
    assert draft.neuralsql is not None
    session = draft.session
    try:
        draft.done = neuralsql.execute(
            draft.neuralsql,
            session.database,
            as_of=draft.as_of,
            limits=session.limits,
            graphs=session.graphs,
        )
    except (LimitExceeded, Cancelled):
        raise  # a fault of the moment: it says nothing against the query
    except NotAnswered as declined:
        return confidence.of_images(declined.reason)
    except DatabaseError as error:
        return confidence.execution_error(error.message)
    draft.result, draft.executed_sql = draft.done.result, draft.done.sql
    draft.scores.update(confidence.result_scores(draft.result))
    return None


def compare_answers(draft: Draft) -> Reason | None:
    """With --careful: does a larger model, which writes SQL by example, get the same answer?"""
    session = draft.session
    if session.mode is not Mode.CAREFUL:
        return None
    assert draft.linked is not None and draft.result is not None
    near = session.second.nearest(draft.linked, session.third.examples) if session.second else ()
    other = session.third.answer(
        draft.linked, near, session.database, as_of=draft.as_of, limits=session.limits
    )
    draft.third_sql = other.sql
    same = other.rows is not None and confidence.same_rows(other.rows, draft.result.rows)
    draft.scores["third_agrees"], draft.scores["third_differs"] = float(same), float(not same)
    return None


def decide(draft: Draft) -> Reason | None:
    """All signals together, those of the result too; then whether there is anything to tell."""
    assert draft.result is not None
    risky = confidence.of_scores(draft.scores, draft.thresholds, draft.left)
    if risky is not None and risky.kind not in draft.thresholds.ignore:
        return risky
    return confidence.of_result(draft.result)


def empty(draft: Draft) -> Reason | None:
    """Is there anything to tell?"""
    assert draft.result is not None
    return confidence.of_result(draft.result)


def ground(draft: Draft) -> Reason | None:
    """Find the findings and rows that the answer rests on."""
    session = draft.session
    if session.graphs is not None and draft.done is not None and draft.done.steps:
        draft.evidence = tuple(neuralsql.image_evidence(draft.done, session.graphs))
    if draft.bound is not None:
        rows = evidence.rows_for(draft.bound, session.database, draft.as_of, session.graphs)
        draft.evidence += rows
    return None


def tell(draft: Draft) -> Reason | None:
    """Say the answer as a sentence."""
    assert draft.result is not None
    if draft.one is not None:
        draft.text = draft.one.told([row[0] for row in draft.result.rows])
        return None
    draft.text = sentence(draft.result, draft.description, yes_no=_is_yes_no(draft.bound))
    if draft.done is not None and draft.done.missing:
        n, shown = len(draft.done.missing), ", ".join(map(str, draft.done.missing[:5]))
        draft.text += f" Without {n} studies that have no image here ({shown})."
    return None


def console(draft: Draft) -> Reason | None:
    """For a withheld answer: say why in a person's words, and what could be answered instead."""
    assert draft.reason is not None
    draft.told = reasons.explain(draft.reason, draft.linked, draft.session.reason_model)
    if draft.told.offer and draft.linked is not None:
        draft.suggestions = suggestions_for(draft)
    return None


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
    ground,
    tell,
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


def _is_yes_no(form: Form | None) -> bool:
    if isinstance(form, Select):
        return form.head in ("exists", "none")
    return isinstance(form, Combine) and form.op in ("less", "greater", "equal", "and", "or")
