"""Teaching: the reading of a withheld answer is run unchecked; who finds it right can keep it, and
the same wording is answered by it from then on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from ehrqa_cli.contracts.errors import FormError, UsageError
from ehrqa_cli.contracts.types import Answer, Query, Scope, Status
from ehrqa_cli.engine import answers, query_path, reasons, taught
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.question_run import OnEvent, Run, Withheld
from ehrqa_cli.engine.reasons import Told
from ehrqa_cli.engine.session_parts import SessionParts
from ehrqa_cli.engine.taught import Entry, Wording
from ehrqa_cli.engine.ways import unchecked
from ehrqa_cli.logical_form import normalise, parse, print_form


def unverified(run: Run, reason: Reason) -> Answer | None:
    """What the reading that is withheld for ``reason`` gives; None where it must not be run.
    Raises Withheld for a harder reason, and EhrqaError for a fault."""
    told = reasons.explain(reason, run.known.linked, run.session.judge)
    if run.known.reading is None or not reasons.may_run(reason, told):
        return None
    return unchecked(run, reason, told)


def run_reading(held: Answer, session: SessionParts, on_event: OnEvent | None = None) -> Answer:
    """Run the reading of a withheld answer: a tentative answer, or why it stays withheld.

    Raises UsageError where there is no reading that may be
    run, Cancelled, and EhrqaError for a fault.
    """
    if held.status is not Status.ABSTAINED or not (held.reading or {}).get("runs"):
        raise UsageError(
            "there is no withheld answer with a reading that can be run",
            "ask a question; where its answer is withheld, its reading can be run",
        )
    run = Run(held.question, session, scores=dict(held.scores))
    if on_event is not None:
        run.on_event = on_event
    told = Told(held.reason_public or "not_sure", held.reason or "")
    try:
        written = Query(None, held.provenance["logical_form"])
        as_of = held.provenance.get("as_of") or session.as_of
        run.known = replace(run.known, as_of=as_of, query=written)
        run.take(query_path.understand, run.take(query_path.link), written)
        reason = Reason(held.reason_kind or "low_confidence", told.sentence)
        return run.keep(unchecked(run, reason, told))
    except Withheld as why:
        told = reasons.explain(why.reason, run.known.linked, session.judge)
        return run.keep(answers.withheld(run, why, told))
    finally:
        session.resume()


def wording_of(run: Run) -> Wording:
    """How a question is worded, with placeholders."""
    linked = query_path.linked_of(run)
    return Wording(
        linked.text,
        tuple(link.types for link in linked.links),
        tuple(link.types for link in linked.restrictions),
        tuple(named.kinds for named in run.known.encounters),
    )


def recall(run: Run) -> Entry | None:
    """The entry that was taught for this wording. Raises TaughtError for a damaged file."""
    session = run.session
    known = session.taught
    if not known or run.question.images or session.only_notes or session.scope is Scope.NOTE:
        return None
    entry = known.of(wording_of(run))
    if entry is None:
        return None
    try:
        parse(entry.form)
    except FormError:
        run.on_event(
            "warning",
            f"what was taught for “{entry.wording.question}” cannot be read any more and is not "
            "used: teach it again, or see `ehrqa teach list`",
        )
        return None
    return entry


def teach(answer: Answer, session: SessionParts) -> Entry:
    """Keep the reading of a tentative answer for its wording; the session uses it from now on.

    Raises UsageError for another answer and for a wording that may hold a patient's number,
    TaughtError where it cannot be written.
    """
    from ehrqa_cli import config

    if answer.status is not Status.TENTATIVE:
        what = "only a tentative answer can be taught"
        raise UsageError(what, "run the reading of a withheld answer first")
    wording = wording_of(Run(answer.question, session))
    if taught.private(wording):
        raise UsageError(
            "the question has a number that is not known here, which would be kept",
            "ask without it, then teach that",
        )
    form = print_form(normalise(parse(answer.provenance["logical_form"])))
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    entry = Entry(wording, form, now)
    taught.add(taught.taught_path(config.load()), entry)
    SessionParts.taught.close(session)
    return entry
