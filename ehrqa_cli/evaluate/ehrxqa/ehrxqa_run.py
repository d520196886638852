"""A run over EHRXQA: ask (or read answers), run the gold programs, score, report; resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.contracts.images import ImageReader
from ehrqa_cli.contracts.types import Answer, Question, Row, Status
from ehrqa_cli.engine import Session
from ehrqa_cli.evaluate.answering import SCORING, reader_header, session_header
from ehrqa_cli.evaluate.ehrxqa.baselines import answers_of
from ehrqa_cli.evaluate.ehrxqa.canonical import NOTHING, Program, same_program
from ehrqa_cli.evaluate.ehrxqa.load import XqaItem, XqaSet, load_xqa
from ehrqa_cli.evaluate.ehrxqa.score import (
    Scored,
    baseline_table,
    main_table,
    reason_table,
    score,
)
from ehrqa_cli.evaluate.fewshot import QueryWriter
from ehrqa_cli.evaluate.files import code_hash
from ehrqa_cli.evaluate.given import Given, read_given
from ehrqa_cli.evaluate.image_report import ImageReport
from ehrqa_cli.evaluate.journal import Journal, Made, Plain, run_hash
from ehrqa_cli.evaluate.rows import same_answer
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.systems import OURS

_SHOWN = 100  # rows of an answer that a record keeps; all are scored


@dataclass(frozen=True)
class Predicted:
    """What a system made of a question: its program and its rows; neither when it declined."""

    status: str
    rows: tuple[Row, ...] | None = None
    program: Program = NOTHING
    why: str | None = None
    confidence: float | None = None
    seconds: Mapping[str, float] | None = None


@dataclass(frozen=True)
class XqaRun:
    """One run. ``session`` answers (and runs programs with its reader of images), or
    ``predictions`` is a file of answers or programs, or ``writer`` writes programs, or ``system``
    is a baseline (systems.EHRXQA). ``labels`` are gold scene graphs, with which the predicted
    programs are run once more. ``text`` is the field that is asked, ``workers`` how many processes
    answer (see engine.many; the answers are the same), ``progress`` is called with (done, all)."""

    data: Path
    split: str
    session: Session
    predictions: Path | None = None
    system: str = OURS
    writer: QueryWriter | None = None
    labels: ImageReader | None = None
    out: Path | None = None
    limit: int | None = None
    seed: int = 0
    workers: int | None = None
    text: str = "question"
    progress: Callable[[int, int], None] = lambda _done, _all: None

    def run(self) -> ImageReport:
        """Load, answer (resuming), score, report. Raises EvaluationError, and what opening the
        database or the model raises."""
        data = load_xqa(self.data, self.split, text=self.text)
        items = every_nth(data.items, self.limit)
        given, predictor = self._given(data, items)
        header = self._header(data, len(items), predictor)
        by_id = {item.id: item for item in items}

        def make(todo: Sequence[str]) -> Iterator[Made]:
            asked = [by_id[key] for key in todo]
            if given is not None:
                found: Iterable[Predicted] = (self._of_given(given[key]) for key in todo)
            elif self.writer is not None:
                found = (self._written(item, self.writer) for item in asked)
            else:
                found = self._asked(asked)
            for item, one in zip(asked, found, strict=True):
                yield item.id, self._record(item, one), dict(one.seconds or {})

        records = Journal(self.out, header).run_many(
            list(by_id), make, lambda done: self.progress(done, len(items))
        )
        report = self._report(header, data, items, records)
        if self.out is not None:
            report.write(self.out)
        return report

    def _given(
        self, data: XqaSet, items: Sequence[XqaItem]
    ) -> tuple[Mapping[str, Given] | None, Mapping[str, Any]]:
        if self.predictions is not None:
            given, digest = read_given(self.predictions, [item.id for item in items])
            return given, {"file": self.predictions.name, "sha256": digest}
        if self.writer is not None:
            return None, self.writer.provenance()
        if not self.system.startswith(OURS):
            return answers_of(self.system, data, items)
        return None, session_header(self.session)

    def _header(self, data: XqaSet, count: int, predictor: Mapping[str, Any]) -> Plain:
        graphs = self.session.graphs
        return {
            "benchmark": "ehrxqa",
            "layout": data.layout,
            "split": data.split,
            "dataset_sha256": data.sha256,
            "database": self.session.database.fingerprint(),
            "as_of": self.session.as_of,
            "asked": self.text,
            "questions": count,
            # Those of the open layout are made here, and may change with the program.
            "gold_programs": run_hash({item.id: item.query for item in data.items}),
            "predictor": dict(predictor),
            "images": reader_header(graphs) if graphs else None,
            "labels": reader_header(self.labels) if self.labels else None,
            "seed": self.seed,
            "versions": self.session.versions,
            "code": code_hash(),
        }

    def _asked(self, items: Sequence[XqaItem]) -> Iterator[Predicted]:
        questions = [Question(item.question, item.id) for item in items]
        for answer in self.session.ask_many(questions, workers=self.workers):
            yield self._of_answer(answer)

    def _written(self, item: XqaItem, writer: QueryWriter) -> Predicted:
        try:
            written = writer.write(item.question)
        except EhrqaError as error:  # one question that fails is a row, never the end of the run
            return Predicted("failed", why=error.message)
        if written.query is None:
            return Predicted("abstained", why="model_declined", seconds=written.seconds)
        found = self._of_given(Given("answered", query=written.query))
        times = {**written.seconds, "run": (found.seconds or {}).get("total", 0.0)}
        total = round(sum(times.values()), 6)
        return replace(found, seconds={**times, "total": total})

    def _of_answer(self, answer: Answer) -> Predicted:
        why = answer.error["message"] if answer.error else answer.reason_kind
        if answer.status is not Status.ANSWERED:
            return Predicted(answer.status.value, why=why, seconds=answer.timings)
        rows: tuple[Row, ...] | None = answer.rows
        if answer.truncated and answer.neuralsql:
            rows, why = self._execute(answer.neuralsql, self.session.graphs)
        return Predicted(
            "answered",
            rows,
            Program(answer.neuralsql, answer.logical_form),
            why,
            answer.confidence,
            answer.timings,
        )

    def _of_given(self, given: Given) -> Predicted:
        if given.rows is not None or given.query is None:
            return Predicted(given.status, given.rows, Program(given.query), given.why)
        started = time.perf_counter()
        rows, why = self._execute(given.query, self.session.graphs)
        seconds = {"total": round(time.perf_counter() - started, 6)}
        # A query that does not run was still given as an answer, and is a wrong one.
        return Predicted(given.status, rows, Program(given.query), why, seconds=seconds)

    def _execute(
        self, query: str, graphs: ImageReader | None
    ) -> tuple[tuple[Row, ...] | None, str | None]:
        """The rows of a program, or why there are none."""
        session = self.session
        try:
            result, _ = neuralsql.run(
                query, session.database, as_of=session.as_of, limits=SCORING, graphs=graphs
            )
        except Cancelled:
            raise
        except EhrqaError as error:
            return None, error.message
        return result.rows, None

    def _right(
        self, query: str | None, item: XqaItem, graphs: ImageReader | None
    ) -> tuple[bool, str | None]:
        if query is None or item.rows is None:
            return False, None
        rows, why = self._execute(query, graphs)
        return rows is not None and same_answer(rows, item.rows), why

    def _record(self, item: XqaItem, found: Predicted) -> Plain:
        program = found.program
        known = item.rows is not None
        record: Plain = {
            "question": item.question,
            "modality": item.modality,
            "patient_scope": item.patient_scope,
            "images": item.images,
            "template": item.template,
            "gold": [list(row) for row in item.rows] if item.rows is not None else None,
            "gold_neuralsql": item.query,
            "prediction": [list(r) for r in found.rows[:_SHOWN]] if found.rows else found.rows,
            "neuralsql": program.neuralsql,
            "logical_form": program.form,
            "status": found.status,
            "correct": bool(
                item.rows is not None
                and found.rows is not None
                and found.status == "answered"
                and same_answer(found.rows, item.rows)
            ),
            "why": found.why,
            "confidence": found.confidence,
        }
        if known and item.query is not None:
            gold = Program(item.query, item.form)
            if program.neuralsql or program.form or found.rows is None:
                record["acc_lf"] = same_program(gold, program)
            record["ex_gt"], why = self._right(item.query, item, self.session.graphs)
            if why:
                record["gold_why"] = why
        if known and self.labels is not None and (program.neuralsql or found.rows is None):
            record["ex_labels"] = self._right(program.neuralsql, item, self.labels)[0]
        return record

    def _report(
        self,
        header: Plain,
        data: XqaSet,
        items: Sequence[XqaItem],
        records: Sequence[Plain],
    ) -> ImageReport:
        found = [
            Scored(
                item,
                record["status"],
                record["correct"],
                record.get("acc_lf"),
                record.get("ex_gt"),
                record.get("ex_labels"),
            )
            for item, record in zip(items, records, strict=True)
        ]
        system = "this system" if self.system.startswith(OURS) else self.system
        if self.writer is not None:
            system = str(self.writer.provenance()["system"])
        if self.predictions is not None:
            system = self.predictions.name
        tables = [main_table(found, self.seed), baseline_table(found, data, system, self.seed)]
        reasons = reason_table(records)
        return ImageReport(
            header,
            {"all": asdict(score(found, self.seed))},
            tuple(tables),
            (reasons,) if reasons is not None else (),
        )
