"""The ways to an answer, each from its first step to its last.

Each gives the Answer, or raises Withheld with the reason against one, or EhrqaError for a fault.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.contracts.types import (
    Answer,
    LinkedQuestion,
    PatientScope,
    Query,
    Question,
    Scope,
)
from ehrqa_cli.engine import answers, confidence, namesakes, one_study, query_path, ranking
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.mixed import Mixed, MixedAnswer, answer_mixed, open_rows
from ehrqa_cli.engine.note_path import add_notes, find_notes, read_notes, tell_note
from ehrqa_cli.engine.one_study import OneStudy
from ehrqa_cli.engine.query_path import execute, ground
from ehrqa_cli.engine.question_run import Evidence, Given, Run, Withheld, Written
from ehrqa_cli.engine.reasons import Told
from ehrqa_cli.engine.risk import probability
from ehrqa_cli.engine.route import Route
from ehrqa_cli.engine.session_parts import SessionParts
from ehrqa_cli.engine.whose import Patient
from ehrqa_cli.logical_form import Form
from ehrqa_cli.neuralsql import Execution


def by_tables(run: Run, linked: LinkedQuestion, given: Given, patient: Patient | None) -> Answer:
    """By the query that the model writes, or that is ``given``, over tables and images; the notes
    of ``patient`` may add to it."""
    queries = run.take(query_path.write, linked, given)
    query = run.take(ranking.judge, linked, queries)
    written = run.take(query_path.understand, linked, query)
    run.take(query_path.route, written)
    sql = run.take(query_path.compile_form, written)
    run.take(query_path.compare, written)
    run.take(query_path.weigh, written)
    done = run.take(execute, sql, written.bound)
    run.take(ranking.rival, linked, done)
    run.take(query_path.compare_answers, linked, done.result)
    run.take(query_path.decide, done.result)
    text, found = _told(run, written, done)
    text, found = run.take(add_notes, patient, done.result.rows, text, found)
    return answers.of_rows(run, done.result, text, found, _sure(run, done))


def _told(run: Run, written: Written, done: Execution) -> tuple[str, Evidence]:
    """The rows in words, and what they rest on."""
    said = run.take(namesakes.check, written, done)
    found = run.take(ground, done, written.bound)
    return run.take(query_path.tell, done, written.reading, said), found


def _sure(run: Run, done: Execution) -> float | None:
    """The calibrated probability of being right. Where an answer rests on images, it is no surer
    than the least sure of their answers."""
    written = probability(run.scores, run.session.thresholds)
    seen = done.probability
    return written if written is None or seen is None else min(written, seen)


def by_form(
    form: Form, linked: LinkedQuestion, session: SessionParts, as_of: str | None = None
) -> Answer:
    """By a logical form that is known, with references to ``linked``: no model is asked, no notes
    are read and nothing is logged. Raises EhrqaError for a fault."""
    run = Run(Question(linked.question), session)
    try:
        run.known = replace(run.known, as_of=as_of or session.as_of, linked=linked)
        return by_reading(run, run.take(query_path.read, linked, form))
    except Withheld as held:
        return answers.withheld(run, held, Told("not_sure", held.reason.sentence))


def by_reading(run: Run, written: Written) -> Answer:
    """By a reading that nobody weighs: how sure it is, is not known."""
    run.take(query_path.route, written)
    sql = run.take(query_path.compile_form, written)
    done = run.take(execute, sql, written.bound)
    run.take(query_path.empty, done.result)
    return answers.of_rows(run, done.result, *_told(run, written, done), None)


def by_taught(run: Run, form: str, taught: dict[str, str]) -> Answer:
    """By the form that a person taught for this wording: only its doubts are not asked for."""
    run.known = replace(run.known, as_of=run.known.as_of or run.session.as_of, taught=taught)
    linked = run.take(query_path.link)
    written = run.take(query_path.understand, linked, Query(None, form))
    run.take(query_path.contradiction, written)
    found = by_reading(run, written)
    return replace(found, text=f"{found.text} (Read as taught on {taught['when'][:10]}.)")


def unchecked(run: Run, reason: Reason, told: Told) -> Answer:
    """By the reading that was withheld for ``reason``, which is ``told`` with the answer."""
    linked, reading = run.known.linked, run.known.reading
    assert linked is not None and reading is not None
    written = Written(linked, reading)
    run.take(query_path.contradiction, written)
    return answers.tentative(by_reading(run, written), reason, told)


def by_notes(run: Run, patient: Patient | None) -> Answer:
    """By the notes of one patient."""
    desk, patient_id = run.take(find_notes, patient)
    note = run.take(read_notes, desk, patient_id)
    return answers.of_note(run, note, run.take(tell_note, note))


def by_study(run: Run, one: OneStudy) -> Answer:
    """By the image of one study, which needs no model's help to be asked."""
    sql = run.take(one_study.take, one)
    done = run.take(execute, sql, None)
    run.take(query_path.empty, done.result)
    found = run.take(ground, done, None)
    text = run.take(one_study.tell, one, done.result)
    graphs = run.session.graphs
    sure = graphs.detail(one.text, one.study).probability if graphs is not None else None
    return answers.of_rows(run, done.result, text, found, sure)


def by_film(run: Run) -> Answer:
    """By the image file that the question names: no table and no note is asked."""
    return answers.of_film(run, run.take(look))


def look(run: Run) -> Answer:
    """What the film says. Raises ImageError for a file that cannot be read and for several,
    ModelError."""
    why = "it names an image file"
    run.known = replace(run.known, route=Route(Scope.IMAGE, PatientScope.SINGLE, why))
    images = run.question.images
    if len(images) > 1:
        raise ImageError(
            f"a question is about one image, and {len(images)} are named",
            "ask about each of them in a row of its own",
        )
    return run.session.films.answer(run.question, Path(images[0]))


def by_both(run: Run, mixed: Mixed) -> Answer:
    """By what a note and the tables say of each other."""
    return answers.of_comparison(run, run.take(compare_sources, mixed))


def compare_sources(run: Run, mixed: Mixed) -> MixedAnswer:
    """Ask the notes and the tables for the same thing, and compare what they say."""
    session, desk, linked = run.session, run.session.notes, query_path.linked_of(run)
    why = "it compares a note with the tables"
    run.known = replace(run.known, route=Route(Scope.NOTE, PatientScope.SINGLE, why))
    if desk is None:
        raise Withheld(confidence.without_notes(False, None))
    found = answer_mixed(
        mixed,
        lambda form: by_form(form, linked, session, run.known.as_of),
        open_rows(session.database),
        desk.finder.store,
    )
    run.known = replace(run.known, notes_read=True)
    run.check(found.reason, found.evidence)
    return found
