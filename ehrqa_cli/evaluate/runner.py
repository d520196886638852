"""One run over any benchmark: load, answer or read answers (resuming), score, report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.benchmarks import Benchmark, BenchmarkItem, Execute, Measured, Reads
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.answering import System, no_ehr, unasked, whole
from ehrqa_cli.evaluate.files import code_hash
from ehrqa_cli.evaluate.journal import Journal, Made, Plain, run_hash
from ehrqa_cli.evaluate.judge import TIMES
from ehrqa_cli.evaluate.reports import RunReport
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.systems import OURS, Chosen


@dataclass(frozen=True)
class BenchmarkRun:
    """One run. ``chosen`` is what is measured; ``asked`` opens what answers (this program, or what
    writes queries) where that is neither a file nor a baseline. ``facts`` name the EHR that is
    asked about and ``execute`` runs queries over it.

    ``out`` is a folder for records and report (None: nothing is written); ``limit`` takes about so
    many questions, spread evenly; ``seed`` is that of intervals and of what is drawn; ``progress``
    is called with (done, all).
    """

    benchmark: Benchmark
    data: Path
    split: str
    chosen: Chosen = field(default_factory=lambda: Chosen(OURS))
    asked: Callable[[], System] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    execute: Execute = no_ehr
    out: Path | None = None
    limit: int | None = None
    seed: int = 0
    progress: Callable[[int, int], None] = lambda _done, _all: None

    def run(self) -> RunReport:
        """Measure and report. Raises EvaluationError, and what opening the database or the model
        raises."""
        header, found = self.measure()
        report = RunReport.of(header, self.benchmark.figures(found))
        if self.out is not None:
            report.write(self.out)
        return report

    def measure(self) -> tuple[Plain, Measured]:
        """The header, and what became of each question; raises as `run` does."""
        every = self.benchmark.load(self.data, self.split)
        items = every_nth(every, self.limit)
        if not items:
            raise EvaluationError(f"{self.data} holds no questions", "check --data and --split")
        system = self._system(items)
        header = self._header(every, len(items), system)
        journal = Journal(self.out, header)
        by_id = {str(item.question.id): item for item in items}

        def make(todo: Sequence[str]) -> Iterator[Made]:
            some = [by_id[key] for key in todo]
            for key, item, answer in zip(todo, some, system.answers(some), strict=True):
                if self.benchmark.reads is Reads.VALUES:
                    answer = whole(answer, self.execute)
                record = self.benchmark.record(item, answer, self.execute)
                yield key, record, dict(answer.timings)

        records = journal.run_many(list(by_id), make, lambda done: self.progress(done, len(items)))
        seconds = [journal.seconds.get(key, {}) for key in by_id]
        return header, Measured(items, records, seconds, system.name, self.seed)

    def _system(self, items: Sequence[BenchmarkItem]) -> System:
        if self.chosen.predictions is None and self.asked is not None:
            return self.asked()
        if self.chosen.asks:
            raise EvaluationError("there is nothing that answers", "give --predictions FILE")
        return unasked(self.chosen, self.benchmark, items, self.execute, self.seed)

    def _header(self, every: Sequence[BenchmarkItem], count: int, system: System) -> Plain:
        known: Plain = {
            "benchmark": self.benchmark.name,
            "split": self.split,
            **self.facts,
            "questions": count,
            "limit": self.limit,
            "predictor": dict(system.header),
            "seed": self.seed,
            "code": code_hash(),
            **self.benchmark.facts(),
        }
        if self.benchmark.judged:
            judge = self.benchmark.judge
            known["judge"] = {**judge.provenance(), "times": TIMES} if judge else None
        if "dataset_sha256" not in known:
            data = {str(i.question.id): [i.question.text, i.gold, i.group] for i in every}
            known["dataset_sha256"] = run_hash(data)
        return {name: known[name] for name in self.benchmark.header if name in known}
