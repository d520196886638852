"""NeuralSQL to rows: guard, bind, plan, answer, execute."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ehrqa_cli.contracts.errors import LimitExceeded
from ehrqa_cli.contracts.images import (
    ImageAnswers,
    ImageReader,
    NotAnswered,
    no_image,
    undecided,
)
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result, Row
from ehrqa_cli.neuralsql import calls, plan
from ehrqa_cli.neuralsql.guard import VQA, check
from ehrqa_cli.neuralsql.rules import Context, bind
from ehrqa_cli.neuralsql.splice import Answered, Splicer

MAX_STUDIES = 1_000_000
# So many undecided answers are tried both ways in every combination; of more, a sample.
_TRIED_ALL = 4
_TRIED = 12


@dataclass(frozen=True)
class Step:
    """One call: its question and program, the SQL that found its studies, what was read."""

    question: str
    program: str
    sql: str
    studies: tuple[int, ...]
    answers: ImageAnswers


@dataclass(frozen=True)
class Execution:
    """Rows, the SQL that gave them, and how the images came in.

    ``missing`` studies have no image and were left out; ``undecided`` ones make no difference to
    the rows.
    """

    result: Result
    sql: str
    steps: tuple[Step, ...] = ()
    missing: tuple[int, ...] = ()
    undecided: tuple[int, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def read(self) -> int:
        """Images read for this query."""
        return sum(step.answers.read for step in self.steps)

    @property
    def cached(self) -> int:
        """How often a scene graph was there already."""
        return sum(step.answers.cached for step in self.steps)

    def explain(self) -> dict[str, Any]:
        """The plan as plain values: each step, images read, cache hits, batches."""
        return {
            "steps": [
                {
                    "question": step.question,
                    "program": step.program,
                    "studies": len(step.studies),
                    "studies_sql": step.sql or None,
                    "images_read": step.answers.read,
                    "cache_hits": step.answers.cached,
                    "batches": step.answers.batches,
                }
                for step in self.steps
            ],
            "images_read": self.read,
            "cache_hits": self.cached,
            "missing": list(self.missing),
            "undecided": list(self.undecided),
        }


def run(
    neuralsql: str,
    db: Database,
    *,
    as_of: str,
    limits: Limits | None = None,
    graphs: ImageReader | None = None,
) -> tuple[Result, str]:
    """The rows of ``neuralsql`` and the SQL that was executed.

    ``as_of`` (YYYY-MM-DD HH:MM:SS) stands for now; ``graphs`` answers the calls of FUNC_VQA.
    Raises Refused, LimitExceeded, Cancelled, DatabaseError, or NotAnswered for an abstention.
    """
    done = execute(neuralsql, db, as_of=as_of, limits=limits, graphs=graphs)
    return done.result, done.sql


def execute(
    neuralsql: str,
    db: Database,
    *,
    as_of: str,
    limits: Limits | None = None,
    graphs: ImageReader | None = None,
) -> Execution:
    """As ``run``, with the plan and what became of it."""
    check(neuralsql, images=graphs is not None)
    sql = bind(neuralsql, Context(as_of=as_of))
    if graphs is None or VQA not in sql.lower():
        return Execution(db.execute(sql, limits), db.spelled(sql))
    return _Run(sql, db, limits or Limits(), graphs).execution()


class _Run:
    """One query that asks about images."""

    def __init__(self, sql: str, db: Database, limits: Limits, graphs: ImageReader) -> None:
        self.parsed = calls.parse(sql)
        self.db = db
        self.limits = limits
        self.graphs = graphs
        self.left = limits.seconds  # of the database's time; reading images is not counted
        self.answers: dict[int, ImageAnswers] = {}
        self.steps: dict[int, Step] = {}
        self.read_seconds = 0.0

    def execution(self) -> Execution:
        """Plan, answer, execute. Raises NotAnswered."""
        for call in self.parsed.calls:
            reason = self.graphs.ask(call.question).reason
            if reason:
                raise NotAnswered(reason)
        for call in plan.order(self.parsed):
            self._answer(call)
        missing = sorted({s for a in self.answers.values() for s in a.missing})
        unsure = sorted({s for a in self.answers.values() for s in a.unknown})
        result, sql = self._rows(unsure)
        steps = tuple(self.steps[call.k] for call in self.parsed.calls)
        seconds = {"images": self.read_seconds, "database": self.limits.seconds - self.left}
        return Execution(result, sql, steps, tuple(missing), tuple(unsure), seconds)

    def _answer(self, call: calls.Call) -> None:
        known = {k: _answered(found, found.unknown) for k, found in self.answers.items()}
        unsure = {k for k, found in self.answers.items() if found.unknown or found.missing}
        needed = plan.needed(self.parsed, call, known, unsure, self._all_rows)
        started = time.monotonic()
        found = self.graphs.answer(call.question, needed.studies)
        self.read_seconds += time.monotonic() - started
        if found.missing and len(found.missing) == len(set(needed.studies)):
            raise NotAnswered(no_image(found.missing))
        if found.unknown and not found.asked.verify:
            raise NotAnswered(undecided(found.unknown))
        self.answers[call.k] = found
        self.steps[call.k] = Step(
            call.question, found.asked.program, needed.sql, needed.studies, found
        )

    def _rows(self, unsure: Sequence[int]) -> tuple[Result, str]:
        """The rows; if answers are undecided, only when they are the same either way."""
        first: tuple[Result, str] | None = None
        for yes in self._assignments():
            known = {k: _answered(found, yes.get(k, ())) for k, found in self.answers.items()}
            sql = Splicer(self.parsed, known).whole()
            result = self._execute(sql, self.limits.rows)
            if first is None:
                first = result, self.db.spelled(sql)
            elif first[0].rows != result.rows:
                raise NotAnswered(undecided(unsure))
        assert first is not None
        return first

    def _assignments(self) -> Iterator[Mapping[int, Sequence[int]]]:
        """Ways to answer what is undecided: of each call the studies that count as yes."""
        open_ = [(k, s) for k, found in self.answers.items() for s in found.unknown]
        if len(open_) <= _TRIED_ALL:
            for chosen in itertools.product((False, True), repeat=len(open_)):
                yield _by_call([pair for pair, yes in zip(open_, chosen, strict=True) if yes])
            return
        yield {}
        yield _by_call(open_)
        for k in self.answers:
            yield _by_call([pair for pair in open_ if pair[0] == k])
            yield _by_call([pair for pair in open_ if pair[0] != k])
        rng = random.Random(len(open_))
        for _ in range(_TRIED):
            yield _by_call([pair for pair in open_ if rng.random() < 0.5])

    def _all_rows(self, sql: str) -> tuple[Row, ...]:
        found = self._execute(sql, MAX_STUDIES)
        if found.truncated:
            raise LimitExceeded(
                f"the query asks about more than {MAX_STUDIES:,} images", "ask about fewer"
            )
        return found.rows

    def _execute(self, sql: str, rows: int) -> Result:
        # The values that we put in ourselves do not count against the length of a statement.
        length = max(self.limits.length, len(sql) + 1)
        limits = replace(self.limits, seconds=max(self.left, 0.01), rows=rows, length=length)
        started = time.monotonic()
        try:
            return self.db.execute(sql, limits)
        finally:
            self.left -= time.monotonic() - started


def _answered(found: ImageAnswers, yes: Sequence[int]) -> Answered:
    return Answered(found.asked.verify, [*found.yes, *yes], found.values, found.missing)


def _by_call(pairs: Sequence[tuple[int, int]]) -> Mapping[int, Sequence[int]]:
    out: dict[int, list[int]] = {}
    for k, study in pairs:
        out.setdefault(k, []).append(study)
    return out


def image_evidence(done: Execution, graphs: ImageReader, most: int = 20) -> list[dict[str, Any]]:
    """The relations that the answers rest on, as {kind: image, study_id, finding, location,
    probability}: of studies with a yes or names first."""
    ranked: dict[tuple[int, str], None] = {}
    for step in done.steps:
        hits = [*step.answers.yes, *step.answers.values][:most]
        ranked.update(dict.fromkeys((study, step.question) for study in hits))
    for step in done.steps:
        others = [s for s in step.studies[:most] if s not in step.answers.missing]
        ranked.update(dict.fromkeys((study, step.question) for study in others))
    found: dict[tuple[int, str, str], dict[str, Any]] = {}
    for study, question in itertools.islice(ranked, most):
        for used in graphs.detail(question, study).relations:
            key = (study, used.attribute, used.object)
            found.setdefault(
                key,
                {
                    "kind": "image",
                    "study_id": study,
                    "finding": used.attribute,
                    "location": used.object or None,
                    "probability": used.probability,
                },
            )
    return list(found.values())[:most]
