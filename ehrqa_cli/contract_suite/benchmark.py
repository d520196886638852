"""What every benchmark must do."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ehrqa_cli.contract_suite.checking import Check, demand, refusal
from ehrqa_cli.contracts.benchmarks import Benchmark, BenchmarkItem, Record
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import WITHHELD, Answer, Row, Status
from ehrqa_cli.evaluate.answering import whole


@dataclass(frozen=True)
class Subject:
    """A benchmark with its own small tree, and an EHR to run gold queries on."""

    benchmark: Benchmark
    data: Path
    split: str
    execute: Callable[[str], tuple[Row, ...]]

    def items(self) -> Sequence[BenchmarkItem]:
        """The questions of the tree."""
        return self.benchmark.load(self.data, self.split)

    def record(self, item: BenchmarkItem, answer: Answer) -> Record:
        """As the program records an answer."""
        answer = whole(answer, self.execute)
        scored = self.benchmark.score(item, answer, self.execute)
        return {
            "id": item.question.id,
            "group": item.group,
            "gold": item.gold,
            "status": answer.status.value,
            **scored,
        }


@contextmanager
def made(plugin: type[Benchmark], folder: Path) -> Iterator[Subject]:
    """A benchmark over its sample, beside the suite's small synthetic EHR."""
    from ehrqa_cli import neuralsql
    from ehrqa_cli.ehr.demo.make import build_demo
    from ehrqa_cli.ehr.open import open_database

    path = folder / "demo.sqlite"
    build_demo(path, seed=1, patients=10)
    tree = folder / "tree"
    tree.mkdir()
    create: Callable[[], Benchmark] = plugin
    data, split = plugin.sample(tree)
    database = open_database(path)
    as_of = database.default_as_of() or ""
    try:
        yield Subject(
            create(), data, split, lambda sql: neuralsql.run(sql, database, as_of=as_of)[0].rows
        )
    finally:
        database.close()


def has_a_name(subject: Subject) -> None:
    """It has a name and says what it measures and what its folder must hold."""
    demand(bool(subject.benchmark.name), "it has no name")
    demand(bool(subject.benchmark.about and subject.benchmark.needs), "it does not describe itself")


def reads_its_files(subject: Subject) -> None:
    """It reads its own tree: questions with ids of their own and gold that JSON can hold."""
    items = subject.items()
    demand(len(items) > 0, "its sample has no questions")
    ids = [item.question.id for item in items]
    demand(all(ids) and len(set(ids)) == len(ids), f"ids are not each one's own: {ids[:5]}")
    for item in items:
        demand(_plain(item.gold), f"gold is no plain value: {item.gold!r}")
    demand(list(items) == list(subject.items()), "reading twice gives two things")


def gold_is_right(subject: Subject) -> None:
    """The gold as an answer is right at every question, and nothing scores better."""
    items = subject.items()
    best = [subject.record(i, subject.benchmark.perfect(i, subject.execute)) for i in items]
    for item, record in zip(items, best, strict=True):
        if item.gold is not None:
            demand(record["correct"] is True, f"the gold of {item.question.id} is not right")
        else:
            demand(record["status"] == "abstained", f"{item.question.id} is not to be declined")
    top = subject.benchmark.aggregate(best)
    none = [subject.record(i, Answer(i.question, Status.ABSTAINED)) for i in items]
    for name, value in subject.benchmark.aggregate(none).items():
        high = top.get(name)
        demand(value is None or high is None or value <= high, f"{name}: silence beats the gold")


def silence_is_not_right(subject: Subject) -> None:
    """An answer that was declined, failed or is empty is not right where there is gold."""
    for item in subject.items():
        for status in (*WITHHELD, Status.FAILED):
            record = subject.record(item, Answer(item.question, status))
            demand(_plain(dict(record)), "a record is no plain value")
            demand(record["correct"] is False, f"{item.question.id}: {status} counts as right")
        unchecked = replace(
            subject.benchmark.perfect(item, subject.execute), status=Status.TENTATIVE
        )
        record = subject.record(item, unchecked)
        demand(record["correct"] is False, f"{item.question.id}: unchecked rows count as right")


def figures_are_numbers(subject: Subject) -> None:
    """Its figures are finite numbers, or none where there is nothing to count."""
    items = subject.items()
    failed = [subject.record(i, Answer(i.question, Status.FAILED)) for i in items]
    for records in (failed, failed[:1]):
        figures = subject.benchmark.aggregate(records)
        demand(bool(figures), "it counts nothing")
        wrong = {k: v for k, v in figures.items() if v is not None and not math.isfinite(v)}
        demand(not wrong, f"figures are no numbers: {wrong}")


def refuses_other_files(subject: Subject) -> None:
    """A folder that is not its own is refused with what is expected where."""
    empty = subject.data.parent / "empty"
    empty.mkdir(exist_ok=True)
    for data in (empty, empty / "none"):
        try:
            subject.benchmark.load(data, subject.split)
        except EhrqaError as error:
            refusal(error)
        else:
            demand(False, f"it takes {data.name}, where there is nothing")


def _plain(value: object) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


CHECKS: tuple[Check[Subject], ...] = (
    has_a_name,
    reads_its_files,
    gold_is_right,
    silence_is_not_right,
    figures_are_numbers,
    refuses_other_files,
)
