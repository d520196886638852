"""Benchmarks: their contract (group ``ehrqa.benchmark``).

A benchmark knows its files, what a right answer is and what to count. Asking, baselines, files of
predictions, resuming, workers, records with hashes and reports are the program's:
``ehrqa eval NAME``. Our own benchmarks are of this contract too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.judging import Judge
from ehrqa_cli.contracts.types import Answer, Question, Row

# The rows of one SELECT over the EHR that is asked about, with ``current_time`` bound; raises
# DatabaseError. For benchmarks whose gold is a query.
Execute = Callable[[str], tuple[Row, ...]]
Record = Mapping[str, Any]
# (part, whole) of one question: a figure is the sum of parts over the sum of wholes, in per cent.
Measure = Callable[[Record], tuple[float, float]]
Cell = str | int | float | None
Cells = tuple[Cell, ...]

_SHOWN = 100  # rows of an answer that a record keeps; all are scored


class Reads(StrEnum):
    """What the answers in a file of predictions are."""

    VALUES = "values"  # a value, a list, rows; or a query that makes them
    QUERIES = "queries"  # every text is a query
    WORDS = "words"  # words, or the letter of an option


@dataclass(frozen=True)
class BenchmarkItem:
    """One question (its ``id`` is set, and no other's) with its gold.

    ``gold`` is of JSON's types, as the benchmark's own ``score`` reads it; None where the right
    thing is to decline. ``group`` is a template, scope or tier: figures are given for each.
    ``more`` is whatever else the benchmark needs of the question; it is not recorded.
    """

    question: Question
    gold: Any
    group: str = ""
    more: Any = None


@dataclass(frozen=True)
class FigureTable:
    """Figures to be shown. ``blocks`` are (heading or empty, rows)."""

    number: str
    title: str
    columns: tuple[str, ...]
    blocks: tuple[tuple[str, tuple[Cells, ...]], ...]
    notes: tuple[str, ...] = ()
    numbers: ClassVar[bool] = True  # are all columns but the first numbers?

    @property
    def heading(self) -> str:
        """Its number and its title."""
        return f"Table {self.number}: {self.title}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def printed(self) -> list[tuple[str, ...]]:
        """Rows as text, a heading being a row of its own."""
        out: list[tuple[str, ...]] = []
        for heading, rows in self.blocks:
            if heading:
                out.append((heading, *[""] * (len(self.columns) - 1)))
            out += [tuple(_text(cell) for cell in row) for row in rows]
        return out

    def as_markdown(self) -> str:
        """With its notes."""
        align = "---:" if self.numbers else "---"
        rows = [self.columns, ("---", *[align] * (len(self.columns) - 1)), *self.printed()]
        body = "\n".join("| " + " | ".join(map(_escaped, row)) + " |" for row in rows)
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"**{self.heading}**\n\n{body}\n{notes}"


class Listing(FigureTable):
    """A table of words."""

    numbers: ClassVar[bool] = False


@dataclass(frozen=True)
class Measured:
    """A run that is over: ``items`` with their ``records`` in the same order, and the ``seconds``
    of each by step. ``system`` is how tables name what was measured; ``seed`` is that of
    intervals."""

    items: Sequence[BenchmarkItem]
    records: Sequence[Record]
    seconds: Sequence[Mapping[str, float]] = ()
    system: str = "this system"
    seed: int = 0


@dataclass(frozen=True)
class Figures:
    """What a run found. ``scores`` are plain values; ``more`` are tables that only files hold."""

    scores: Mapping[str, Any]
    tables: tuple[FigureTable, ...] = ()
    more: tuple[FigureTable, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Baseline:
    """The answers of a system that asks nothing, in the order of the items. ``told`` is what the
    header says of it beside its name."""

    answers: Sequence[Answer]
    told: Mapping[str, str] = field(default_factory=dict)


class Benchmark(ABC):
    """A set of questions in files of its own layout. Made without arguments."""

    name: ClassVar[str]
    about: ClassVar[str] = ""  # one line: what it measures
    paper: ClassVar[str] = ""
    needs: ClassVar[str] = ""  # one line: what --data must hold
    sources: ClassVar[tuple[tuple[str, str, str], ...]] = ()  # (what, where, licence)
    reads: ClassVar[Reads] = Reads.VALUES
    # Systems for --system beside ours, gold and abstain, and what --help says of each.
    systems: ClassVar[Mapping[str, str]] = {}
    judged: ClassVar[bool] = False  # does it take --judge?
    # The field of a record that tells which questions belong together (an image, a patient): with
    # all of them a question is resampled by `ehrqa eval compare`. Without one, each alone.
    together: ClassVar[str] = ""
    # What the header of a run holds, in this order, of all that the program and `facts` know.
    header: ClassVar[tuple[str, ...]] = (
        *("benchmark", "split", "dataset_sha256", "database", "as_of", "patient", "questions"),
        *("predictor", "images", "judge", "code", "versions"),
    )
    judge: Judge | None = None  # set by the program before anything is scored

    @abstractmethod
    def load(self, data: Path, split: str) -> Sequence[BenchmarkItem]:
        """The questions of a split in their order. Raises EvaluationError when ``data`` is not
        what is expected, saying what is expected where."""

    def facts(self) -> Mapping[str, Any]:
        """What names the data that were loaded, for the header of the run: hashes of files, the
        layout, options. Without ``dataset_sha256`` the program hashes questions and gold."""
        return {}

    @abstractmethod
    def score(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> Record:
        """What to record of one answer, of JSON's types: ``correct`` (true or false, and false
        for an answer that was declined) and whatever ``aggregate`` reads.

        ``answer`` may be of status abstained, tentative (which is declined too) or failed. Raises
        EvaluationError for a gold that cannot be had.
        """

    def record(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> dict[str, Any]:
        """All that is kept of one answer, of JSON's types. An answer that is a query which does
        not run has an ``error``, and is wrong."""
        broken = answer.status == "answered" and answer.error is not None
        return {
            "question": item.question.text,
            "group": item.group,
            "gold": item.gold,
            "prediction": [list(row) for row in answer.rows[:_SHOWN]] or answer.value,
            "status": answer.status.value,
            "why": why(answer),
            "confidence": answer.confidence,
            "logical_form": answer.logical_form,
            "neuralsql": answer.neuralsql,
            "correct": False,
            **({} if broken else self.score(item, answer, execute)),
        }

    def measures(self, records: Sequence[Record]) -> Mapping[str, Measure]:
        """What a question counts in each figure, for `aggregate` and for `ehrqa eval compare`,
        which without any compares by EHRSQL's scores."""
        return {}

    def aggregate(self, records: Sequence[Record]) -> Mapping[str, float | None]:
        """Figures by name from records, by default those of `measures`; None where one is not
        defined. Records have ``id``, ``group``, ``gold`` and ``status`` beside what ``score``
        gave."""
        found: dict[str, float | None] = {}
        for name, measure in self.measures(records).items():
            counted = [measure(record) for record in records]
            whole = sum(one[1] for one in counted)
            found[name] = 100.0 * sum(one[0] for one in counted) / whole if whole else None
        return found

    def figures(self, found: Measured) -> Figures:
        """The tables of a run: by default what `aggregate` counts, in all and by group."""
        figures = dict(self.aggregate(found.records))
        title = f"{len(found.records)} questions"
        table = FigureTable("1", title, ("measure", "value"), (("", tuple(figures.items())),))
        return Figures(figures, (table, *self._by_group(found.records, tuple(figures))))

    def _by_group(
        self, records: Sequence[Record], names: tuple[str, ...], number: str = "2"
    ) -> tuple[FigureTable, ...]:
        def group(record: Record) -> str:
            return str(record["group"])

        rows: list[Cells] = []
        for name, found in groupby(sorted(records, key=group), group):
            inside = list(found)
            figures = self.aggregate(inside)
            rows.append((name, len(inside), *(figures.get(each) for each in names)))
        if len(rows) < 2:
            return ()
        return (
            FigureTable(number, "by group", ("group", "questions", *names), (("", tuple(rows)),)),
        )

    def baseline(self, name: str, items: Sequence[BenchmarkItem], seed: int) -> Baseline:
        """The answers of one of ``systems``. Raises UsageError and EvaluationError."""
        raise NotImplementedError(name)

    @classmethod
    @abstractmethod
    def sample(cls, folder: Path) -> tuple[Path, str]:
        """Make a small tree of the benchmark's layout in ``folder`` for the contract suite: what
        ``--data`` is to name, and a split."""

    @abstractmethod
    def perfect(self, item: BenchmarkItem, execute: Execute) -> Answer:
        """The gold as an answer (``--system gold``); one of status abstained where the right thing
        is to decline. Of a query without its rows, ``truncated``, the program gets the rows."""


def of_answered(record: Record) -> tuple[float, float]:
    """The measure of what is right of the answers to questions that have one."""
    answered = record["status"] == "answered" and record.get("gold") is not None
    return float(bool(record["correct"]) and answered), float(answered)


def why(answer: Answer) -> str | None:
    """Why there is no answer, or what is wrong with it, in short."""
    return answer.error["message"] if answer.error else answer.reason_kind


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return "∞" if math.isinf(cell) else f"{cell:.1f}"
    return str(cell)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
