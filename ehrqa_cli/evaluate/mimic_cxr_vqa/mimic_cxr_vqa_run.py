"""A run over MIMIC-CXR-VQA: ask (or read answers), score, report; it can be resumed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.images import NotAnswered, Relation
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Question, Row, Status
from ehrqa_cli.evaluate.answering import reader_header
from ehrqa_cli.evaluate.files import code_hash, hash_file
from ehrqa_cli.evaluate.given import Given, read_given
from ehrqa_cli.evaluate.image_report import ImageReport
from ehrqa_cli.evaluate.journal import Journal, Plain
from ehrqa_cli.evaluate.mimic_cxr_vqa.baselines import answers_of
from ehrqa_cli.evaluate.mimic_cxr_vqa.load import VqaItem, VqaSet, label, load_vqa
from ehrqa_cli.evaluate.mimic_cxr_vqa.score import (
    Scored,
    baseline_table,
    main_table,
    relation_table,
    score,
    template_table,
)
from ehrqa_cli.evaluate.relations import (
    Case,
    RelationScores,
    auroc_rel,
    basics,
    labelled_cases,
    pair_aurocs,
    read_reference,
)
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.systems import OURS
from ehrqa_cli.vqa import Unparsed, Vqa, parse, study_answer

_YES_NO: dict[int | float, str] = {1: "yes", 0: "no"}


@dataclass(frozen=True)
class VqaRun:
    """One run. ``reader`` answers the questions, or ``predictions`` is a file of answers, or
    ``system`` is a baseline (systems.CXR_VQA).

    ``database`` is asked which studies there are; ``labels`` are gold scene graphs: with them
    AUROC covers all their relations in the studies asked about, without them the basic questions
    that the answers decide. ``reference`` is a table of the reference classifier's AUROC,
    ``text`` the field that is asked, ``progress`` is called with (done, all).
    """

    data: Path
    split: str
    reader: Vqa | None = None
    database: Database | None = None
    predictions: Path | None = None
    system: str = OURS
    labels: Vqa | None = None
    reference: Path | None = None
    out: Path | None = None
    limit: int | None = None
    seed: int = 0
    text: str = "question"
    progress: Callable[[int, int], None] = lambda _done, _all: None

    def run(self) -> ImageReport:
        """Load, answer (resuming), score, report. Raises EvaluationError."""
        data = load_vqa(self.data, self.split, text=self.text, study_of=self._study_of())
        items = every_nth(data.items, self.limit)
        reference = read_reference(self.reference) if self.reference else {}
        given, predictor = self._given(data, items)
        header = self._header(data, len(items), predictor)
        journal = Journal(self.out, header)
        if given is None:
            self._look([item for item in items if item.id not in journal.done])
        records = journal.run(
            [item.id for item in items],
            self._answers(items, given),
            lambda done: self.progress(done, len(items)),
        )
        report = self._report(header, data, items, (records, reference))
        if self.out is not None:
            report.write(self.out)
        return report

    def _given(
        self, data: VqaSet, items: Sequence[VqaItem]
    ) -> tuple[Mapping[str, Given] | None, Mapping[str, Any]]:
        if self.predictions is not None:
            given, digest = read_given(self.predictions, [item.id for item in items])
            return given, {"file": self.predictions.name, "sha256": digest}
        if not self.system.startswith(OURS):
            return answers_of(self.system, data, items)
        if self.reader is None:
            raise EvaluationError(
                "there is no reader of images", "name a folder of labels with --scene-graphs DIR"
            )
        return None, {"ehrqa": "vqa", **reader_header(self.reader)}

    def _header(self, data: VqaSet, count: int, predictor: Mapping[str, Any]) -> Plain:
        return {
            "benchmark": "mimic-cxr-vqa",
            "layout": data.layout,
            "split": data.split,
            "dataset_sha256": data.sha256,
            "database": self.database.fingerprint() if self.database else None,
            "asked": self.text,
            "questions": count,
            "predictor": dict(predictor),
            "labels": reader_header(self.labels) if self.labels else None,
            "reference_sha256": hash_file(self.reference) if self.reference else None,
            "seed": self.seed,
            "code": code_hash(),
        }

    def _answers(
        self, items: Sequence[VqaItem], given: Mapping[str, Given] | None
    ) -> Callable[[str], tuple[Plain, Plain]]:
        by_id = {item.id: item for item in items}

        def make(key: str) -> tuple[Plain, Plain]:
            item = by_id[key]
            started = time.perf_counter()
            found = self._ask(item) if given is None else _of_given(item, given[key])
            return _record(item, found), {"total": round(time.perf_counter() - started, 6)}

        return make

    def _look(self, items: Sequence[VqaItem]) -> None:
        """Let the reader read all images at once, in its own batches; it keeps what it saw."""
        assert self.reader is not None
        asked = (self.reader.ask(item.question) for item in items)
        first = next((one.question for one in asked if one.reason is None), None)
        if first is not None:
            with contextlib.suppress(NotAnswered):  # each question then says why itself
                self.reader.answer(first, list(dict.fromkeys(i.study_id for i in items)))

    def _ask(self, item: VqaItem) -> Plain:
        assert self.reader is not None
        question = Question(item.question, item.id, study_id=item.study_id)
        answer = study_answer(question, item.study_id, self.reader, self.database)
        if answer.status is not Status.ANSWERED:
            return {"status": answer.status.value, "why": answer.reason_kind}
        verify = self.reader.ask(item.question).verify
        found: Plain = {"status": "answered", "prediction": _labels(answer.rows, verify)}
        if answer.confidence is not None:
            found["confidence"] = answer.confidence
        return found

    def _study_of(self) -> Callable[[str], int | None]:
        if self.database is None or "tb_cxr" not in {n.lower() for n in self.database.schema()}:
            return lambda _image: None
        rows = self.database.execute(
            "SELECT image_id, study_id FROM tb_cxr", Limits(60.0, 1_000_000, 500_000_000)
        ).rows
        studies = {str(image): int(study) for image, study in rows if study is not None}
        return studies.get

    def _report(
        self,
        header: Plain,
        data: VqaSet,
        items: Sequence[VqaItem],
        found: tuple[Sequence[Plain], Mapping[Relation, float]],
    ) -> ImageReport:
        records, reference = found
        scored = [_scored(item, record) for item, record in zip(items, records, strict=True)]
        cases, basis = self._cases(items, records)
        pairs = pair_aurocs(cases, reference, seed=self.seed)
        relative = auroc_rel(pairs, reference, self.seed)
        system = "this system" if self.system == OURS else self.system
        if self.predictions is not None:
            system = self.predictions.name
        relations = relation_table(pairs, relative, basis)
        known = any(pair.auroc is not None for pair in pairs)
        tables = [main_table(scored, self.seed), baseline_table(scored, data, system, self.seed)]
        return ImageReport(
            header,
            {
                "all": asdict(score(scored, self.seed)),
                "relations": [asdict(p) | {"relative": p.relative} for p in pairs],
                "auroc_rel": asdict(relative) if relative else None,
            },
            (*tables, relations) if known else tuple(tables),
            (template_table(scored, self.seed),),
            () if known else relations.notes,
        )

    def _cases(self, items: Sequence[VqaItem], records: Sequence[Plain]) -> tuple[list[Case], str]:
        """Labelled relations and how probable the system finds them."""
        seen = self.predictions is None and self.system.startswith(OURS)
        scores = RelationScores(self.reader) if self.reader and seen else None
        if self.labels is not None and scores is not None:
            studies = sorted({item.study_id for item in items})
            found = list(labelled_cases(self.labels, studies, scores))
            return found, f"all relations of the labels in {len(studies)} studies"
        out = []
        for item, record in zip(items, records, strict=True):
            asked = list(_basics(item))
            for relation, present in asked:
                if present is None:
                    continue
                if scores is not None:
                    p = scores(relation, item.study_id)
                else:  # the probability of a compound says nothing of its parts
                    p = record.get("probability") if len(asked) == 1 else None
                out.append(Case(relation, item.study_id, present, p))
        return out, "basic questions that the gold answers decide"


def _basics(item: VqaItem) -> Iterator[tuple[Relation, bool | None]]:
    if item.of_category:
        return
    try:
        yield from basics(parse(item.question), item.answer)
    except Unparsed:
        return


def _record(item: VqaItem, found: Plain) -> Plain:
    prediction = found.get("prediction")
    return {
        "question": item.question,
        "study_id": item.study_id,
        "content_type": item.content_type,
        "semantic_type": item.semantic_type,
        "template": item.template,
        "gold": sorted(item.answer),
        "prediction": prediction,
        "status": found["status"],
        "correct": prediction is not None and frozenset(prediction) == item.answer,
        **{k: found[k] for k in ("why", "confidence", "probability") if k in found},
    }


def _of_given(item: VqaItem, given: Given) -> Plain:
    found: Plain = {"status": given.status, "why": given.why}
    if given.rows is not None:
        found["prediction"] = _labels(given.rows, item.semantic_type == "verify")
    elif given.status == "answered":
        raise EvaluationError(
            f"the prediction of question {item.id} is a query", "give the labels it answers with"
        )
    if given.probability is not None:
        found["probability"] = given.probability
    return found


def _labels(rows: Sequence[Row], verify: bool) -> list[str]:
    """The labels of an answer's rows; of a yes/no question 1 and 0 are yes and no."""
    values = [cell for row in rows for cell in row if cell is not None]
    if verify:
        values = [_YES_NO.get(v, v) if isinstance(v, int | float) else v for v in values]
    return sorted({label(value) for value in values})


def _scored(item: VqaItem, record: Plain) -> Scored:
    labels = record["prediction"]
    return Scored(
        item,
        None if labels is None else frozenset(labels),
        failed=record["status"] == "failed",
    )
