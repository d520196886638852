"""Several readings of one question: which is meant, and is another one as good?

The model proposes them (its beam), the judge ranks them beside the model's own likelihood. A
reading that is nearly as good counts against the answer where it gives other rows; where it gives
the same ones, it does not matter which is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError, FormError
from ehrqa_cli.contracts.types import Limits, LinkedQuestion, Query, Row
from ehrqa_cli.engine import confidence, query_path
from ehrqa_cli.engine.question_run import Rival, Run, Withheld
from ehrqa_cli.logical_form import describe, normalise, parse, print_form
from ehrqa_cli.neuralsql import Execution

JUDGED = 0.5  # what the judge's log-odds count for beside the log-likelihood (chosen on tune)
FAR = 6.0  # nats behind the best from which a reading is no rival, and not read by the judge
# Of a rival's query: one too slow for these says nothing.
LIMITS = Limits(seconds=1.0, steps=20_000_000)


@dataclass(frozen=True)
class _Read:
    query: Query
    odds: float
    total: float


def judge(run: Run, linked: LinkedQuestion, queries: Sequence[Query]) -> Query:
    """The query to go on with: of those that can be read, the one that the model and the judge
    like best together; without a judge the first. Notes what the judge says of the question and
    of the reading, and the others as rivals."""
    first = queries[0]
    if (its := run.session.judge) is None:
        return first
    run.scores.update(confidence.kind_scores(its.kinds(linked)))
    said = _described(queries)
    if not said or not first.logical_form:
        return first
    odds = its.faithful(linked, list(said.values()))
    read = [
        _Read(query, odd, JUDGED * odd + query.scores.get("sum_logprob", 0.0))
        for query, odd in zip((queries[k] for k in said), odds, strict=True)
    ]
    best = max(read, key=lambda r: r.total)
    run.scores["unfaithful_logit"] = -best.odds
    others = [Rival(r.query, best.total - r.total) for r in read if r is not best]
    rivals = tuple(sorted((r for r in others if r.behind < FAR), key=lambda r: r.behind))
    run.known = replace(run.known, query=best.query, rivals=rivals)
    run.scores.update(best.query.scores)
    return best.query


def _described(queries: Sequence[Query]) -> dict[int, str]:
    """The different readings in words, by their place among the queries; not those that the
    model itself finds far less likely than its first."""
    found: dict[str, tuple[int, str]] = {}
    least = queries[0].scores.get("sum_logprob", 0.0) - FAR
    for place, query in enumerate(queries):
        if query.scores.get("sum_logprob", 0.0) < least:
            continue
        try:
            form = parse(query.logical_form or "")
            found.setdefault(print_form(normalise(form)), (place, describe(form)))
        except FormError:
            continue
    return dict(found.values())


def rival(run: Run, linked: LinkedQuestion, done: Execution) -> None:
    """How near is the next best reading that gives other rows? ``rival``: 0 (FAR or none) to FAR
    nats and more, where the other is as good."""
    if run.session.judge is None:
        return
    run.scores["rival"] = 0.0
    for other in run.known.rivals:
        rows = rows_of(run, linked, other.query)
        if rows is not None and not confidence.same_rows(rows, done.result.rows):
            run.scores["rival"] = FAR - other.behind
            return


def rows_of(run: Run, linked: LinkedQuestion, query: Query) -> tuple[Row, ...] | None:
    """What another reading of a question gives; None where it says nothing. Raises Cancelled."""
    other = Run(run.question, run.session, limits=LIMITS, known=replace(run.known, query=query))
    try:
        written = query_path.understand(other, linked, query)
        query_path.route(other, written)
        sql = query_path.compile_form(other, written)
        return query_path.execute(other, sql, written.bound).result.rows
    except Cancelled:
        raise
    except (Withheld, EhrqaError):
        return None
