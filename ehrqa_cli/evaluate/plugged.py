"""A run over the benchmark of a plugin: ask (or read answers), score, report; resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.benchmarks import Benchmark, BenchmarkItem
from ehrqa_cli.contracts.errors import Cancelled, EhrqaError, EvaluationError
from ehrqa_cli.contracts.types import Answer, Row, Status
from ehrqa_cli.engine import Session
from ehrqa_cli.engine.many import ask_many
from ehrqa_cli.evaluate.asked import SCORING
from ehrqa_cli.evaluate.files import code_hash
from ehrqa_cli.evaluate.given import Given, read_given
from ehrqa_cli.evaluate.image_report import ImageReport, reader_header, session_header
from ehrqa_cli.evaluate.journal import Journal, Made, Plain, run_hash
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.tables import StudyTable

_SHOWN = 100  # rows of an answer that a record keeps; all are scored


@dataclass(frozen=True)
class PluggedRun:
    """One run. ``session`` answers, or ``predictions`` is a file of answers (`given`); ``limit``
    takes about so many questions, spread evenly; ``workers`` are as `engine.ask_many` has them;
    ``progress`` is called with (done, all)."""

    benchmark: Benchmark
    data: Path
    split: str
    session: Session
    patient: int | None = None  # of questions that name none
    predictions: Path | None = None
    out: Path | None = None
    limit: int | None = None
    workers: int | None = None
    progress: Callable[[int, int], None] = lambda _done, _all: None

    def run(self) -> ImageReport:
        """Load, answer (resuming), score, report. Raises EvaluationError, and what opening the
        database or the model raises."""
        every = self.benchmark.load(self.data, self.split)
        items = every_nth(every, self.limit)
        if not items:
            raise EvaluationError(f"{self.data} holds no questions", "check --data and --split")
        by_id = {str(item.question.id): item for item in items}
        given, predictor = self._given(list(by_id))
        header = self._header(every, len(items), predictor)

        def make(todo: Sequence[str]) -> Iterator[Made]:
            wanted = [by_id[key] for key in todo]
            answers = self._ask(wanted) if given is None else self._read_all(wanted, given)
            for key, item, answer in zip(todo, wanted, answers, strict=True):
                yield key, self._record(item, answer), dict(answer.timings)

        records = Journal(self.out, header).run_many(
            list(by_id), make, lambda done: self.progress(done, len(items))
        )
        report = self._report(header, records)
        if self.out is not None:
            report.write(self.out)
        return report

    def _given(self, ids: list[str]) -> tuple[Mapping[str, Given] | None, Plain]:
        if self.predictions is not None:
            given, digest = read_given(self.predictions, ids)
            return given, {"file": self.predictions.name, "sha256": digest}
        return None, session_header(self.session)

    def _header(self, every: Sequence[BenchmarkItem], count: int, predictor: Plain) -> Plain:
        session = self.session
        data = {str(i.question.id): [i.question.text, i.gold, i.group] for i in every}
        return {
            "benchmark": self.benchmark.name,
            "split": self.split,
            "dataset_sha256": run_hash(data),
            "database": session.database.fingerprint(),
            "as_of": session.as_of,
            "patient": self.patient,
            "questions": count,
            "predictor": predictor,
            "images": reader_header(session.graphs) if session.graphs else None,
            "code": code_hash(),
            "versions": session.versions,
        }

    def _ask(self, items: Sequence[BenchmarkItem]) -> Iterable[Answer]:
        asked = [i.question for i in items]
        if self.patient is not None:
            asked = [
                q if q.patient_id is not None else replace(q, patient_id=self.patient)
                for q in asked
            ]
        return ask_many(asked, self.session, workers=self.workers)

    def _read_all(
        self, items: Sequence[BenchmarkItem], given: Mapping[str, Given]
    ) -> Iterator[Answer]:
        return (self._read(item, given[str(item.question.id)]) for item in items)

    def _read(self, item: BenchmarkItem, given: Given) -> Answer:
        """An answer from a file as one of ours; a query that does not run is a wrong answer."""
        if given.rows is None and given.query is None:
            return Answer(item.question, Status(given.status))
        rows, error = given.rows, None
        if rows is None:
            try:
                rows = self._execute(given.query or "")
            except Cancelled:
                raise
            except EhrqaError as raised:
                rows, error = (), {"message": raised.message, "hint": raised.hint}
        return Answer(item.question, Status.ANSWERED, rows=rows, neuralsql=given.query, error=error)

    def _execute(self, sql: str) -> tuple[Row, ...]:
        session = self.session
        result, _ = neuralsql.run(
            sql, session.database, as_of=session.as_of, limits=SCORING, graphs=session.graphs
        )
        return result.rows

    def _record(self, item: BenchmarkItem, answer: Answer) -> Plain:
        if answer.truncated and answer.neuralsql:
            answer = replace(answer, rows=self._execute(answer.neuralsql))
        broken = answer.status is Status.ANSWERED and answer.error is not None
        scored = self.benchmark.score(item, answer, self._execute) if not broken else {}
        why = answer.error["message"] if answer.error else answer.reason_kind
        return {
            "question": item.question.text,
            "group": item.group,
            "gold": item.gold,
            "prediction": [list(row) for row in answer.rows[:_SHOWN]] or answer.value,
            "status": answer.status.value,
            "why": why,
            "confidence": answer.confidence,
            "logical_form": answer.logical_form,
            "neuralsql": answer.neuralsql,
            "correct": False,
            **scored,
        }

    def _report(self, header: Plain, records: Sequence[Plain]) -> ImageReport:
        figures = dict(self.benchmark.aggregate(records))
        rows = tuple(figures.items())
        tables = [StudyTable("1", f"{len(records)} questions", ("measure", "value"), (("", rows),))]
        groups = sorted({str(record["group"]) for record in records})
        if len(groups) > 1:
            tables.append(self._by_group(records, tuple(figures)))
        return ImageReport(header, figures, tuple(tables))

    def _by_group(self, records: Sequence[Plain], names: tuple[str, ...]) -> StudyTable:
        def group(record: Plain) -> str:
            return str(record["group"])

        rows: list[tuple[Any, ...]] = []
        for name, found in groupby(sorted(records, key=group), group):
            inside = list(found)
            figures = self.benchmark.aggregate(inside)
            rows.append((name, len(inside), *(figures.get(each) for each in names)))
        return StudyTable("2", "by group", ("group", "questions", *names), (("", tuple(rows)),))
