"""An answer in the making, and the Answer that it becomes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ehrqa_cli.contracts.errors import DatabaseFault, EhrqaError
from ehrqa_cli.contracts.notes import NoteAnswer
from ehrqa_cli.contracts.types import (
    Answer,
    LinkedQuestion,
    PatientScope,
    Query,
    Question,
    Result,
    Status,
)
from ehrqa_cli.engine.choices import chosen
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.film_path import film_answer, film_provenance
from ehrqa_cli.engine.lexicon import Unused
from ehrqa_cli.engine.mixed import Mixed, MixedAnswer
from ehrqa_cli.engine.note_path import cited
from ehrqa_cli.engine.note_route import Decision, scope_by_words
from ehrqa_cli.engine.one_study import OneStudy
from ehrqa_cli.engine.reasons import Told
from ehrqa_cli.engine.risk import Thresholds, probability
from ehrqa_cli.engine.route import Route
from ehrqa_cli.engine.session import Session
from ehrqa_cli.engine.text import value_of
from ehrqa_cli.engine.whose import Patient
from ehrqa_cli.logical_form import Form, print_form
from ehrqa_cli.neuralsql import Execution

# Called with the name of a step when it begins, then with (name + ".done", seconds); tokens of
# the model come as ("token", text), a problem that does not change the answer as ("warning", text).
OnEvent = Callable[[str, Any], None]

# Reads and fills the draft; a Reason withholds the answer.
Step = Callable[["Draft"], Reason | None]


@dataclass(frozen=True)
class Declined:
    """What the first of two readers left behind when it declined."""

    reason: Reason
    route: Route | None
    note: NoteAnswer | None


@dataclass
class Draft:
    """An answer in the making; a step fills what the next ones need. ``steps`` are still to take,
    ``fault`` is what ended it."""

    question: Question
    session: Session
    on_event: OnEvent
    as_of: str = ""
    steps: list[Step] = field(default_factory=list)
    fault: EhrqaError | None = None
    linked: LinkedQuestion | None = None
    query: Query | None = None
    form: Form | None = None
    bound: Form | None = None
    route: Route | None = None
    description: str | None = None
    neuralsql: str | None = None
    executed_sql: str | None = None
    done: Execution | None = None
    result: Result | None = None
    text: str = ""
    said: str = ""
    left: Unused | None = None
    reason: Reason | None = None
    told: Told | None = None
    suggestions: tuple[str, ...] = ()
    third_sql: str | None = None
    one: OneStudy | None = None
    film: Answer | None = None
    patient: Patient | None = None
    mixed: Mixed | None = None
    compared: MixedAnswer | None = None
    decision: Decision | None = None
    declined: Declined | None = None
    note: NoteAnswer | None = None
    evidence: tuple[dict[str, Any], ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)

    def try_other(self, reason: Reason) -> None:
        """Make room for a second reader, after the first has declined for ``reason``."""
        self.declined = Declined(reason, self.route, self.note)
        self.note, self.evidence = None, ()

    def settle(self, reason: Reason) -> None:
        """Decline for ``reason``, or as the first reader did where there were two; what the notes
        say of themselves goes before what the tables lack."""
        first = self.declined
        if first is None or reason.kind in ("not_in_notes", "unsure_notes"):
            self.reason = reason
        else:
            self.reason, self.route, self.note = first.reason, first.route, first.note

    @property
    def thresholds(self) -> Thresholds:
        """Those in force, with or without a second opinion."""
        return self.session.active_thresholds


def answer_of(draft: Draft) -> Answer:
    """Answered, or abstained where a reason stands against it."""
    if draft.film is not None:
        return film_answer(draft, draft.film)
    if draft.reason is not None:
        told = draft.told or Told("not_sure", draft.reason.sentence)
        return Answer(
            draft.question,
            Status.ABSTAINED,
            text=f"I don't know. {told.sentence}",
            reason_kind=draft.reason.kind,
            reason=told.sentence,
            reason_public=told.kind,
            suggestions=draft.suggestions,
            evidence=_looked_at(draft),
            **_common(draft),
        )
    if draft.compared is not None:
        return Answer(
            draft.question,
            Status.ANSWERED,
            text=draft.text,
            value=draft.compared.value,
            columns=draft.compared.columns,
            rows=draft.compared.rows,
            evidence=draft.evidence,
            **_compared(draft.compared, _common(draft)),
        )
    if draft.note is not None:
        return Answer(
            draft.question,
            Status.ANSWERED,
            text=draft.text,
            value=draft.note.text,
            choice=draft.note.choice,
            confidence=draft.note.confidence,
            evidence=draft.evidence,
            # A query that was tried first and declined is no part of this answer.
            **{**_common(draft), **dict.fromkeys(_QUERY)},
        )
    assert draft.result is not None
    return Answer(
        draft.question,
        Status.ANSWERED,
        text=draft.text,
        value=value_of(draft.result.rows),
        columns=draft.result.columns,
        rows=draft.result.rows,
        truncated=draft.result.truncated,
        choice=chosen(draft.question.choices, draft.result.rows),
        confidence=_sure(draft),
        evidence=draft.evidence,
        **_common(draft),
    )


def _looked_at(draft: Draft) -> tuple[dict[str, Any], ...]:
    """What is cited without an answer: where a person should look."""
    if draft.compared is not None:
        return draft.compared.evidence
    return cited(draft.note) if draft.note is not None else draft.evidence


def _compared(found: MixedAnswer, common: dict[str, Any]) -> dict[str, Any]:
    """``common`` with the query of the tables' side, and both readers' provenance."""
    table = found.table[-1] if found.table else None
    if table is None:
        return common
    provenance = dict(common["provenance"])
    provenance["models"] = {**table.provenance["models"], **provenance["models"]}
    provenance["tables"] = table.provenance
    return {**common, **{name: getattr(table, name) for name in _QUERY}, "provenance": provenance}


_QUERY = ("logical_form", "description", "neuralsql", "executed_sql")


def _sure(draft: Draft) -> float | None:
    """The calibrated probability of being right; of what one image is like, the image reader's.

    Where a query's answer rests on images, it is no surer than the least sure of their answers.
    """
    if draft.one is not None and draft.session.graphs is not None:
        return draft.session.graphs.detail(draft.one.text, draft.one.study).probability
    written = probability(draft.scores, draft.thresholds)
    seen = draft.done.probability if draft.done is not None else None
    return written if written is None or seen is None else min(written, seen)


def failed(draft: Draft, error: EhrqaError) -> Answer:
    """What became of a question that a fault ended."""
    return Answer(
        draft.question,
        Status.FAILED,
        text=f"Failed: {error.message}.",
        error={"message": error.message, "hint": error.hint},
        again=isinstance(error, DatabaseFault),
        **_common(draft),
    )


def _common(draft: Draft) -> dict[str, Any]:
    """The fields that an answer has whatever became of it."""
    found = draft.route
    return {
        "scope": found.scope
        if found
        else draft.session.scope or scope_by_words(draft.question.text),
        "patient_scope": found.patient_scope if found else PatientScope.NONE,
        "logical_form": print_form(draft.bound) if draft.bound is not None else None,
        "description": draft.description,
        "neuralsql": draft.neuralsql,
        "executed_sql": draft.executed_sql,
        "provenance": _provenance(draft),
        "scores": dict(draft.scores),
        "timings": {**draft.timings, "total": sum(draft.timings.values())},
    }


def _provenance(draft: Draft) -> dict[str, Any]:
    """Enough to repeat the answer. Parts that did not come into play are left out."""
    if draft.question.images:
        return film_provenance(draft)
    session = draft.session
    opened = vars(session)
    out: dict[str, Any] = {
        "question": draft.question.text,
        "linked": draft.linked.text if draft.linked else None,
        "patient_id": draft.question.patient_id,
        "logical_form": draft.query.logical_form if draft.query else None,
        "neuralsql": draft.neuralsql,
        "executed_sql": draft.executed_sql,
        "as_of": draft.as_of or None,
        "mode": session.mode.value,
        "models": {},
        "database": None,
        "versions": session.versions,
    }
    # By what this question needed, not by what is open: alone or in a batch, the same bytes.
    taken = (
        ("model", "text2sql", draft.query is not None),
        ("second", "second", "consult" in draft.timings),
        ("third", "third", "compare_answers" in draft.timings),
        ("note_router", "router", "note_score" in draft.scores),
    )
    for name, key, used in taken:
        if used and opened.get(name) is not None:
            out["models"][key] = dict(opened[name].provenance())
    if draft.done is not None and draft.done.steps and session.graphs is not None:
        out["models"]["images"] = dict(session.graphs.provenance())
    notes_read = draft.note is not None or draft.compared is not None
    if notes_read and session.notes is not None:
        out["models"]["notes"] = dict(session.notes.provenance())
        out["notes"] = session.notes.fingerprint()
    if draft.third_sql is not None:
        out["third_sql"] = draft.third_sql
    if "database" in opened:
        # A damaged file is what a failed answer reports; its provenance must not fail again.
        with contextlib.suppress(EhrqaError):
            out["database"] = session.database.fingerprint()
            out["versions"] = {**session.versions, **session.database.versions()}
    if "thresholds" in opened and (draft.query is not None or not notes_read):
        out["thresholds"] = {"from": session.thresholds_from, **draft.thresholds.told()}
    return out
