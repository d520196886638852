"""The path of a question that a query answers, from its words to rows: one small function a step.

A step reads and fills the Draft. It returns a Reason to withhold the answer (the checks are all in
engine.confidence) or None to go on. A fault raises EhrqaError and makes the answer ``failed``.
"""

from __future__ import annotations

import re

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, FormError, LimitExceeded
from ehrqa_cli.contracts.images import NotAnswered
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.ehr.mapping.fit import column_words, table_words
from ehrqa_cli.engine import confidence, evidence, namesakes, reasons
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.draft import Draft
from ehrqa_cli.engine.lexicon import added
from ehrqa_cli.engine.measures import left_out
from ehrqa_cli.engine.parts import Mode
from ehrqa_cli.engine.route import route_form, route_sql
from ehrqa_cli.engine.suggest import suggestions_for
from ehrqa_cli.engine.text import sentence
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

_LITERAL = re.compile(r"'(?:[^']|'')*'")
_COLUMN = re.compile(r"\b([a-z_]+)\.([a-z_]+)\b")


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
        if reason := confidence.of_added(added(draft.linked.question, form)):
            return reason
    if draft.session.mode is Mode.CAREFUL:
        return None
    reason = confidence.of_scores(draft.scores, draft.thresholds, draft.left)
    return namesakes.instead(draft, reason) if reason else None


def execute(draft: Draft) -> Reason | None:
    """Run the query on the database, read-only and within limits."""
    assert draft.neuralsql is not None
    session = draft.session
    try:
        lacking = session.database.lacking(draft.neuralsql) or _columns_lacking(draft)
        if reason := confidence.not_recorded(lacking):
            return reason
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
        if draft.bound is not None:
            raise  # a query that we compiled: the fault is ours or the database's
        return confidence.execution_error(error.message)
    draft.result, draft.executed_sql = draft.done.result, draft.done.sql
    draft.scores.update(confidence.result_scores(draft.result))
    return None


def _columns_lacking(draft: Draft) -> str:
    """What the compiled query reads that this database has no column for, in words."""
    if draft.bound is None or draft.neuralsql is None:
        return ""
    known = {
        t.lower(): {c.lower() for c in cs} for t, cs in draft.session.database.schema().items()
    }
    read = _COLUMN.findall(_LITERAL.sub("''", draft.neuralsql))
    words = [
        f"{column_words(column)} of {table_words(table)}"
        for table, column in read
        if table in known and column not in known[table]
    ]
    return ", ".join(dict.fromkeys(words))


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
    draft.text += f" {draft.said}" if draft.said else ""
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


def _is_yes_no(form: Form | None) -> bool:
    if isinstance(form, Select):
        return form.head in ("exists", "none")
    return isinstance(form, Combine) and form.op in ("less", "greater", "equal", "and", "or")
