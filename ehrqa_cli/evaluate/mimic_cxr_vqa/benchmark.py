"""MIMIC-CXR-VQA as a benchmark: a set of labels for each question about one image."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
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
)
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.images import NotAnswered, Relation
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Answer, Limits, Question, Row, Status
from ehrqa_cli.evaluate.answering import System, reader_header
from ehrqa_cli.evaluate.files import hash_file
from ehrqa_cli.evaluate.mimic_cxr_vqa.load import VqaItem, VqaSet, label, load_vqa
from ehrqa_cli.evaluate.mimic_cxr_vqa.relations import (
    Case,
    RelationScores,
    auroc_rel,
    basics,
    labelled_cases,
    pair_aurocs,
    read_reference,
)
from ehrqa_cli.evaluate.mimic_cxr_vqa.score import (
    baseline_table,
    main_table,
    relation_table,
    score,
    template_table,
)
from ehrqa_cli.evaluate.priors import prior_named
from ehrqa_cli.evaluate.systems import CXR_VQA
from ehrqa_cli.vqa import Unparsed, Vqa, parse, study_answer

_YES_NO: dict[int | float, str] = {1: "yes", 0: "no"}


class MimicCxrVqa(Benchmark):
    """``reader`` is the reader of images that is measured, None where another system is.

    ``database`` is asked which studies there are; ``labels`` are gold scene graphs: with them
    AUROC covers all their relations in the studies asked about, without them the basic questions
    that the answers decide. ``reference`` is a table of the reference classifier's AUROC,
    ``text`` the field that is asked.
    """

    name: ClassVar[str] = "mimic-cxr-vqa"
    about: ClassVar[str] = "one chest X-ray; accuracy, F1, AUROC by relation, priors"
    needs: ClassVar[str] = "SPLIT.json, or vqa_questions.jsonl of an open re-creation"
    systems: ClassVar[Mapping[str, str]] = CXR_VQA
    together: ClassVar[str] = "study_id"
    header: ClassVar[tuple[str, ...]] = (
        *("benchmark", "layout", "split", "dataset_sha256", "database", "asked", "questions"),
        *("predictor", "labels", "reference_sha256", "seed", "code"),
    )

    def __init__(
        self,
        reader: Vqa | None = None,
        database: Database | None = None,
        labels: Vqa | None = None,
        reference: Path | None = None,
        text: str = "question",
    ) -> None:
        self.reader, self.database, self.labels = reader, database, labels
        self.reference, self.text = reference, text
        self.data: VqaSet | None = None
        self.referred: Mapping[Relation, float] = {}

    def load(self, data: Path, split: str) -> Sequence[BenchmarkItem]:
        """As the contract says."""
        study_of = _studies(self.database)
        self.data = load_vqa(data, split, text=self.text, study_of=study_of.get)
        self.referred = read_reference(self.reference) if self.reference else {}
        return [
            BenchmarkItem(
                Question(item.question, item.id, study_id=item.study_id),
                sorted(item.answer),
                item.template,
                item,
            )
            for item in self.data.items
        ]

    def facts(self) -> Mapping[str, Any]:
        """As the contract says."""
        assert self.data is not None
        return {
            "layout": self.data.layout,
            "split": self.data.split,
            "dataset_sha256": self.data.sha256,
            "database": self.database.fingerprint() if self.database else None,
            "asked": self.text,
            "labels": reader_header(self.labels) if self.labels else None,
            "reference_sha256": hash_file(self.reference) if self.reference else None,
        }

    def asked(self) -> System:
        """The reader of images as what is measured. Raises EvaluationError without one."""
        reader = self.reader
        if reader is None:
            raise EvaluationError(
                "there is no reader of images", "name a folder of labels with --scene-graphs DIR"
            )

        def answers(items: Sequence[BenchmarkItem]) -> Iterator[Answer]:
            _look(reader, items)
            for item in items:
                started = time.perf_counter()
                study = item.more.study_id
                answer = study_answer(item.question, study, reader, self.database)
                labels = _labels(answer.rows, reader.ask(item.question.text).verify)
                seconds = round(time.perf_counter() - started, 6)
                rows = tuple((one,) for one in labels)
                yield replace(answer, rows=rows, timings={"total": seconds})

        return System("this system", {"ehrqa": "vqa", **reader_header(reader)}, answers)

    def record(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> dict[str, Any]:
        """As the contract says."""
        one: VqaItem = item.more
        if answer.status is Status.ANSWERED and answer.error is not None:
            raise EvaluationError(
                f"the prediction of question {one.id} is a query", "give the labels it answers with"
            )
        given = answer.status is Status.ANSWERED
        prediction = _labels(answer.rows, one.semantic_type == "verify") if given else None
        record: dict[str, Any] = {
            "question": one.question,
            "study_id": one.study_id,
            "content_type": one.content_type,
            "semantic_type": one.semantic_type,
            "template": one.template,
            "gold": sorted(one.answer),
            "prediction": prediction,
            "status": answer.status.value,
            "correct": prediction is not None and frozenset(prediction) == one.answer,
        }
        if not given or answer.neuralsql is None:  # of what was read off the image there is none
            record["why"] = answer.reason_kind
        if given and answer.confidence is not None:
            record["confidence"] = answer.confidence
        if "probability" in answer.scores:
            record["probability"] = answer.scores["probability"]
        return record

    def score(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> Record:
        """As the contract says."""
        return self.record(item, answer, execute)

    def measures(self, records: Sequence[Record]) -> Mapping[str, Measure]:
        """As the contract says; what was declined counts as wrong."""

        def micro(r: Record) -> tuple[float, float]:
            given, gold = set(r["prediction"] or ()), set(r["gold"])
            return 2.0 * len(given & gold), float(len(given) + len(gold))

        return {
            "accuracy": lambda r: (float(r["correct"]), 1.0),
            "micro-F1": micro,
            "accuracy of answered": of_answered,
        }

    def figures(self, found: Measured) -> Figures:
        """As the contract says."""
        assert self.data is not None
        records, seed = found.records, found.seed
        cases, basis = self._cases(found)
        pairs = pair_aurocs(cases, self.referred, seed=seed)
        relative = auroc_rel(pairs, self.referred, seed)
        relations = relation_table(pairs, relative, basis)
        known = any(pair.auroc is not None for pair in pairs)
        tables = (main_table(records, seed), baseline_table(records, self.data, found.system, seed))
        return Figures(
            {
                "all": asdict(score(records, seed)),
                "relations": [asdict(p) | {"relative": p.relative} for p in pairs],
                "auroc_rel": asdict(relative) if relative else None,
            },
            (*tables, relations) if known else tables,
            (template_table(records, seed),),
            () if known else relations.notes,
        )

    def _cases(self, found: Measured) -> tuple[list[Case], str]:
        """Labelled relations and how probable the system finds them."""
        scores = RelationScores(self.reader) if self.reader else None
        if self.labels is not None and scores is not None:
            studies = sorted({item.more.study_id for item in found.items})
            cases = list(labelled_cases(self.labels, studies, scores))
            return cases, f"all relations of the labels in {len(studies)} studies"
        out = []
        for item, record in zip(found.items, found.records, strict=True):
            asked = list(_basics(item.more))
            for relation, present in asked:
                if present is None:
                    continue
                if scores is not None:
                    p = scores(relation, item.more.study_id)
                else:  # the probability of a compound says nothing of its parts
                    p = record.get("probability") if len(asked) == 1 else None
                out.append(Case(relation, item.more.study_id, present, p))
        return out, "basic questions that the gold answers decide"

    def baseline(self, name: str, items: Sequence[BenchmarkItem], seed: int) -> Baseline:
        """The paper's two priors."""
        assert self.data is not None
        measured = [(item.more.template, item.more.answer) for item in items]
        prior, _ = prior_named(name, measured, self.data.training)
        said = zip(items, prior.answers, strict=True)
        told = ", ".join(self.data.training_files) or prior.source
        return Baseline([_given(item, found) for item, found in said], {"chosen on": told})

    def perfect(self, item: BenchmarkItem, execute: Execute) -> Answer:
        """As the contract says."""
        return _given(item, item.more.answer)

    @classmethod
    def sample(cls, folder: Path) -> tuple[Path, str]:
        """As the contract says."""
        asked: tuple[tuple[str, list[str], str], ...] = (
            ("Is there scoliosis in the spine?", ["yes"], "verify"),
            ("List all anatomical findings.", ["scoliosis", "spine"], "query"),
            ("List all devices.", [], "query"),
        )
        rows = [
            {
                "idx": number,
                "study_id": 501,
                "question": question,
                "answer": answer,
                "content_type": "presence",
                "semantic_type": kind,
                "template_program": f"program_{number}",
            }
            for number, (question, answer, kind) in enumerate(asked)
        ]
        (folder / "test.json").write_text(json.dumps(rows), encoding="utf-8")
        return folder, "test"


def _studies(database: Database | None) -> Mapping[str, int]:
    """The study of each image that the EHR registers."""
    if database is None or "tb_cxr" not in {name.lower() for name in database.schema()}:
        return {}
    rows = database.execute(
        "SELECT image_id, study_id FROM tb_cxr", Limits(60.0, 1_000_000, 500_000_000)
    ).rows
    return {str(image): int(study) for image, study in rows if study is not None}


def _look(reader: Vqa, items: Sequence[BenchmarkItem]) -> None:
    """Let the reader read all images at once, in its own batches; it keeps what it saw."""
    asked = (reader.ask(item.question.text) for item in items)
    first = next((one.question for one in asked if one.reason is None), None)
    if first is not None:
        with contextlib.suppress(NotAnswered):  # each question then says why itself
            reader.answer(first, list(dict.fromkeys(i.more.study_id for i in items)))


def _given(item: BenchmarkItem, labels: frozenset[str]) -> Answer:
    rows: tuple[Row, ...] = tuple((one,) for one in sorted(labels))
    return Answer(item.question, Status.ANSWERED, rows=rows)


def _basics(item: VqaItem) -> Iterator[tuple[Relation, bool | None]]:
    if item.of_category:
        return
    try:
        yield from basics(parse(item.question), item.answer)
    except Unparsed:
        return


def _labels(rows: Sequence[Row], verify: bool) -> list[str]:
    """The labels of an answer's rows; of a yes/no question 1 and 0 are yes and no."""
    values = [cell for row in rows for cell in row if cell is not None]
    if verify:
        values = [_YES_NO.get(v, v) if isinstance(v, int | float) else v for v in values]
    return sorted({label(value) for value in values})
