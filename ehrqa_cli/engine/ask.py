"""One function is the whole path of a question, from text to answer: `ask`.

Here it is decided which way a question goes, and what follows where that way declines; the steps of
each way stand in `ways`.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError, UsageError
from ehrqa_cli.contracts.types import Answer, LinkedQuestion, Question, Scope
from ehrqa_cli.engine import answers, note_path, reasons
from ehrqa_cli.engine.asked_back import NOTHING, Offer, readings_of, several_of
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.mixed import Mixed, split
from ehrqa_cli.engine.note_path import SILENT, TABLES_ALONE, Readers, notes_alone, readers
from ehrqa_cli.engine.one_study import OneStudy, one_study
from ehrqa_cli.engine.query_path import link, linked_of
from ehrqa_cli.engine.question_run import Given, OnEvent, Run, Withheld
from ehrqa_cli.engine.reasons import Told
from ehrqa_cli.engine.risk import probability
from ehrqa_cli.engine.session_parts import SessionParts
from ehrqa_cli.engine.suggest import suggestions_for
from ehrqa_cli.engine.teaching import recall, unverified
from ehrqa_cli.engine.text import clean_question
from ehrqa_cli.engine.times import check_time
from ehrqa_cli.engine.ways import (
    by_both,
    by_film,
    by_notes,
    by_reading,
    by_study,
    by_tables,
    by_taught,
)

# A path pauses where many questions gain by it: with a linked question, to be sent what was written
# for it (None: the model is asked now), and with None before what may take a minute.
Path = Generator[LinkedQuestion | None, Given, Answer]


def ask(question: Question, session: SessionParts, on_event: OnEvent | None = None) -> Answer:
    """Answer ``question``, decline with a reason, or report a fault: never raises for those.

    Raises UsageError for an empty or over-long question or a wrong ``as_of``, and Cancelled when
    the user ends it.
    """
    try:
        return Asking(question, session, on_event).finish()
    finally:
        session.resume()


class Asking:
    """A question that is being answered, in as many goes as its path has pauses.

    ``waiting`` is the linked question that is to be written for next, if there is one; whoever has
    written for it beside others leaves that in ``written``.
    """

    def __init__(
        self, question: Question, session: SessionParts, on_event: OnEvent | None = None
    ) -> None:
        """Raises UsageError for a question that cannot be asked."""
        question = replace(question, text=clean_question(question.text))
        self.run = Run(question, session)
        if on_event is not None:
            self.run.on_event = on_event
        if question.as_of is not None:
            self.run.known = replace(self.run.known, as_of=check_time(question.as_of))
        self.waiting: LinkedQuestion | None = None
        self.written: Given = None
        self._path = _path(self.run)
        self._answer: Answer | None = None

    def go(self) -> None:
        """Go on to the next pause. Raises UsageError and Cancelled."""
        given, self.written = self.written, None
        try:
            self.waiting = self._path.send(given)
        except StopIteration as ended:
            self.waiting, self._answer = None, ended.value

    def finish(self) -> Answer:
        """Go to the end; the answer, written to the log. Raises UsageError and Cancelled."""
        while self._answer is None:
            self.go()
        return self.run.keep(self._answer)


def _path(run: Run) -> Path:
    """From a question to its answer, an abstention or a fault. Raises UsageError and Cancelled."""
    try:
        try:
            return (yield from _answered(run))
        except Withheld as held:
            stopped = held
        yield None
        if run.session.tentative:
            try:
                if (found := unverified(run, stopped.reason)) is not None:
                    return found
            except Withheld as held:
                stopped = held
        told, offer = run.take(console, stopped.reason)
        return answers.withheld(run, stopped, told, offer)
    except (UsageError, Cancelled):
        raise
    except EhrqaError as error:
        return answers.failed(run, error)


def _answered(run: Run) -> Path:
    known = run.take(recall) if run.session.taught else None
    if known is not None:
        yield None
        return by_taught(run, known.form, {"when": known.when})
    way = run.take(choose)
    if isinstance(way, Readers) and way.first.scope is not Scope.NOTE:
        return (yield from _tables_first(run, way))
    yield None
    if isinstance(way, Readers):
        return _notes_first(run, way)
    if isinstance(way, OneStudy):
        return by_study(run, way)
    if isinstance(way, Mixed):
        return by_both(run, way)
    return by_film(run)


def _tables_first(run: Run, way: Readers) -> Path:
    """The tables and images; where they decline, the notes if those may know."""
    try:
        linked = run.take(link)
        return by_tables(run, linked, (yield linked), way.patient)
    except Withheld as held:
        if not way.first.other or way.again is None or held.reason.kind == "sources_differ":
            raise
        sure = probability(run.scores, run.session.thresholds)
        again = way.again(
            table_reason=held.reason.kind, table_risk=None if sure is None else 1.0 - sure
        )
        if again.scope is not Scope.NOTE:
            raise
    note_path.to_notes(run, way.patient, again)
    yield None
    return by_notes(run, way.patient)


def _notes_first(run: Run, way: Readers) -> Answer:
    """The notes; where they are silent, the tables if those may know. Where both decline, the
    notes say why."""
    try:
        return by_notes(run, way.patient)
    except Withheld as held:
        if not way.first.other or held.reason.kind not in SILENT:
            raise
        silent = held
    notes, run.known = run.known, replace(run.known, notes_read=False)
    try:
        return by_tables(run, run.take(link), None, way.patient)
    except Withheld:
        run.known = replace(run.known, route=notes.route, notes_read=True)
        raise silent from None


def choose(run: Run) -> OneStudy | Mixed | Readers | None:
    """Choose the way: an image file (None), one study, note against table, or readers in turn."""
    session, question = run.session, run.question
    if question.images:
        return None
    if session.only_notes:
        return notes_alone(run)
    run.known = replace(run.known, as_of=run.known.as_of or session.as_of)
    if session.scope in (None, Scope.IMAGE):
        one = one_study(question, session.graphs)
        if one is not None:
            return one
    either = session.scope is None and session.notes is not None
    if not either and session.scope is not Scope.NOTE:
        return TABLES_ALONE
    linked = linked_of(run)
    patient = note_path.patient_of(run, linked)
    if either and patient is not None and patient.in_notes:
        mixed = split(question.text, linked)
        if mixed is not None:
            return mixed
    return readers(run, linked, patient)


def console(run: Run, reason: Reason) -> tuple[Told, Offer]:
    """For a withheld answer: say why in a person's words, and what could be answered instead."""
    linked = run.known.linked
    told = reasons.explain(reason, linked, run.session.judge)
    if linked is None or not told.offer:
        return told, NOTHING
    if reason.kind == "ambiguous_name" and linked.ambiguous:
        return told, readings_of(run, linked, by_reading)
    if reason.kind == "low_confidence" and told.kind == "not_sure":
        if several := several_of(run, linked, by_reading):
            return reasons.SEVERAL, Offer(readings=several)
        told = reasons.lacking(told, run.known.reading, linked, run.session.judge)
    return told, Offer(suggestions_for(run, linked))
