"""A run over EHRNoteQA: answer (or read answers), score, report; it can be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EhrqaError, EvaluationError
from ehrqa_cli.contracts.judging import Judge
from ehrqa_cli.evaluate.ehrnoteqa.baselines import answers_of
from ehrqa_cli.evaluate.ehrnoteqa.load import NoteQuestion, NoteSet, count_by_level, load_noteqa
from ehrqa_cli.evaluate.ehrnoteqa.score import FORMATS, MULTI_CHOICE, record_of
from ehrqa_cli.evaluate.ehrnoteqa.tables import (
    accuracy_table,
    decline_table,
    evidence_scores,
    evidence_table,
    grades_of,
    judge_table,
    judged,
    mean,
)
from ehrqa_cli.evaluate.files import code_hash
from ehrqa_cli.evaluate.image_report import ImageReport
from ehrqa_cli.evaluate.journal import Journal, Made, Plain
from ehrqa_cli.evaluate.judge import TIMES
from ehrqa_cli.evaluate.note_answers import GivenAnswer, NoteSystem, read_answers
from ehrqa_cli.evaluate.note_desk import DeskSystem
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.tables import StudyTable

__all__ = ["FORMATS", "NoteRun"]


@dataclass(frozen=True)
class NoteRun:
    """One run. ``system`` answers the questions, or ``predictions`` is a file of answers, or
    ``baseline`` is one of systems.EHRNOTEQA that reads no note.

    ``notes`` is the file of notes where it is not in ``data``; ``form`` one of ``FORMATS``;
    ``level`` keeps one of the paper's levels; ``judge`` is asked five times about each answer;
    ``workers`` is how many processes read, which changes no answer;
    ``progress`` is called with (done, all).
    """

    data: Path
    notes: Path | None = None
    system: NoteSystem | None = None
    predictions: Path | None = None
    baseline: str | None = None
    form: str = MULTI_CHOICE
    level: str | None = None
    judge: Judge | None = None
    out: Path | None = None
    limit: int | None = None
    seed: int = 0
    workers: int | None = 1
    progress: Callable[[int, int], None] = lambda _done, _all: None

    def run(self) -> ImageReport:
        """Load, answer (resuming), score, report. Raises EvaluationError."""
        data = load_noteqa(self.data, self.notes)
        items = every_nth(self._kept(data), self.limit)
        given, predictor = self._given(items)
        header = self._header(data, items, predictor)
        journal = Journal(self.out, header)
        if self.system is not None and given is None:
            todo = [item for item in items if item.id not in journal.done]
            self.system.prepare({n.note_id: n for item in todo for n in item.notes}.values())
        records = journal.run_many(
            [item.id for item in items],
            self._answers(items, given),
            lambda done: self.progress(done, len(items)),
        )
        report = self._report(header, items, records)
        if self.out is not None:
            report.write(self.out)
        return report

    def _kept(self, data: NoteSet) -> tuple[NoteQuestion, ...]:
        kept = tuple(i for i in data.items if self.level in (None, i.level))
        if self.form == MULTI_CHOICE:
            kept = tuple(i for i in kept if i.choices)
        if not kept:
            where = f" of level {self.level}" if self.level else ""
            raise EvaluationError(
                f"{self.data} has no questions{where} for {self.form}", "leave --level out"
            )
        return kept

    def _given(
        self, items: Sequence[NoteQuestion]
    ) -> tuple[Mapping[str, GivenAnswer] | None, Mapping[str, Any]]:
        if self.predictions is not None:
            given, digest = read_answers(self.predictions, [item.id for item in items])
            return given, {"file": self.predictions.name, "sha256": digest}
        if self.baseline is not None:
            answers = answers_of(self.baseline, items, self.form, self.seed)
            return answers, {"system": self.baseline}
        if self.system is None:
            raise EvaluationError("there is no reader of notes", "give --predictions FILE")
        return None, dict(self.system.provenance())

    def _header(
        self, data: NoteSet, items: Sequence[NoteQuestion], predictor: Mapping[str, Any]
    ) -> Plain:
        return {
            "benchmark": "ehrnoteqa",
            "layout": data.layout,
            "format": self.form,
            "dataset_sha256": data.sha256,
            "notes_sha256": data.notes_sha256,
            "questions": len(items),
            "level": self.level,
            "predictor": dict(predictor),
            "judge": {**self.judge.provenance(), "times": TIMES} if self.judge else None,
            "seed": self.seed,
            "code": code_hash(),
        }

    def _answers(
        self, items: Sequence[NoteQuestion], given: Mapping[str, GivenAnswer] | None
    ) -> Callable[[Sequence[str]], Iterator[Made]]:
        by_id = {item.id: item for item in items}

        def make(todo: Sequence[str]) -> Iterator[Made]:
            asked = [by_id[key] for key in todo]
            if given is not None:
                answers: Iterable[tuple[GivenAnswer, float]] = ((given[k], 0.0) for k in todo)
            else:
                answers = self._asked(asked)
            for item, (answer, seconds) in zip(asked, answers, strict=True):
                record = record_of(item, answer, self.form, self.judge)
                yield item.id, record, {} if given is not None else {"answer": seconds}

        return make

    def _asked(self, items: Sequence[NoteQuestion]) -> Iterable[tuple[GivenAnswer, float]]:
        assert self.system is not None
        multiple = self.form == MULTI_CHOICE
        if isinstance(self.system, DeskSystem):
            asked = [
                (i.question, i.notes[0].patient_id, i.choices if multiple else None) for i in items
            ]
            return self.system.answer_many(asked, self.workers)
        return (self._ask(item) for item in items)

    def _ask(self, item: NoteQuestion) -> tuple[GivenAnswer, float]:
        assert self.system is not None
        choices = item.choices if self.form == MULTI_CHOICE else None
        started = time.perf_counter()
        try:
            answer = self.system.answer(item.question, item.notes, choices)
        except EhrqaError as error:  # one question that fails is a row, never the end of the run
            answer = GivenAnswer("failed", why=error.message)
        return answer, round(time.perf_counter() - started, 6)

    def _report(
        self, header: Plain, items: Sequence[NoteQuestion], records: Sequence[Plain]
    ) -> ImageReport:
        scored = [r for r in records if r["answerable"]]
        scores: Plain = {
            name: asdict(mean(scored, grade, self.seed))
            for name, grade in grades_of(self.form).items()
        }
        found = judged(records) if self.judge else None
        if found is not None:
            scores["judge"] = {
                "mean": found.mean,
                "deviation": found.deviation,
                "takes": list(found.scores),
            }
        evidence = evidence_scores(records)
        scores["evidence"] = {
            k: {n: asdict(v) for n, v in part.items()} if isinstance(part, dict) else part
            for k, part in evidence.items()
        }
        scores["answered"] = sum(r["status"] == "answered" for r in records)
        scores["declined"] = sum(r["status"] == "abstained" for r in records)
        scores["failed"] = sum(r["status"] == "failed" for r in records)
        tables: list[StudyTable | None] = [
            accuracy_table(records, self.form, self.seed),
            decline_table(records),
            evidence_table(records),
            judge_table(records, self.judge.name) if self.judge else None,
        ]
        counts = ", ".join(f"{n} of {name}" for name, n in count_by_level(items).items())
        return ImageReport(
            header, scores, tuple(t for t in tables if t is not None), notes=(counts,)
        )
