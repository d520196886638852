"""What becomes of a question, as an Answer: told from rows or notes, withheld, or failed."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import DatabaseFault, EhrqaError
from ehrqa_cli.contracts.notes import NoteAnswer
from ehrqa_cli.contracts.types import Answer, PatientScope, Result, Status
from ehrqa_cli.engine import meant
from ehrqa_cli.engine.asked_back import NOTHING, Offer
from ehrqa_cli.engine.choices import chosen
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.mixed import MixedAnswer
from ehrqa_cli.engine.note_path import cited
from ehrqa_cli.engine.note_route import scope_by_words
from ehrqa_cli.engine.question_run import Evidence, Known, Run, Withheld
from ehrqa_cli.engine.reasons import Told, may_run
from ehrqa_cli.engine.session_parts import SessionParts
from ehrqa_cli.engine.sources import concepts_of
from ehrqa_cli.engine.text import value_of
from ehrqa_cli.logical_form import print_form

UNVERIFIED = "Unverified: "  # how a tentative answer begins
_QUERY = ("logical_form", "description", "neuralsql", "executed_sql")


def of_rows(
    run: Run, result: Result, text: str, evidence: Evidence, confidence: float | None
) -> Answer:
    """The rows of a query, told as ``text``."""
    return Answer(
        run.question,
        Status.ANSWERED,
        text=text,
        value=value_of(result.rows),
        columns=result.columns,
        rows=result.rows,
        truncated=result.truncated,
        choice=chosen(run.question.choices, result.rows),
        confidence=confidence,
        evidence=evidence,
        **_common(run),
    )


def of_note(run: Run, note: NoteAnswer, text: str) -> Answer:
    """What the notes say. A query that was tried first and declined is no part of it."""
    return Answer(
        run.question,
        Status.ANSWERED,
        text=text,
        value=note.text,
        choice=note.choice,
        confidence=note.confidence,
        evidence=cited(note.spans),
        **{**_common(run), **dict.fromkeys(_QUERY)},
    )


def of_comparison(run: Run, found: MixedAnswer) -> Answer:
    """What a note and the tables say of each other, with the query of the tables' side and both
    readers' provenance."""
    common = _common(run)
    if found.table:
        table = found.table[-1]
        models = {**table.provenance["models"], **common["provenance"]["models"]}
        common |= {name: getattr(table, name) for name in _QUERY}
        common["provenance"] |= {"models": models, "tables": table.provenance}
    return Answer(
        run.question,
        Status.ANSWERED,
        text=found.text,
        value=found.value,
        columns=found.columns,
        rows=found.rows,
        evidence=found.evidence,
        **common,
    )


def of_film(run: Run, found: Answer) -> Answer:
    """What a film says, as an answer of this session."""
    return replace(
        found,
        choice=chosen(run.question.choices, found.rows),
        provenance={**found.provenance, "versions": run.session.versions},
        timings=_timings(run),
    )


def tentative(found: Answer, reason: Reason, told: Told) -> Answer:
    """Rows that would have been withheld for ``reason``: marked, and counted as no answer."""
    return replace(
        found,
        status=Status.TENTATIVE,
        text=f"{UNVERIFIED}{found.text}",
        reason_kind=reason.kind,
        reason=told.sentence,
        reason_public=told.kind,
        reading=_reading(found, runs=True),
    )


def withheld(run: Run, held: Withheld, told: Told, offer: Offer = NOTHING) -> Answer:
    """An abstention: why, in words for people, where to look, and what could be asked instead."""
    if _weighed(run.known):
        _ = run.session.thresholds  # by them it was decided, so they are told
    answer = Answer(
        run.question,
        Status.ABSTAINED,
        text=f"I don't know. {told.sentence}",
        reason_kind=held.reason.kind,
        reason=told.sentence,
        reason_public=told.kind,
        suggestions=offer.questions,
        alternatives=offer.readings,
        evidence=held.evidence,
        **_common(run),
    )
    if run.known.reading is None:
        return answer
    return replace(answer, reading=_reading(answer, runs=may_run(held.reason, told)))


def _reading(answer: Answer, runs: bool) -> dict[str, Any]:
    """How the question was read; ``runs``: that can be run as a tentative answer."""
    return {
        "logical_form": answer.logical_form,
        "description": answer.description,
        "concepts": list(answer.concepts),
        "runs": runs,
    }


def failed(run: Run, error: EhrqaError) -> Answer:
    """What became of a question that a fault ended."""
    return Answer(
        run.question,
        Status.FAILED,
        text=f"Failed: {error.message}.",
        error={"message": error.message, "hint": error.hint},
        again=isinstance(error, DatabaseFault),
        **_common(run),
    )


def _common(run: Run) -> dict[str, Any]:
    """The fields that an answer has whatever became of it."""
    known = run.known
    route, reading = known.route, known.reading
    scope = route.scope if route else run.session.scope or scope_by_words(run.question.text)
    return {
        "scope": scope,
        "patient_scope": route.patient_scope if route else PatientScope.NONE,
        "logical_form": print_form(reading.bound) if reading else None,
        "concepts": tuple(meant.as_json(*pair) for pair in meant.used(reading, known.linked))
        if reading and known.linked
        else (),
        "description": reading.description if reading else None,
        "neuralsql": known.neuralsql,
        "executed_sql": known.done.sql if known.done else None,
        "provenance": _of_image(run) if run.question.images else _provenance(run),
        "scores": dict(run.scores),
        "timings": _timings(run),
    }


def _timings(run: Run) -> dict[str, float]:
    return {**run.timings, "total": sum(run.timings.values())}


def _of_image(run: Run) -> dict[str, Any]:
    """Of a film that could not be looked at: neither database nor thresholds came into play."""
    return {
        "question": run.question.text,
        "image": ", ".join(Path(image).name for image in run.question.images),
        "models": {},
        "database": None,
        "versions": run.session.versions,
    }


def _provenance(run: Run) -> dict[str, Any]:
    """Enough to repeat the answer. Parts that did not come into play are left out."""
    known, session = run.known, run.session
    out: dict[str, Any] = {
        "question": run.question.text,
        "linked": known.linked.text if known.linked else None,
        "patient_id": run.question.patient_id,
        "logical_form": _as_written(run),
        "neuralsql": known.neuralsql,
        "executed_sql": known.done.sql if known.done else None,
        "as_of": known.as_of or None,
        "mode": session.mode.value,
        "models": _models(run),
        "database": None,
        "versions": session.versions,
    }
    if known.notes_read and session.notes is not None:
        out["notes"] = session.notes.fingerprint()
    if known.taught is not None:
        out["taught"] = known.taught
    if known.third_sql is not None:
        out["third_sql"] = known.third_sql
    if (database := SessionParts.database.open(session)) is not None:
        # A damaged file is what a failed answer reports; its provenance must not fail again.
        with contextlib.suppress(EhrqaError):
            out["database"] = database.fingerprint()
            out["versions"] = {**session.versions, **database.versions()}
    if known.linked is not None and session.own_concepts and not session.layout.ehrsql:
        out["concepts"] = concepts_of(session)
    if _weighed(known) and SessionParts.thresholds.is_open(session):
        told = session.thresholds.told()
        out["thresholds"] = {"from": session.thresholds_from, **told}
    return out


def _weighed(known: Known) -> bool:
    """Do the thresholds bear on it? They weigh what a model wrote: neither what the notes say nor
    a logical form that was known."""
    return known.query is not None or not (known.notes_read or known.reading)


def _as_written(run: Run) -> str | None:
    """The logical form with its references."""
    if run.known.query is not None:
        return run.known.query.logical_form
    return print_form(run.known.reading.form) if run.known.reading else None


def _models(run: Run) -> dict[str, Any]:
    """By what this question needed, not by what is open: alone or in a batch, the same bytes."""
    known, session = run.known, run.session
    taken = (
        ("text2sql", SessionParts.model.open(session), known.query is not None),
        ("judge", SessionParts.judge.open(session), "judge" in run.timings),
        ("third", SessionParts.third.open(session), "compare_answers" in run.timings),
        ("router", SessionParts.note_router.open(session), "note_score" in run.scores),
        ("images", session.graphs if known.done and known.done.steps else None, True),
        ("notes", session.notes if known.notes_read else None, True),
    )
    return {k: dict(part.provenance()) for k, part, used in taken if used and part is not None}
