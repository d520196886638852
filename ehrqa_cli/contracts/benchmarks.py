"""Benchmarks by plugins: their contract (group ``ehrqa.benchmark``).

A benchmark knows its files, what a right answer is and what to count. Asking, resuming, workers,
records and reports are the program's: ``ehrqa eval NAME``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.types import Answer, Question, Row

# The rows of one SELECT over the EHR that is asked about, with ``current_time`` bound; raises
# DatabaseError. For benchmarks whose gold is a query.
Execute = Callable[[str], tuple[Row, ...]]
Record = Mapping[str, Any]


@dataclass(frozen=True)
class BenchmarkItem:
    """One question (its ``id`` is set, and no other's) with its gold.

    ``gold`` is of JSON's types, as the benchmark's own ``score`` reads it; None where the right
    thing is to decline. ``group`` is a template, scope or tier: figures are given for each.
    """

    question: Question
    gold: Any
    group: str = ""


class Benchmark(ABC):
    """A set of questions in files of its own layout. Made without arguments."""

    name: ClassVar[str]
    about: ClassVar[str] = ""  # one line: what it measures
    paper: ClassVar[str] = ""
    needs: ClassVar[str] = ""  # one line: what --data must hold
    sources: ClassVar[tuple[tuple[str, str, str], ...]] = ()  # (what, where, licence)

    @abstractmethod
    def load(self, data: Path, split: str) -> Sequence[BenchmarkItem]:
        """The questions of a split in their order. Raises EvaluationError when ``data`` is not
        what is expected, saying what is expected where."""

    @abstractmethod
    def score(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> Record:
        """What to record of one answer, of JSON's types: ``correct`` (true or false, and false
        for an answer that was declined) and whatever ``aggregate`` reads.

        ``answer`` may be of status abstained or failed. Raises EvaluationError for a gold that
        cannot be had.
        """

    @abstractmethod
    def aggregate(self, records: Sequence[Record]) -> Mapping[str, float | None]:
        """Figures by name from records; None where one is not defined. Records have ``id``,
        ``group``, ``gold`` and ``status`` beside what ``score`` gave."""

    @classmethod
    @abstractmethod
    def sample(cls, folder: Path) -> tuple[Path, str]:
        """Make a small tree of the benchmark's layout in ``folder`` for the contract suite: what
        ``--data`` is to name, and a split."""

    @abstractmethod
    def perfect(self, item: BenchmarkItem, execute: Execute) -> Answer:
        """The gold as an answer; one of status abstained where the right thing is to decline."""
