"""The path of a question, from text to answer: one small function a step.

A step reads and fills the Draft. It returns a Reason to withhold the answer (the checks are all in
engine.confidence) or None to go on. A fault raises EhrqaError and makes the answer ``failed``.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import (
    Cancelled,
    DatabaseError,
    EhrqaError,
    FormError,
    LimitExceeded,
    UsageError,
)
from ehrqa_cli.contracts.types import (
    Answer,
    LinkedQuestion,
    PatientScope,
    Query,
    Question,
    Result,
    Scope,
    Status,
)
from ehrqa_cli.engine import confidence, evidence
from ehrqa_cli.engine.confidence import Reason, Thresholds
from ehrqa_cli.engine.lexicon import Unused
from ehrqa_cli.engine.route import Route, route_form, route_sql
from ehrqa_cli.engine.session import Session, check_time
from ehrqa_cli.engine.text import clean_question, sentence, value_of
from ehrqa_cli.logical_form import (
    Combine,
    Form,
    Select,
    bind,
    compile_sql,
    describe,
    parse,
    print_form,
    used_links,
)

# Called with the name of a step when it begins, then with (name + ".done", seconds); tokens of
# the model come as ("token", text), a problem that does not change the answer as ("warning", text).
OnEvent = Callable[[str, Any], None]


@dataclass
class Draft:
    """An answer in the making; a step fills what the next ones need."""

    question: Question
    session: Session
    on_event: OnEvent
    as_of: str = ""
    linked: LinkedQuestion | None = None
    query: Query | None = None
    form: Form | None = None
    bound: Form | None = None
    route: Route | None = None
    description: str | None = None
    neuralsql: str | None = None
    executed_sql: str | None = None
    result: Result | None = None
    text: str = ""
    left: Unused | None = None
    reason: Reason | None = None
    evidence: tuple[dict[str, Any], ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)

    @property
    def thresholds(self) -> Thresholds:
        """The session's thresholds."""
        return self.session.thresholds


Step = Callable[[Draft], Reason | None]


def ask(question: Question, session: Session, on_event: OnEvent | None = None) -> Answer:
    """Answer ``question``, decline with a reason, or report a fault: never raises for those.

    Raises UsageError for an empty or over-long question or a wrong ``as_of``, and Cancelled when
    the user ends it.
    """
    question = replace(question, text=clean_question(question.text))
    draft = Draft(question, session, on_event or (lambda _name, _what: None))
    if question.as_of is not None:
        draft.as_of = check_time(question.as_of)
    try:
        draft.as_of = draft.as_of or session.as_of
        for step in STEPS:
            reason = _timed(step, draft)
            if reason is None:
                continue
            if reason.kind in draft.thresholds.ignore:
                draft.scores[f"ignored_{reason.kind}"] = 1.0
                continue
            draft.reason = reason
            break
        answer = _answer(draft)
    except (UsageError, Cancelled):
        raise
    except EhrqaError as error:
        answer = _failed(draft, error)
    if warning := session.record(answer):
        draft.on_event("warning", warning)
    return answer


def link(draft: Draft) -> Reason | None:
    """Find patients, values, dates and numbers in the question."""
    question = draft.question
    draft.linked = draft.session.linker.link(
        question.text, patient_id=question.patient_id, study_id=question.study_id
    )
    return confidence.of_links(draft.linked)


def write(draft: Draft) -> Reason | None:
    """Let the model write a query for the linked question."""
    assert draft.linked is not None
    queries = draft.session.model.generate(
        draft.linked, on_token=lambda token: draft.on_event("token", token)
    )
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
    return None


def route(draft: Draft) -> Reason | None:
    """Say which data and whose the query reads; only tables have a reader so far."""
    assert draft.linked is not None
    forced = draft.session.scope
    if draft.bound is not None:
        draft.route = route_form(draft.bound, forced)
    else:
        patients = {x.value for x in draft.linked.links if "pat" in x.types}
        draft.route = route_sql(draft.neuralsql or "", len(patients), forced)
    return confidence.of_scope(draft.route.scope, draft.route.reason)


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
    draft.scores["unused_links"] = float(len(links) - len(used))
    draft.scores["link_doubt"] = 1.0 - min((links[n - 1].quality for n in used), default=1.0)
    return confidence.of_unused_links(links, used)


def weigh(draft: Draft) -> Reason | None:
    """Join the measured signals, words left unused among them."""
    assert draft.linked is not None
    if draft.form is not None:
        draft.left = confidence.words_left(draft.linked, print_form(draft.form))
        draft.scores["unknown_words"] = float(len(draft.left.unknown))
        draft.scores["elsewhere_words"] = float(len(draft.left.elsewhere))
    return confidence.of_scores(draft.scores, draft.thresholds, draft.left)


def execute(draft: Draft) -> Reason | None:
    """Run the query on the database, read-only and within limits."""
    assert draft.neuralsql is not None
    session = draft.session
    try:
        draft.result, draft.executed_sql = neuralsql.run(
            draft.neuralsql, session.database, as_of=draft.as_of, limits=session.limits
        )
    except (LimitExceeded, Cancelled):
        raise  # a fault of the moment: it says nothing against the query
    except DatabaseError as error:
        return confidence.execution_error(error.message)
    return confidence.of_result(draft.result)


def ground(draft: Draft) -> Reason | None:
    """Find the rows that the answer rests on."""
    if draft.bound is not None:
        draft.evidence = evidence.rows_for(draft.bound, draft.session.database, draft.as_of)
    return None


def tell(draft: Draft) -> Reason | None:
    """Say the answer as a sentence."""
    assert draft.result is not None
    draft.text = sentence(draft.result, draft.description, yes_no=_is_yes_no(draft.bound))
    return None


STEPS: tuple[Step, ...] = (
    link,
    write,
    understand,
    route,
    compile_form,
    compare,
    weigh,
    execute,
    ground,
    tell,
)


def _timed(step: Step, draft: Draft) -> Reason | None:
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


def _common(draft: Draft) -> dict[str, Any]:
    """The fields that an answer has whatever became of it."""
    found = draft.route
    return {
        "scope": found.scope if found else draft.session.scope or Scope.TABLE,
        "patient_scope": found.patient_scope if found else PatientScope.NONE,
        "logical_form": print_form(draft.bound) if draft.bound is not None else None,
        "description": draft.description,
        "neuralsql": draft.neuralsql,
        "executed_sql": draft.executed_sql,
        "provenance": _provenance(draft),
        "scores": dict(draft.scores),
        "timings": {**draft.timings, "total": sum(draft.timings.values())},
    }


def _answer(draft: Draft) -> Answer:
    if draft.reason is not None:
        return Answer(
            draft.question,
            Status.ABSTAINED,
            text=f"I don't know. {draft.reason.sentence}",
            reason_kind=draft.reason.kind,
            reason=draft.reason.sentence,
            **_common(draft),
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
        confidence=confidence.probability(draft.scores, draft.thresholds),
        evidence=draft.evidence,
        **_common(draft),
    )


def _failed(draft: Draft, error: EhrqaError) -> Answer:
    return Answer(
        draft.question,
        Status.FAILED,
        text=f"Failed: {error.message}.",
        error={"message": error.message, "hint": error.hint},
        **_common(draft),
    )


def _provenance(draft: Draft) -> dict[str, Any]:
    """Enough to repeat the answer. Parts that did not come into play are left out."""
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
        "models": {},
        "database": None,
        "versions": session.versions,
    }
    if "model" in opened:
        out["models"] = {"text2sql": dict(session.model.provenance())}
    if "database" in opened:
        # A damaged file is what a failed answer reports; its provenance must not fail again.
        with contextlib.suppress(EhrqaError):
            out["database"] = session.database.fingerprint()
    if "thresholds" in opened:
        out["thresholds"] = session.thresholds.as_dict()
    return out
