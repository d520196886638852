"""EHRSQL (Lee et al. 2022, and the 2024 shared task): run it, score it officially, report.

Official scoring executes the predicted and the gold query and compares their rows as
metrics.comparable prints them. The published answers are used where there are any: they equal the
execution of the gold queries on the published database (a test checks it).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import DatabaseError, EhrqaError, EvaluationError
from ehrqa_cli.contracts.plugins import Database, Text2Sql
from ehrqa_cli.contracts.types import Answer, Limits, Question, Row, Status
from ehrqa_cli.engine import Mode, Session, ask, open_session
from ehrqa_cli.engine.confidence import Thresholds
from ehrqa_cli.evaluate.load import NULL, Dataset, Item, load_ehrsql, train_skeletons, unseen
from ehrqa_cli.evaluate.metrics import comparable
from ehrqa_cli.evaluate.records import Record, Records
from ehrqa_cli.evaluate.report import Report, make_report

# Gold queries are trusted and some give many rows; all are read before the first 100 are taken.
SCORING = Limits(seconds=120.0, rows=1_000_000, length=50_000_000)
RECORDS = "records.jsonl"

Predictor = Callable[[Item], Record]


def run_ehrsql(data: Path, split: str, db: Path, **options: Any) -> Report:
    """Measure a model, or a file of predictions, on an EHRSQL split.

    ``options`` are the further fields of EhrSqlRun. Raises EvaluationError for files that are not
    what is expected, and what opening the database or the model raises.
    """
    return EhrSqlRun(data, split, db, **options).run()


@dataclass(frozen=True)
class EhrSqlRun:
    """One run. ``out`` is a folder for records, predictions and the report (None: nothing is
    written); ``predictions`` a JSON object {id: SQL or null}, or JSON Lines of {id, prediction};
    ``limit`` takes every n-th question so that about that many remain; ``thresholds`` go before
    those stored with the model; ``progress`` is called with (done, all)."""

    data: Path
    split: str
    db: Path
    out: Path | None = None
    predictions: Path | None = None
    limit: int | None = None
    model: str | Text2Sql = "local"
    mode: Mode = Mode.NORMAL
    thresholds: Thresholds | None = None
    progress: Callable[[int, int], None] | None = None

    def run(self) -> Report:
        """Load, predict (resuming), score, report."""
        dataset = load_ehrsql(self.data, self.split)
        if not all(item.labelled for item in dataset.items):
            raise EvaluationError(
                f"{self.split} has no labels (label.json)", "measure on a split that has them"
            )
        known = train_skeletons(self.data, self.split)
        new = unseen(dataset, known) if known is not None else frozenset()
        items = _every_nth(dataset.items, self.limit)
        with open_session(
            self.db, model=self.model, log=False, thresholds=self.thresholds, mode=self.mode
        ) as session:
            predict, predictor = self._predictor(session, items, new)
            header = self._header(dataset, session, predictor)
            records = list(self._records(items, header, predict))
        report = make_report(header, records, split_seen=known is not None)
        if self.out is not None:
            _write(self.out, report, records)
        return report

    def _predictor(
        self, session: Session, items: tuple[Item, ...], new: frozenset[str]
    ) -> tuple[Predictor, dict[str, Any]]:
        judge = Judge(session.database, session.as_of, new)
        if self.predictions is None:
            made = {**session.model.provenance(), "thresholds": _digest(session.thresholds)}
            return (lambda item: judge.of_answer(item, _ask(item, session))), made
        given, digest = read_predictions(self.predictions)
        missing = [item.id for item in items if item.id not in given]
        if missing:
            raise EvaluationError(
                f"{self.predictions} lacks {len(missing)} of {len(items)} questions",
                f"give each an SQL or null; the first is {missing[0]}",
            )
        made = {"file": self.predictions.name, "sha256": digest}
        return (lambda item: judge.of_sql(item, given[item.id])), made

    def _header(
        self, dataset: Dataset, session: Session, predictor: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "dataset": dataset.name,
            "split": dataset.split,
            "version": dataset.version,
            "dataset_sha256": dataset.sha256,
            "database_sha256": _hash_file(self.db),
            "as_of": session.as_of,
            "limit": self.limit,
            "predictor": predictor,
            "versions": session.versions,
        }

    def _records(
        self, items: tuple[Item, ...], header: dict[str, Any], predict: Predictor
    ) -> Iterator[Record]:
        store = Records(self.out / RECORDS, header) if self.out is not None else None
        for number, item in enumerate(items, 1):
            record = store.done.get(item.id) if store else None
            if record is None:
                record = predict(item)
                if store:
                    store.add(record)
            if self.progress:
                self.progress(number, len(items))
            yield record


@dataclass(frozen=True)
class Judge:
    """Decides whether a prediction is right, by execution."""

    database: Database
    as_of: str
    unseen: frozenset[str]

    def of_answer(self, item: Item, answer: Answer) -> Record:
        """Score what the engine answered."""
        answered = answer.status is Status.ANSWERED
        why = f"{answer.reason_kind}: {answer.reason}" if answer.reason_kind else None
        if answer.error:
            why = f"{answer.error['message']} ({answer.error['hint']})"
        correct = False
        if answered and item.gold is not None:
            rows = answer.rows
            if answer.truncated and answer.neuralsql:
                rows = self._execute(answer.neuralsql)
            correct = comparable(rows) == self._gold(item)
        return Record(
            id=item.id,
            question=item.question,
            gold=item.gold,
            prediction=answer.neuralsql if answered else None,
            status=answer.status.value,
            correct=correct,
            unseen=item.id in self.unseen,
            why=why,
            logical_form=answer.logical_form,
            confidence=answer.confidence,
            scores=answer.scores,
            timings=answer.timings,
            withheld_right=self._withheld(item, answer),
        )

    def _withheld(self, item: Item, answer: Answer) -> bool | None:
        """Would the query that was written and withheld have been right? None without one. The
        risk-coverage curve needs it; no score counts it."""
        if answer.status is not Status.ABSTAINED or answer.neuralsql is None:
            return None
        if item.gold is None:
            return False
        try:
            return comparable(self._execute(answer.neuralsql)) == self._gold(item)
        except DatabaseError:
            return False

    def of_sql(self, item: Item, sql: str | None) -> Record:
        """Score a predicted query, with the small repairs that the official scorer makes. One
        that does not run is a wrong answer."""
        correct, why = False, None
        if sql is not None and item.gold is not None:
            try:
                correct = comparable(self._execute(official_text(sql))) == self._gold(item)
            except DatabaseError as error:
                why = error.message
        return Record(
            id=item.id,
            question=item.question,
            gold=item.gold,
            prediction=sql,
            status="abstained" if sql is None else "answered",
            correct=correct,
            unseen=item.id in self.unseen,
            why=why,
        )

    def _gold(self, item: Item) -> str:
        assert item.gold is not None
        return item.answer or comparable(self._execute(item.gold))

    def _execute(self, sql: str) -> tuple[Row, ...]:
        return neuralsql.run(sql, self.database, as_of=self.as_of, limits=SCORING)[0].rows


def official_text(sql: str) -> str:
    """The official scorer's repairs: one line, single spaces, operators not split."""
    text = re.sub(" +", " ", sql.replace("\n", " ")).strip()
    return text.replace("> =", ">=").replace("< =", "<=").replace("! =", "!=")


def read_predictions(path: Path) -> tuple[dict[str, str | None], str]:
    """Predictions by question id, and the file's SHA-256. Raises EvaluationError."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EvaluationError(f"cannot read {path}: {error}", "check the path") from None
    try:
        raw = _parse_predictions(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise EvaluationError(
            f"{path} holds no predictions", 'expected {"id": "SELECT ..." or null, ...}'
        ) from None
    return raw, hashlib.sha256(content).hexdigest()


def _parse_predictions(text: str) -> dict[str, str | None]:
    try:
        raw = json.loads(text)
        if "id" in raw and "prediction" in raw:
            raise ValueError  # JSON Lines of one line
    except ValueError:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        raw = {str(x["id"]): x["prediction"] for x in lines if "header" not in x}
    return {str(k): None if v is None or v == NULL else str(v) for k, v in raw.items()}


def _ask(item: Item, session: Session) -> Answer:
    question = Question(text=item.question, id=item.id)
    try:
        return ask(question, session)
    except EhrqaError as error:  # a question the engine refuses to read is a row, not the end
        told = {"message": error.message, "hint": error.hint}
        return Answer(question, Status.FAILED, error=told)


def _every_nth(items: tuple[Item, ...], limit: int | None) -> tuple[Item, ...]:
    # The files are sorted by template; the first n would be of a few templates only.
    if limit is None or limit >= len(items):
        return items
    return tuple(items[i * len(items) // limit] for i in range(max(1, limit)))


def _write(out: Path, report: Report, records: list[Record]) -> None:
    predictions = {r.id: r.prediction if r.prediction is not None else NULL for r in records}
    files = {
        "predictions.json": json.dumps(predictions, indent=1),
        "report.json": json.dumps(report.as_dict(), indent=1),
        "report.md": report.as_markdown(),
    }
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")


def _digest(thresholds: Thresholds) -> str:
    text = json.dumps(thresholds.as_dict(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
