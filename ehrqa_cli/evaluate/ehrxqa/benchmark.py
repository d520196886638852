"""EHRXQA as a benchmark: gold programs and answers, run with the image reader that is measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.benchmarks import (
    Baseline,
    Benchmark,
    BenchmarkItem,
    Execute,
    Figures,
    Measure,
    Measured,
    Record,
    of_answered,
    why,
)
from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.contracts.images import ImageReader
from ehrqa_cli.contracts.types import Answer, Question, Row, Status
from ehrqa_cli.engine import Session
from ehrqa_cli.evaluate.answering import executor, queried, reader_header
from ehrqa_cli.evaluate.ehrxqa.canonical import Program, same_program
from ehrqa_cli.evaluate.ehrxqa.load import XqaItem, XqaSet, load_xqa
from ehrqa_cli.evaluate.ehrxqa.score import baseline_table, main_table, reason_table, score
from ehrqa_cli.evaluate.journal import run_hash
from ehrqa_cli.evaluate.priors import prior_named
from ehrqa_cli.evaluate.rows import plain_rows, same_answer
from ehrqa_cli.evaluate.systems import EHRXQA

_SHOWN = 100  # rows of an answer that a record keeps; all are scored
_WORDS = {"always-yes": "yes", "always-no": "no"}


class EhrXqa(Benchmark):
    """``text`` is the field that is asked. ``labels`` are gold scene graphs, with which the
    predicted programs are run once more over the EHR of ``session``."""

    name: ClassVar[str] = "ehrxqa"
    about: ClassVar[str] = "tables and images: Acc_LF, Acc_EX|gt, Acc_EX|pred by scope"
    needs: ClassVar[str] = "SPLIT.json, or questions.jsonl of an open re-creation"
    systems: ClassVar[Mapping[str, str]] = EHRXQA
    header: ClassVar[tuple[str, ...]] = (
        *("benchmark", "layout", "split", "dataset_sha256", "database", "as_of", "asked"),
        *("questions", "gold_programs", "predictor", "images", "labels", "seed", "versions"),
        "code",
    )

    def __init__(
        self,
        text: str = "question",
        session: Session | None = None,
        labels: ImageReader | None = None,
    ) -> None:
        self.text, self.labels = text, labels
        self.on_labels = executor(session, labels) if session and labels else None
        self.data: XqaSet | None = None

    def load(self, data: Path, split: str) -> Sequence[BenchmarkItem]:
        """As the contract says."""
        self.data = load_xqa(data, split, text=self.text)
        return [_item(item) for item in self.data.items]

    def facts(self) -> Mapping[str, Any]:
        """As the contract says."""
        assert self.data is not None
        return {
            "layout": self.data.layout,
            "split": self.data.split,
            "dataset_sha256": self.data.sha256,
            "asked": self.text,
            # Those of the open layout are made here, and may change with the program.
            "gold_programs": run_hash({item.id: item.query for item in self.data.items}),
            "labels": reader_header(self.labels) if self.labels else None,
        }

    def record(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> dict[str, Any]:
        """As the contract says."""
        one: XqaItem = item.more
        given = answer.status is Status.ANSWERED
        rows = answer.rows if given and answer.error is None else None
        program = Program(answer.neuralsql, answer.logical_form) if given else Program(None)
        record: dict[str, Any] = {
            "question": one.question,
            "modality": one.modality,
            "patient_scope": one.patient_scope,
            "images": one.images,
            "template": one.template,
            "gold": item.gold,
            "gold_neuralsql": one.query,
            "prediction": [list(row) for row in rows[:_SHOWN]] if rows else rows,
            "neuralsql": program.neuralsql,
            "logical_form": program.form,
            "status": answer.status.value,
            "correct": None not in (rows, one.rows) and same_answer(rows or (), one.rows or ()),
            "why": why(answer),
            "confidence": answer.confidence if given else None,
        }
        return record | self._by_program(one, program, rows, execute)

    def _by_program(
        self, item: XqaItem, program: Program, rows: Sequence[Row] | None, execute: Execute
    ) -> dict[str, Any]:
        """What the gold program and the predicted one come to."""
        found: dict[str, Any] = {}
        if item.rows is None:
            return found
        if item.query is not None:
            if program.neuralsql or program.form or rows is None:
                found["acc_lf"] = same_program(Program(item.query, item.form), program)
            found["ex_gt"], wrong = _right(item.query, item, execute)
            if wrong:
                found["gold_why"] = wrong
        if self.on_labels is not None and (program.neuralsql or rows is None):
            found["ex_labels"] = _right(program.neuralsql, item, self.on_labels)[0]
        return found

    def score(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> Record:
        """As the contract says."""
        return self.record(item, answer, execute)

    def measures(self, records: Sequence[Record]) -> Mapping[str, Measure]:
        """As the contract says: of the answerable questions where a measure is defined."""

        def known(field: str) -> Measure:
            return lambda r: (
                float(bool(r.get(field))),
                float(r.get("gold") is not None and r.get(field) is not None),
            )

        fields = {"Acc_LF": "acc_lf", "Acc_EX|gt": "ex_gt", "Acc_EX|pred": "correct"}
        fields["Acc_EX|labels"] = "ex_labels"
        return {name: known(f) for name, f in fields.items()} | {"right of answered": of_answered}

    def figures(self, found: Measured) -> Figures:
        """As the contract says."""
        assert self.data is not None
        records, seed = found.records, found.seed
        tables = (main_table(records, seed), baseline_table(records, self.data, found.system, seed))
        reasons = reason_table(records)
        scores = {"all": asdict(score(records, seed))}
        return Figures(scores, tables, (reasons,) if reasons is not None else ())

    def baseline(self, name: str, items: Sequence[BenchmarkItem], seed: int) -> Baseline:
        """One answer to all, or the most common ones."""
        if name in _WORDS:
            return Baseline([_rows(item.question, ((_WORDS[name],),)) for item in items])
        assert self.data is not None
        known = [item for item in items if item.gold is not None]
        prior, most = prior_named(
            name,
            [(item.more.template, plain_rows(item.more.rows)) for item in known],
            [(template, plain_rows(rows)) for template, rows in self.data.training],
        )
        by_id = dict(zip((item.question.id for item in known), prior.answers, strict=True))
        # It cannot know which questions have no answer, and gives those one too.
        said = [tuple(sorted(by_id.get(i.question.id, most), key=repr)) for i in items]
        answers = [_rows(item.question, rows) for item, rows in zip(items, said, strict=True)]
        told = ", ".join(self.data.training_files) or prior.source
        return Baseline(answers, {"chosen on": told})

    def perfect(self, item: BenchmarkItem, execute: Execute) -> Answer:
        """The gold program where there is one."""
        one: XqaItem = item.more
        if one.rows is None:
            return Answer(item.question, Status.ABSTAINED)
        return queried(item.question, one.query) if one.query else _rows(item.question, one.rows)

    @classmethod
    def sample(cls, folder: Path) -> tuple[Path, str]:
        """As the contract says."""
        count = "how many patients are there?"
        asked: list[dict[str, Any]] = [
            {"question": count, "query": "SELECT 10", "answer": [10], "is_impossible": False},
            {"question": "who wrote this?", "query": "nan", "is_impossible": True},
        ]
        rows = [{"id": k, "template": f"template {k}", **one} for k, one in enumerate(asked)]
        (folder / "test.json").write_text(json.dumps(rows), encoding="utf-8")
        return folder, "test"


def _item(item: XqaItem) -> BenchmarkItem:
    gold = None if item.rows is None else [list(row) for row in item.rows]
    return BenchmarkItem(Question(item.question, item.id), gold, item.template, item)


def _rows(question: Question, rows: tuple[Row, ...]) -> Answer:
    return Answer(question, Status.ANSWERED, rows=rows)


def _right(query: str | None, item: XqaItem, execute: Execute) -> tuple[bool, str | None]:
    """Does the program give the gold answer, and why not where it does not run?"""
    if query is None or item.rows is None:
        return False, None
    try:
        return same_answer(execute(query), item.rows), None
    except Cancelled:
        raise
    except EhrqaError as error:
        return False, error.message
