"""The path of a question that a query answers, from its words to rows: one small function a step.

A step takes what the steps before it made and gives what the next ones need. It raises Withheld for
a reason against an answer (the checks are all in engine.confidence); a fault raises EhrqaError.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import (
    Cancelled,
    DatabaseError,
    EhrqaError,
    FormError,
    LimitExceeded,
)
from ehrqa_cli.contracts.images import NotAnswered
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Link, LinkedQuestion, Query, Result
from ehrqa_cli.ehr.mapping.fit import column_words, table_words
from ehrqa_cli.engine import confidence, encounters, evidence, meant, namesakes
from ehrqa_cli.engine.parts import Mode
from ehrqa_cli.engine.question_run import Evidence, Given, Reading, Run, Withheld, Written
from ehrqa_cli.engine.restrict import restricted
from ehrqa_cli.engine.route import route_form, route_sql
from ehrqa_cli.engine.text import sentence
from ehrqa_cli.logical_form import (
    Combine,
    Compare,
    Form,
    Select,
    bind,
    compile_sql,
    describe,
    flaw,
    normalise,
    parse,
    print_form,
    used_links,
)
from ehrqa_cli.neuralsql import Execution

_LITERAL = re.compile(r"'(?:[^']|'')*'")
_COLUMN = re.compile(r"\b([a-z_]+)\.([a-z_]+)\b")


def link(run: Run) -> LinkedQuestion:
    """Find patients, values, dates and numbers in the question."""
    linked = linked_of(run)
    run.check(confidence.of_links(linked))
    return linked


def linked_of(run: Run) -> LinkedQuestion:
    """The question with its links, found once."""
    if run.known.linked is not None:
        return run.known.linked
    linked = _linked(run, run.question.text)
    if run.session.encounters:
        names = encounters.named(linked)
        run.known = replace(run.known, encounters=names)
        plain = encounters.plain(linked.question, names)
        linked = linked if plain == linked.question else _linked(run, plain)
    run.known = replace(run.known, linked=linked)
    return linked


def _linked(run: Run, text: str) -> LinkedQuestion:
    question = run.question
    return run.session.linker.link(text, patient_id=question.patient_id, study_id=question.study_id)


def write(run: Run, linked: LinkedQuestion, given: Given = None) -> list[Query]:
    """Let the model write queries for the linked question, unless they are ``given``; the scores
    of the first, which is its best, are noted."""
    if isinstance(given, EhrqaError):
        raise given
    if given is None:
        given = run.session.model.generate(
            linked, on_token=lambda token: run.on_event("token", token)
        )
    if given:
        run.known = replace(run.known, query=given[0])
        run.scores.update(given[0].scores)
    if reason := confidence.of_queries(given):
        raise Withheld(reason)
    return given


def understand(run: Run, linked: LinkedQuestion, query: Query) -> Written:
    """Read the form, put the linked values in and describe it."""
    if not query.logical_form:
        run.known = replace(run.known, neuralsql=query.neuralsql)
        return Written(linked, None, query.neuralsql)
    try:
        written = parse(query.logical_form)
        return read(run, linked, normalise(written), written)
    except FormError as error:
        raise Withheld(confidence.no_form(error.message)) from None


def read(run: Run, linked: LinkedQuestion, form: Form, written: Form | None = None) -> Written:
    """``form`` as what is asked, its references bound; it was ``written`` so. Raises FormError."""
    written = written or form
    if here := run.session.encounters:
        asked = run.known.encounters
        run.check(confidence.not_recorded(encounters.absent(asked, here)))
        form = encounters.with_kinds(form, asked)
    if not run.session.layout.ehrsql:
        form = restricted(form, linked)
    bound = meant.fitted(bind(form, linked.links))
    reading = Reading(form, bound, describe(bound), written)
    run.known = replace(run.known, reading=reading)
    run.check(confidence.of_sense(flaw(bound)))
    if not run.session.layout.ehrsql:
        run.check(confidence.of_units(meant.unlike(bound)))
    if (concept := meant.several(bound)) is not None:
        names = list(dict.fromkeys(item.name for item in concept.items))
        run.check(confidence.of_namesakes(concept.name, names, "measurements"))
    return Written(linked, reading)


def route(run: Run, written: Written) -> None:
    """Say which data and whose the query reads, and whether there is a reader for them."""
    forced = run.session.scope
    if written.reading is not None:
        found = route_form(written.reading.bound, forced)
    else:
        patients = {x.value for x in written.linked.links if "pat" in x.types}
        found = route_sql(written.sql or "", len(patients), forced)
    run.known = replace(run.known, route=found)
    images = run.session.graphs is not None
    run.check(confidence.of_scope(found.scope, found.reason, images))


def compile_form(run: Run, written: Written) -> str:
    """The logical form as NeuralSQL; that which was written where there is no form."""
    if written.reading is None:
        return written.sql or ""
    try:
        sql = compile_sql(written.reading.bound, run.session.layout)
    except FormError as error:
        raise Withheld(confidence.no_form(error.message)) from None
    run.known = replace(run.known, neuralsql=sql)
    return sql


def compare(run: Run, written: Written) -> None:
    """Does the query use every value of the question?"""
    links = written.linked.links
    if written.reading is None:
        run.check(confidence.of_unused_literals(links, written.sql or ""))
        return
    used = used_links(written.reading.form)
    used |= confidence.said_otherwise(written.linked, used, print_form(written.reading.form))
    used |= _of_films(run, links, used)
    run.scores.update(confidence.link_scores(links, used))
    run.check(confidence.of_unused_links(links, used))


def _of_films(run: Run, links: Sequence[Link], used: set[int]) -> set[int]:
    """The patients whose film the query asks about by its number: that says who they are."""
    films = [str(int(str(links[n - 1].value))) for n in used if "study" in links[n - 1].types]
    found = set[int]()
    for number, link in enumerate(links, 1):
        if number in used or "pat" not in link.types or not films:
            continue
        whose = f"subject_id = {int(str(link.value))} AND study_id IN ( {', '.join(films)} )"
        if run.session.database.execute(f"SELECT 1 FROM tb_cxr WHERE {whose}").rows:
            found.add(number)
        else:
            told = f"Study {films[0]} is not one of patient {link.value}. Check the numbers."
            run.check(confidence.Reason("unused_value", told, certain=True))
    return found


def contradiction(run: Run, written: Written) -> None:
    """Does the question contradict the record? What the reading leaves out of it is no matter: a
    person has seen the reading, or is to see it."""
    try:
        compare(run, written)
    except Withheld as held:
        if not held.reason.doubt:
            raise


def weigh(run: Run, written: Written) -> None:
    """Join the measured signals. No later signal lowers the risk, but for a third opinion: then
    all are joined after it."""
    if run.session.mode is Mode.CAREFUL:
        return
    reason = confidence.of_scores(run.scores, run.session.thresholds)
    if reason and run.session.layout.ehrsql:
        reason = namesakes.instead(written, reason, run.session.linker)
    run.check(reason)


def execute(run: Run, sql: str, bound: Form | None) -> Execution:
    """Run the query on the database, read-only and within limits; ``bound`` is the form that it
    says, if there is one."""
    session = run.session
    try:
        lacking = session.database.lacking(sql)
        if not lacking and bound is not None:
            lacking = _columns_lacking(sql, session.database)
        if reason := confidence.not_recorded(lacking):
            raise Withheld(reason)
        done = neuralsql.execute(
            sql,
            session.database,
            as_of=run.known.as_of,
            limits=run.limits or session.limits,
            graphs=session.graphs,
        )
    except (LimitExceeded, Cancelled):
        raise  # a fault of the moment: it says nothing against the query
    except NotAnswered as declined:
        raise Withheld(confidence.of_images(declined.reason)) from None
    except DatabaseError as error:
        if bound is not None:
            raise  # a query that we compiled: the fault is ours or the database's
        raise Withheld(confidence.execution_error(error.message)) from None
    run.known = replace(run.known, done=done)
    run.scores.update(confidence.result_scores(done.result))
    return done


def _columns_lacking(sql: str, database: Database) -> str:
    """What the compiled query reads that this database has no column for, in words."""
    known = {t.lower(): {c.lower() for c in cs} for t, cs in database.schema().items()}
    words = [
        f"{column_words(column)} of {table_words(table)}"
        for table, column in _COLUMN.findall(_LITERAL.sub("''", sql))
        if table in known and column not in known[table]
    ]
    return ", ".join(dict.fromkeys(words))


def compare_answers(run: Run, linked: LinkedQuestion, result: Result) -> None:
    """With --careful: does a larger model, which writes SQL by example, get the same answer?"""
    session = run.session
    if session.mode is not Mode.CAREFUL:
        return
    asked = run.known.query.logical_form if run.known.query else None
    near = session.known.nearest(asked, linked, session.third.examples) if asked else ()
    other = session.third.answer(
        linked, near, session.database, as_of=run.known.as_of, limits=session.limits
    )
    run.known = replace(run.known, third_sql=other.sql)
    same = other.rows is not None and confidence.same_rows(other.rows, result.rows)
    run.scores["third_agrees"], run.scores["third_differs"] = float(same), float(not same)


def decide(run: Run, result: Result) -> None:
    """All signals together, those of the result too; then whether there is anything to tell."""
    thresholds = run.session.thresholds
    risky = confidence.of_scores(run.scores, thresholds)
    if risky is not None and risky.kind not in thresholds.ignore:
        raise Withheld(risky)
    run.check(confidence.of_result(result))


def empty(run: Run, result: Result) -> None:
    """Is there anything to tell?"""
    run.check(confidence.of_result(result))


def ground(run: Run, done: Execution, bound: Form | None) -> Evidence:
    """Find the findings and rows that the answer rests on."""
    session = run.session
    found: Evidence = ()
    if session.graphs is not None and done.steps:
        found = tuple(neuralsql.image_evidence(done, session.graphs))
    if bound is not None:
        found += evidence.rows_for(bound, session, run.known.as_of)
    return found


def tell(run: Run, done: Execution, reading: Reading | None, said: str) -> str:
    """The answer as a sentence; ``said`` is what was counted and what was not."""
    del run
    description, bound = (reading.description, reading.bound) if reading else (None, None)
    text = sentence(done.result, description, yes_no=_is_yes_no(bound))
    text += f" {said}" if said else ""
    if done.missing:
        n, shown = len(done.missing), ", ".join(map(str, done.missing[:5]))
        text += f" Without {n} studies that have no image here ({shown})."
    return text


def _is_yes_no(form: Form | None) -> bool:
    if isinstance(form, Select):
        return form.head in ("exists", "none")
    if isinstance(form, Combine):
        return form.op in ("less", "greater", "equal", "and", "or")
    return isinstance(form, Compare)
