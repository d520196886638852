"""A query about images whose answers are read first and put into it as values."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

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
from ehrqa_cli.neuralsql.done import Execution, Step
from ehrqa_cli.neuralsql.splice import Answered, Splicer

MAX_STUDIES = 1_000_000
# So many undecided answers are tried both ways in every combination; of more, a sample.
_TRIED_ALL = 4
_TRIED = 12


class Spliced:
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
            self.answer(call)
        missing = sorted({s for a in self.answers.values() for s in a.missing})
        unsure = sorted({s for a in self.answers.values() for s in a.unknown})
        result, sql = self._rows(unsure)
        steps = tuple(self.steps[call.k] for call in self.parsed.calls)
        seconds = {"images": self.read_seconds, "database": self.limits.seconds - self.left}
        return Execution(result, sql, steps, tuple(missing), tuple(unsure), seconds)

    def answer(self, call: calls.Call) -> None:
        """Answer one call for all studies it needs. Raises NotAnswered."""
        needed = plan.needed(self.parsed, call, self.known(), self.unsure(), self._all_rows)
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

    def known(self) -> Mapping[int, Answered]:
        """The answers so far, what is undecided counted as a yes."""
        return {k: _answered(found, found.unknown) for k, found in self.answers.items()}

    def unsure(self) -> set[int]:
        """The calls that some study has no answer to."""
        return {k for k, found in self.answers.items() if found.unknown or found.missing}

    def alternatives(self) -> Iterator[Mapping[int, Answered]]:
        """The answers, in as many ways as there are to decide what is undecided."""
        for yes in self.assignments():
            yield {k: _answered(found, yes.get(k, ())) for k, found in self.answers.items()}

    def _rows(self, unsure: Sequence[int]) -> tuple[Result, str]:
        """The rows; if answers are undecided, only when they are the same either way."""
        first: tuple[Result, str] | None = None
        for known in self.alternatives():
            sql = Splicer(self.parsed, known).whole()
            result = self.run(sql, self.limits.rows)
            if first is None:
                first = result, self.db.spelled(sql)
            elif first[0].rows != result.rows:
                raise NotAnswered(undecided(unsure))
        assert first is not None
        return first

    def assignments(self) -> Iterator[Mapping[int, Sequence[int]]]:
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
        found = self.run(sql, MAX_STUDIES)
        if found.truncated:
            raise LimitExceeded(
                f"the query asks about more than {MAX_STUDIES:,} images", "ask about fewer"
            )
        return found.rows

    def run(self, sql: str, rows: int) -> Result:
        """Run SQL without calls, within what is left of the time."""
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
