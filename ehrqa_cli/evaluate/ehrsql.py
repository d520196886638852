"""EHRSQL (Lee et al. 2022, and the 2024 shared task): run it, score it officially, report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EhrqaError, EvaluationError
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import Question
from ehrqa_cli.engine import Mode, Session, open_session
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.engine.sources import sources_of
from ehrqa_cli.evaluate.execution import SCORING, Judge, official_text, open_judge
from ehrqa_cli.evaluate.fewshot import QueryWriter
from ehrqa_cli.evaluate.files import code_hash, hash_file, write_whole
from ehrqa_cli.evaluate.journal import RECORDS, Journal, Made
from ehrqa_cli.evaluate.load import NULL, Dataset, Item, load_ehrsql, train_skeletons, unseen
from ehrqa_cli.evaluate.records import Record, join_record, split_record
from ehrqa_cli.evaluate.report import Report, make_report
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.systems import GOLD, OURS

__all__ = ["RECORDS", "SCORING", "EhrSqlRun", "Judge", "official_text", "run_ehrsql"]

Schema = Mapping[str, Sequence[str]]


def run_ehrsql(data: Path, split: str, db: Path, **options: Any) -> Report:
    """Measure a model, or a file of predictions, on an EHRSQL split.

    ``options`` are the further fields of EhrSqlRun. Raises EvaluationError for files that are not
    what is expected, and what opening the database or the model raises.
    """
    return EhrSqlRun(data, split, db, **options).run()


@dataclass(frozen=True)
class EhrSqlRun:
    """One run. ``out`` is a folder for records, predictions and the report (None: nothing is
    written). What is measured: ``model``, or ``predictions``, a JSON object {id: SQL or null} or
    JSON Lines of {id, prediction}, or ``writer``, which is opened with the tables and columns, or
    the baseline ``system`` (gold or abstain). ``limit`` takes every n-th question so that about
    that many remain; ``thresholds`` go before those stored with the model; ``seed`` is that of the
    intervals; ``workers`` is how many processes answer (see engine.many; the answers are the
    same); ``progress`` is called with (done, all)."""

    data: Path
    split: str
    db: Path
    out: Path | None = None
    predictions: Path | None = None
    system: str = OURS
    writer: Callable[[Schema], QueryWriter] | None = None
    limit: int | None = None
    model: str | Text2Sql = "local"
    mode: Mode = Mode.NORMAL
    thresholds: Thresholds | None = None
    as_of: str | None = None
    seed: int = 0
    workers: int | None = None
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
        items = every_nth(dataset.items, self.limit)
        asks = self.predictions is None and self.writer is None and self.system.startswith(OURS)
        with ExitStack() as stack:
            session = stack.enter_context(
                open_session(
                    self.db,
                    model=self.model,
                    as_of=self.as_of,
                    log=False,
                    thresholds=self.thresholds,
                    mode=self.mode,
                )
            )
            judge = open_judge(stack, items, session if asks else None, self.db, self.as_of, new)
            predict, predictor = self._predictor(stack, session, items, judge)
            header = self._header(dataset, judge, predictor, session.versions)
            records = self._records(items, header, predict)
        report = make_report(header, records, split_seen=known is not None, seed=self.seed)
        if self.out is not None:
            _write(self.out, report, records)
        return report

    def _predictor(
        self, stack: ExitStack, session: Session, items: Sequence[Item], judge: Judge
    ) -> tuple[Callable[[Sequence[Item]], Iterable[Record]], dict[str, Any]]:
        """What makes the records of questions, in their order, and what the header says of it."""
        if self.predictions is not None:
            given, digest = read_predictions(self.predictions)
            missing = [item.id for item in items if item.id not in given]
            if missing:
                raise EvaluationError(
                    f"{self.predictions} lacks {len(missing)} of {len(items)} questions",
                    f"give each an SQL or null; the first is {missing[0]}",
                )
            made: dict[str, Any] = {"file": self.predictions.name, "sha256": digest}
            return (lambda todo: (judge.of_sql(item, given[item.id]) for item in todo)), made
        if self.writer is not None:
            writer = self.writer(judge.database.schema())
            stack.callback(writer.close)
            made = dict(writer.provenance())
            return (lambda todo: (_written(item, writer, judge) for item in todo)), made
        if not self.system.startswith(OURS):
            gold = self.system == GOLD
            return (
                lambda todo: (judge.of_sql(item, item.gold if gold else None) for item in todo)
            ), {"system": self.system}
        made = {**session.model.provenance(), "thresholds": _digest(session.thresholds)}
        made |= sources_of(session)
        if self.mode is not Mode.NORMAL:
            made["mode"] = self.mode.value
        return (lambda todo: self._answers(todo, session, judge)), made

    def _answers(self, todo: Sequence[Item], session: Session, judge: Judge) -> Iterator[Record]:
        questions = [Question(text=item.question, id=item.id) for item in todo]
        answers = session.ask_many(questions, workers=self.workers)
        for item, answer in zip(todo, answers, strict=True):
            yield judge.of_answer(item, answer)

    def _header(
        self,
        dataset: Dataset,
        judge: Judge,
        predictor: dict[str, Any],
        versions: Mapping[str, str],
    ) -> dict[str, Any]:
        return {
            "dataset": dataset.name,
            "split": dataset.split,
            "version": dataset.version,
            "dataset_sha256": dataset.sha256,
            "database_sha256": (
                hash_file(self.db) if self.db.is_file() else judge.database.fingerprint()
            ),
            "as_of": judge.as_of,
            "limit": self.limit,
            "predictor": predictor,
            "seed": self.seed,
            "versions": dict(versions),
            "code": code_hash(),
        }

    def _records(
        self,
        items: Sequence[Item],
        header: dict[str, Any],
        predict: Callable[[Sequence[Item]], Iterable[Record]],
    ) -> list[Record]:
        journal = Journal(self.out, header)
        by_id = {item.id: item for item in items}

        def make(todo: Sequence[str]) -> Iterator[Made]:
            for record in predict([by_id[key] for key in todo]):
                yield record.id, *split_record(record)

        def tell(done: int) -> None:
            if self.progress is not None:
                self.progress(done, len(items))

        found = journal.run_many(list(by_id), make, tell)
        return [join_record(line, journal.seconds.get(line["id"], {})) for line in found]


def _written(item: Item, writer: QueryWriter, judge: Judge) -> Record:
    try:
        written = writer.write(item.question)
    except EhrqaError as error:  # one question that fails is a row, never the end of the run
        told = judge.of_sql(item, None)
        return replace(told, status="failed", why=error.message)
    total = sum(written.seconds.values())
    return judge.of_sql(item, written.query, {**written.seconds, "total": round(total, 6)})


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


def _write(out: Path, report: Report, records: Sequence[Record]) -> None:
    predictions = {r.id: r.prediction if r.prediction is not None else NULL for r in records}
    files = {
        "predictions.json": json.dumps(predictions, indent=1),
        "report.json": json.dumps(report.as_dict(), indent=1),
        "report.md": report.as_markdown(),
    }
    try:
        for name, text in files.items():
            write_whole(out / name, text)
    except OSError as error:
        raise EvaluationError(f"cannot write to {out}: {error.strerror}", "check --out") from None


def _digest(thresholds: Thresholds) -> str:
    text = json.dumps(thresholds.as_dict(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
