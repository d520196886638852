"""One run over Spider's files: a record a question, then the tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ehrqa_cli import __version__
from ehrqa_cli.contracts.errors import EvaluationError, UsageError
from ehrqa_cli.evaluate.journal import Journal, Plain, run_hash
from ehrqa_cli.evaluate.reports import RunReport
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.systems import ABSTAIN
from ehrqa_papers.spider.execution import Databases, is_ordered, same_rows_when_run
from ehrqa_papers.spider.hardness import hardness
from ehrqa_papers.spider.load import Pair, Pairs, load_pairs
from ehrqa_papers.spider.matching import comparable, exact_match, partial_match
from ehrqa_papers.spider.query import Query
from ehrqa_papers.spider.reading import Unreadable, read_sql
from ehrqa_papers.spider.schemas import Schemas, read_schemas
from ehrqa_papers.spider.scores import official_table, score, score_interactions, tables
from ehrqa_papers.versions import code_hash


@dataclass(frozen=True)
class SpiderReport:
    """``report`` is what is written; ``table`` the official one; ``unreadable`` how many
    predictions are no query of Spider's kind."""

    report: RunReport
    table: str
    unreadable: int


@dataclass(frozen=True)
class SpiderRun:
    """The files of one run; ``system`` (gold or abstain) takes the place of ``predictions``.
    Without ``databases`` nothing is executed; with them, every question whose database is there.
    ``limit`` takes every n-th question so that about that many remain."""

    gold: Path
    predictions: Path | None
    tables: Path
    databases: Path | None = None
    out: Path | None = None
    system: str | None = None
    limit: int | None = None
    progress: Callable[[int, int], None] = lambda _done, _all: None

    def run(self) -> SpiderReport:
        """Load, score (resuming), report. Raises EvaluationError, and DatabaseError for a damaged
        database."""
        schemas = read_schemas(self.tables)
        pairs = self._pairs(schemas)
        by_id = {pair.id: pair for pair in pairs.each}
        with self._opened() as databases:
            present = self._present(databases, pairs)

            def make(key: str) -> tuple[Plain, Plain]:
                started = time.perf_counter()
                pair = by_id[key]
                record = self._record(pair)
                self._execute(pair, record, databases if pair.schema.db_id in present else None)
                return record, {"total": round(time.perf_counter() - started, 6)}

            header = self._header(schemas, pairs, present)
            records = Journal(self.out, header).run(
                list(by_id), make, lambda done: self.progress(done, len(by_id))
            )
        return self._report(header, records, pairs)

    def _pairs(self, schemas: Schemas) -> Pairs:
        if self.predictions is not None:
            pairs = load_pairs(self.gold, self.predictions, schemas)
        else:
            pairs = load_pairs(self.gold, self.gold, schemas)  # gold predicts itself
            if self.system == ABSTAIN:
                each = tuple(replace(pair, prediction="") for pair in pairs.each)
                pairs = replace(pairs, each=each)
        if self.limit is None:
            return pairs
        if pairs.interactions > 1:
            raise UsageError("--limit would cut interactions apart", "measure them all")
        return replace(pairs, each=every_nth(pairs.each, self.limit))

    def _opened(self) -> AbstractContextManager[Databases | None]:
        return closing(Databases(self.databases)) if self.databases else nullcontext()

    def _present(self, databases: Databases | None, pairs: Pairs) -> dict[str, str]:
        """The databases of these questions that are there, with their fingerprints."""
        if databases is None:
            return {}
        wanted = sorted({pair.schema.db_id for pair in pairs.each})
        present = {name: databases.fingerprint(name) for name in wanted if databases.find(name)}
        if not present:
            raise EvaluationError(
                f"{databases.folder} has none of the databases of {self.gold}",
                f"expected {wanted[0]}/{wanted[0]}.sqlite there",
            )
        return present

    def _header(self, schemas: Schemas, pairs: Pairs, present: Mapping[str, str]) -> Plain:
        return {
            "benchmark": "spider",
            "dataset_sha256": run_hash({"gold": pairs.gold_sha256, "tables": schemas.sha256}),
            "gold": {"file": self.gold.name, "sha256": pairs.gold_sha256},
            "tables": {"file": self.tables.name, "sha256": schemas.sha256},
            "predictor": (
                {"file": self.predictions.name, "sha256": pairs.predictions_sha256}
                if self.predictions is not None
                else {"system": self.system}
            ),
            "databases": {"found": len(present), "hash": run_hash(dict(present))}
            if present
            else None,
            "questions": len(pairs.each),
            "limit": self.limit,
            "versions": {"ehrqa": __version__},
            "code": code_hash(),
        }

    def _record(self, pair: Pair) -> Plain:
        schema = pair.schema
        try:
            gold = read_sql(pair.gold, schema)
        except Unreadable as error:
            raise EvaluationError(
                f"line {pair.line} of {self.gold} is no query of Spider's kind: {error}",
                "check that --tables is of the same version; docs/evaluation-spider.md says what"
                " can be read",
            ) from None
        why = None
        try:
            predicted = read_sql(pair.prediction, schema)
        except Unreadable as error:
            predicted, why = Query(), str(error)
        level = hardness(gold)
        one, other = comparable(predicted, schema), comparable(gold, schema)
        return {
            "db_id": schema.db_id,
            "gold": pair.gold,
            "prediction": pair.prediction,
            "hardness": level,
            "ordered": is_ordered(gold),
            "readable": why is None,
            "why": why,
            "correct": exact_match(one, other),
            "partial": {name: asdict(part) for name, part in partial_match(one, other).items()},
        }

    def _execute(self, pair: Pair, record: Plain, databases: Databases | None) -> None:
        """Adds ``execution``, and ``execution_why`` where a prediction does not run."""
        record["execution"] = None
        if databases is not None:
            record["execution"], record["execution_why"] = same_rows_when_run(
                databases, pair.schema.db_id, pair.gold, pair.prediction, record["ordered"]
            )

    def _report(self, header: Plain, records: list[Plain], pairs: Pairs) -> SpiderReport:
        scores: dict[str, Any] = score(records)
        whole = score_interactions(records) if pairs.interactions > 1 else None
        unreadable = sum(not record["readable"] for record in records)
        executed = scores["all"]["executed"]
        notes = [f"{unreadable} of {len(records)} predictions are no query of Spider's kind"]
        if header["databases"] and executed < len(records):
            notes.append(f"only {executed} of {len(records)} questions have a database")
        figures = {**scores, "unreadable": unreadable}
        report = RunReport(
            header,
            {**figures, "interactions": whole} if whole else figures,
            tables(scores, whole),
            notes=tuple(notes),
        )
        if self.out is not None:
            report.write(self.out)
        return SpiderReport(report, official_table(scores, whole), unreadable)
