"""What is measured: whoever answers a benchmark's questions, with what the header says of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.benchmarks import Benchmark, BenchmarkItem, Execute
from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.contracts.images import ImageReader
from ehrqa_cli.contracts.types import Answer, Limits, Question, Row, Status
from ehrqa_cli.engine import Session
from ehrqa_cli.engine.faults import fault
from ehrqa_cli.engine.many import ask_many
from ehrqa_cli.engine.sources import sources_of
from ehrqa_cli.evaluate.fewshot import QueryWriter
from ehrqa_cli.evaluate.journal import run_hash
from ehrqa_cli.evaluate.predictions import read_predictions
from ehrqa_cli.evaluate.systems import ABSTAIN, GOLD, Chosen

SCORING = Limits(seconds=60.0, rows=100_000, length=20_000_000)
Schema = Mapping[str, Sequence[str]]
Answers = Callable[[Sequence[BenchmarkItem]], Iterable[Answer]]


@dataclass(frozen=True)
class System:
    """``name`` is what tables call it, ``header`` what names it in the header of a run, and
    ``answers`` are those to some items, in their order."""

    name: str
    header: Mapping[str, Any]
    answers: Answers


def asked(session: Session, workers: int | None = None, patient: int | None = None) -> System:
    """This program; ``patient`` is of questions that name none."""

    def question(item: BenchmarkItem) -> Question:
        found = item.question
        return found if found.patient_id is not None else replace(found, patient_id=patient)

    def answers(items: Sequence[BenchmarkItem]) -> Iterable[Answer]:
        return ask_many(map(question, items), session, workers=workers)

    return System("this system", session_header(session), answers)


def written(
    writer: Callable[[Schema], QueryWriter], schema: Callable[[], Schema], stack: ExitStack
) -> System:
    """What writes a query for a question, opened with the tables and columns and closed with
    ``stack``; the rows are had where it is scored."""
    opened = writer(schema())
    stack.callback(opened.close)

    def answer(item: BenchmarkItem) -> Answer:
        try:
            found = opened.write(item.question.text)
        except EhrqaError as error:  # one question that fails is a row, never the end of the run
            return fault(item.question, error)
        seconds = {**found.seconds, "total": round(sum(found.seconds.values()), 6)}
        if found.query is None:
            return Answer(item.question, Status.ABSTAINED, timings=seconds)
        return queried(item.question, found.query, seconds)

    header = opened.provenance()
    return System(str(header["system"]), header, lambda items: map(answer, items))


def unasked(
    chosen: Chosen,
    benchmark: Benchmark,
    items: Sequence[BenchmarkItem],
    execute: Execute,
    seed: int,
) -> System:
    """A file of predictions, the gold answers, none at all, or a baseline of the benchmark.

    Raises EvaluationError and UsageError.
    """
    name, told = chosen.name or "", {}
    if chosen.predictions is not None:
        path = chosen.predictions
        found, digest = read_predictions(path, [i.question for i in items], benchmark.reads)
        return _fixed(path.name, {"file": path.name, "sha256": digest}, items, found)
    if name == GOLD:
        answers: Iterable[Answer] = (benchmark.perfect(item, execute) for item in items)
    elif name == ABSTAIN:
        answers = (Answer(item.question, Status.ABSTAINED) for item in items)
    else:
        made = benchmark.baseline(name, items, seed)
        answers, told = made.answers, dict(made.told)
    return _fixed(name, {"system": name, **told}, items, answers)


def _fixed(
    name: str,
    header: Mapping[str, Any],
    items: Sequence[BenchmarkItem],
    answers: Iterable[Answer],
) -> System:
    by_id = {item.question.id: one for item, one in zip(items, answers, strict=True)}
    return System(name, header, lambda some: (by_id[item.question.id] for item in some))


def queried(question: Question, query: str, seconds: Mapping[str, float] | None = None) -> Answer:
    """An answer by a query whose rows are still to be had."""
    return Answer(
        question,
        Status.ANSWERED,
        neuralsql=query,
        truncated=True,
        timings=dict(seconds or {}),
    )


def whole(answer: Answer, execute: Execute) -> Answer:
    """The answer with all of its rows. One whose query does not run has an error, and was given
    all the same: it is a wrong one."""
    query = answer.neuralsql
    if answer.status is not Status.ANSWERED or not answer.truncated or not query:
        return answer
    started = time.perf_counter()
    try:
        found = replace(answer, rows=execute(query), truncated=False)
    except Cancelled:
        raise
    except EhrqaError as error:
        told = {"message": error.message, "hint": error.hint}
        found = replace(answer, rows=(), error=told)
    run = time.perf_counter() - started
    total = round(answer.timings.get("total", 0.0) + run, 6)
    return replace(found, timings={**answer.timings, "run": round(run, 6), "total": total})


def executor(session: Session, graphs: ImageReader | None = None) -> Execute:
    """What runs queries over the session's EHR, with its reader of images or with ``graphs``."""

    def execute(sql: str) -> tuple[Row, ...]:
        reader = graphs if graphs is not None else session.graphs
        result, _ = neuralsql.run(
            sql, session.database, as_of=session.as_of, limits=SCORING, graphs=reader
        )
        return result.rows

    return execute


def no_ehr(_sql: str) -> tuple[Row, ...]:
    """In place of a way to run queries, where there is no EHR."""
    raise EhrqaError("there is no EHR to run a query on", "give answers in place of queries")


def session_facts(session: Session) -> dict[str, Any]:
    """What a session stands on, for the header of a run."""
    return {
        "database": session.database.fingerprint(),
        "as_of": session.as_of,
        "images": reader_header(session.graphs) if session.graphs else None,
        "versions": session.versions,
    }


def session_header(session: Session) -> dict[str, Any]:
    """What answers, for the header of a run: the names and hashes of what a session writes and
    weighs queries with."""
    made: dict[str, Any] = {**session.model.provenance(), "mode": session.mode.value}
    if session.judge is not None:
        made["judge"] = dict(session.judge.provenance())
    made["thresholds"] = run_hash(session.thresholds.as_dict())
    return {**made, **sources_of(session)}


def reader_header(reader: ImageReader) -> dict[str, Any]:
    """What reads the images, for the header of a run: its names and hashes, and that of the
    thresholds where it has any."""
    thresholds = getattr(reader, "thresholds", None)
    made: dict[str, Any] = dict(reader.provenance())
    if thresholds is not None:
        made["thresholds"] = run_hash(thresholds.as_dict())
    return made
