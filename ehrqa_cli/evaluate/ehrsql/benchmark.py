"""EHRSQL (Lee et al. 2022, and the 2024 shared task) as a benchmark, scored officially."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.benchmarks import Benchmark, BenchmarkItem, Execute, Measure, Reads, why
from ehrqa_cli.contracts.benchmarks import Record as Plain
from ehrqa_cli.contracts.errors import DatabaseError, EvaluationError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine import Mode, Session, open_session
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.engine.sources import sources_of
from ehrqa_cli.evaluate.answering import Schema, System, queried, written
from ehrqa_cli.evaluate.ehrsql.execution import Judge, official_text, open_judge
from ehrqa_cli.evaluate.ehrsql.load import NULL, Dataset, load_ehrsql, train_skeletons, unseen
from ehrqa_cli.evaluate.ehrsql.report import Report, make_report
from ehrqa_cli.evaluate.fewshot import QueryWriter
from ehrqa_cli.evaluate.files import hash_file
from ehrqa_cli.evaluate.journal import run_hash
from ehrqa_cli.evaluate.metrics import measures_of
from ehrqa_cli.evaluate.records import Record, join_record, split_record
from ehrqa_cli.evaluate.reports import write_files
from ehrqa_cli.evaluate.rows import comparable
from ehrqa_cli.evaluate.runner import BenchmarkRun
from ehrqa_cli.evaluate.systems import EHRSQL, OURS, Chosen


class EhrSql(Benchmark):
    """Questions over the database ``db`` as it is; a run needs one. ``session`` is what is asked,
    None where nothing is; ``as_of`` is what now means then. Close it after use."""

    name: ClassVar[str] = "ehrsql"
    about: ClassVar[str] = "questions over tables, some without an answer: RS(0), RS(10), F1"
    needs: ClassVar[str] = "SPLIT/data.json and label.json (2024), or SPLIT.json (2022)"
    reads: ClassVar[Reads] = Reads.QUERIES
    systems: ClassVar[Mapping[str, str]] = EHRSQL
    header: ClassVar[tuple[str, ...]] = (
        *("dataset", "split", "version", "dataset_sha256", "database_sha256", "as_of", "limit"),
        *("predictor", "seed", "versions", "code"),
    )

    def __init__(
        self,
        db: Path | None = None,
        as_of: str | None = None,
        session: Session | None = None,
    ) -> None:
        self.db, self.as_of, self.session = db, as_of, session
        self.known: frozenset[str] | None = None  # skeletons of train
        self._stack = ExitStack()
        self._loaded: tuple[Dataset, Judge] | None = None  # with what scores them

    def close(self) -> None:
        """Close the database that gold queries were run on."""
        self._stack.close()

    @property
    def loaded(self) -> tuple[Dataset, Judge]:
        """The data, and what scores them."""
        assert self._loaded is not None, "a run has a database, and loads first"
        return self._loaded

    def load(self, data: Path, split: str) -> Sequence[BenchmarkItem]:
        """As the contract says; also raises what opening the database raises."""
        dataset = load_ehrsql(data, split)
        if not all(item.labelled for item in dataset.items):
            raise EvaluationError(
                f"{split} has no labels (label.json)", "measure on a split that has them"
            )
        self.known = train_skeletons(data, split)
        new = unseen(dataset, self.known) if self.known is not None else frozenset()
        if self.db is not None:
            judge = open_judge(self._stack, dataset.items, self.session, self.db, self.as_of, new)
            self._loaded = dataset, judge
        return [
            BenchmarkItem(Question(item.question, item.id), item.gold, item.template or "", item)
            for item in dataset.items
        ]

    def facts(self) -> Mapping[str, Any]:
        """As the contract says."""
        dataset, judge = self.loaded
        return {
            "dataset": dataset.name,
            "split": dataset.split,
            "version": dataset.version,
            "dataset_sha256": dataset.sha256,
            "database_sha256": (
                hash_file(self.db)
                if self.db and self.db.is_file()
                else judge.database.fingerprint()
            ),
            "as_of": judge.as_of,
        }

    def asked(self, session: Session, workers: int | None) -> System:
        """This program as what is measured."""
        thresholds = run_hash(session.thresholds.as_dict())
        header = {**session.model.provenance(), "thresholds": thresholds, **sources_of(session)}
        if session.mode is not Mode.NORMAL:
            header["mode"] = session.mode.value
        return System(
            "this system",
            header,
            lambda items: session.ask_many([item.question for item in items], workers=workers),
        )

    def record(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> dict[str, Any]:
        """As the contract says."""
        judge = self.loaded[1]
        if self.session is not None:
            return split_record(judge.of_answer(item.more, answer))[0]
        found = judge.of_sql(
            item.more, answer.neuralsql if answer.status is Status.ANSWERED else None
        )
        if answer.status is Status.FAILED:
            found = replace(found, status="failed", why=why(answer))
        return split_record(found)[0]

    def score(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> Plain:
        """As the contract says; a run scores on a database of its own (`record`)."""
        query = answer.neuralsql
        if item.gold is None or answer.status is not Status.ANSWERED or query is None:
            return {"correct": False}
        try:
            found = comparable(execute(official_text(query)))
        except DatabaseError:
            return {"correct": False}
        return {"correct": found == comparable(execute(official_text(item.gold)))}

    def measures(self, records: Sequence[Plain]) -> Mapping[str, Measure]:
        """As the contract says."""
        return measures_of(records)

    def perfect(self, item: BenchmarkItem, execute: Execute) -> Answer:
        """As the contract says."""
        if item.gold is None:
            return Answer(item.question, Status.ABSTAINED)
        return queried(item.question, item.gold)

    @classmethod
    def sample(cls, folder: Path) -> tuple[Path, str]:
        """As the contract says."""
        gold = {"a": "SELECT COUNT(*) FROM patients", "b": "SELECT 2.5", "c": NULL}
        entries = [{"id": key, "question": f"question {key}?"} for key in gold]
        (folder / "valid").mkdir()
        for name, found in (("data", {"version": "1", "data": entries}), ("label", gold)):
            (folder / "valid" / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
        return folder, "valid"


def run_ehrsql(
    data: Path,
    split: str,
    db: Path,
    chosen: Chosen | None = None,
    *,
    writer: Callable[[Schema], QueryWriter] | None = None,
    model: str | Text2Sql = "local",
    mode: Mode = Mode.NORMAL,
    thresholds: Thresholds | None = None,
    as_of: str | None = None,
    workers: int | None = None,
    **run: Any,
) -> Report:
    """Measure ``chosen`` (by default ``model``) on an EHRSQL split, or ``writer``, which is opened
    with the tables and columns. ``thresholds`` go before those stored with the model; ``workers``
    is how many processes answer; ``run`` are further fields of BenchmarkRun.

    Raises EvaluationError for files that are not what is expected, and what opening the database
    or the model raises.
    """
    chosen = chosen or Chosen(OURS)
    with ExitStack() as stack:
        session = stack.enter_context(
            open_session(db, model=model, as_of=as_of, log=False, thresholds=thresholds, mode=mode)
        )
        asks = chosen.asks and writer is None
        benchmark = EhrSql(db, as_of, session if asks else None)
        stack.callback(benchmark.close)

        def asked() -> System:
            if writer is None:
                return benchmark.asked(session, workers)
            return written(writer, benchmark.loaded[1].database.schema, stack)

        one = BenchmarkRun(
            benchmark,
            data,
            split,
            chosen,
            asked if asks or writer else None,
            facts={"versions": dict(session.versions)},
            **run,
        )
        header, found = one.measure()
    records = [join_record(r, s) for r, s in zip(found.records, found.seconds, strict=True)]
    report = make_report(header, records, split_seen=benchmark.known is not None, seed=found.seed)
    if one.out is not None:
        _write(one.out, report, records)
    return report


def _write(out: Path, report: Report, records: Sequence[Record]) -> None:
    predictions = {r.id: r.prediction if r.prediction is not None else NULL for r in records}
    files = {
        "predictions.json": json.dumps(predictions, indent=1),
        "report.json": json.dumps(report.as_dict(), indent=1),
        "report.md": report.as_markdown(),
    }
    write_files(out, files)
