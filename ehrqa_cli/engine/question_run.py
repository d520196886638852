"""A question under way: its steps are taken, timed and told here, and what is known is kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.contracts.types import Answer, Limits, LinkedQuestion, Query, Question
from ehrqa_cli.engine.confidence import Reason
from ehrqa_cli.engine.encounters import Named
from ehrqa_cli.engine.route import Route
from ehrqa_cli.engine.session_parts import SessionParts
from ehrqa_cli.logical_form import Form
from ehrqa_cli.neuralsql import Execution

# Called with the name of a step when it begins, then with (name + ".done", seconds); tokens of
# the model come as ("token", text), a problem that does not change the answer as ("warning", text).
OnEvent = Callable[[str, Any], None]
Evidence = tuple[dict[str, Any], ...]
# What was written for a question beside others: queries, or a fault of its own; None for nothing.
Given = list[Query] | EhrqaError | None

P = ParamSpec("P")
T = TypeVar("T")


class Withheld(Exception):
    """The answer is withheld for ``reason``; ``evidence`` is where a person should look."""

    def __init__(self, reason: Reason, evidence: Evidence = ()) -> None:
        super().__init__(reason.sentence)
        self.reason = reason
        self.evidence = evidence


@dataclass(frozen=True)
class Rival:
    """Another reading, and how many nats it is ``behind`` the one that was taken."""

    query: Query
    behind: float


@dataclass(frozen=True)
class Reading:
    """A question as a logical form: with references to its links, with their values, in words, and
    as it was ``written`` before what its words restrict was added."""

    form: Form
    bound: Form
    description: str
    written: Form


@dataclass(frozen=True)
class Written:
    """A linked question and what was written for it: a logical form as ``reading``, or without
    one ``sql``."""

    linked: LinkedQuestion
    reading: Reading | None
    sql: str | None = None

    @property
    def bound(self) -> Form | None:
        """The form with its values, if there is a form."""
        return self.reading.bound if self.reading is not None else None


@dataclass(frozen=True)
class Known:
    """What the answer tells of the way to it, wherever that ended: None is what was not reached.

    ``rivals`` are the readings that are nearly as good, the nearest first. ``encounters`` are the
    kinds of encounter that the question names, where the database has several; ``linked`` is the
    question without those names then. ``notes_read``: what the notes say is part of the answer, or
    of why there is none. ``taught`` is when a person said that the reading is meant, {when}.
    """

    as_of: str = ""
    linked: LinkedQuestion | None = None
    encounters: tuple[Named, ...] = ()
    route: Route | None = None
    query: Query | None = None
    rivals: tuple[Rival, ...] = ()
    reading: Reading | None = None
    neuralsql: str | None = None
    done: Execution | None = None
    third_sql: str | None = None
    notes_read: bool = False
    taught: dict[str, str] | None = None


@dataclass
class Run:
    """One question, the session that answers it, and what was measured on the way.

    ``limits`` are of this question where they are not the session's. ``timings`` are in seconds
    by step; ``scores`` are the signals that confidence is made of.
    """

    question: Question
    session: SessionParts
    on_event: OnEvent = lambda _name, _what: None
    limits: Limits | None = None
    known: Known = field(default_factory=Known)
    scores: dict[str, float] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)

    def take(self, step: Callable[Concatenate[Run, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What ``step`` makes of its arguments. Raises what it raises, Cancelled and `Withheld`
        among it."""
        if self.session.cancelled.is_set():
            raise Cancelled("cancelled", "")
        name = step.__name__
        self.on_event(name, None)
        started = time.perf_counter()
        try:
            return step(self, *args, **kwargs)
        finally:
            seconds = time.perf_counter() - started
            self.timings[name] = seconds
            self.on_event(f"{name}.done", seconds)

    def keep(self, answer: Answer) -> Answer:
        """The answer, written to the log if that is on, with the session's warnings told."""
        session = self.session
        if warning := session.record(answer):
            session.warnings.append(warning)
        while session.warnings:
            self.on_event("warning", session.warnings.pop(0))
        return answer

    def check(self, reason: Reason | None, evidence: Evidence = ()) -> None:
        """Withhold the answer for ``reason``, unless the thresholds say to note it and go on."""
        if reason is None:
            return
        if reason.kind not in self.session.thresholds.ignore:
            raise Withheld(reason, evidence)
        self.scores[f"ignored_{reason.kind}"] = 1.0
