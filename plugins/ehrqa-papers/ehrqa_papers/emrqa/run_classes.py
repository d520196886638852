"""emrQA's class prediction: smoking status and obesity from the whole note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.benchmarks import Cells, FigureTable
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.calibration import wilson
from ehrqa_cli.evaluate.files import check_ids, hash_file
from ehrqa_cli.evaluate.journal import Journal, Plain
from ehrqa_cli.evaluate.predictions import check_all, parse_predictions
from ehrqa_cli.evaluate.reports import RunReport
from ehrqa_cli.evaluate.shares import Share
from ehrqa_cli.evaluate.systems import ABSTAIN, GOLD
from ehrqa_papers.emrqa.classes import SYSTEMS, ClassItem, ClassSplit, split
from ehrqa_papers.emrqa.emrqa_run import EmrRun
from ehrqa_papers.emrqa.i2b2 import read_i2b2
from ehrqa_papers.emrqa.load import FILES, load_emrqa
from ehrqa_papers.systems import EMR_CLASSES
from ehrqa_papers.versions import code_hash

if TYPE_CHECKING:
    from pathlib import Path


def run_classes(run: EmrRun) -> RunReport:
    """Train each system on 80% of the records, measure it on the rest, and report."""
    items, sha256, layout = load_classes(run.folder(), run.seed, run.split)
    data = split(items, run.seed)
    predicted = _predicted(run.finder, data)
    given: Mapping[str, Any] = {}
    if run.predictions is not None:
        given = parse_predictions(run.predictions)
        check_all(run.predictions, [item.id for item in data.test], given)
        predicted[run.predictions.name] = [_label(given[item.id]) for item in data.test]
    header = {
        "benchmark": "emrqa",
        "task": run.task,
        "split": run.split,
        "layout": layout,
        "dataset_sha256": sha256,
        "train": len(data.train),
        "test": len(data.test),
        "predictions_sha256": hash_file(run.predictions) if run.predictions else None,
        "systems": list(predicted),
        "seed": run.seed,
        "code": code_hash(),
    }
    place = {item.id: k for k, item in enumerate(data.test)}

    def make(key: str) -> tuple[Plain, Plain]:
        item = data.test[place[key]]
        answers = {name: labels[place[key]] for name, labels in predicted.items()}
        return {"question": item.question, "gold": item.label, "predictions": answers}, {}

    Journal(run.out, header).run(place, make, lambda done: run.progress(done, len(place)))
    return _report(header, data, predicted)


def _predicted(name: str | None, data: ClassSplit) -> dict[str, Sequence[str]]:
    """The labels by each system, or by the one that is asked for."""
    if name is None:
        return {each: predict(data) for each, predict in SYSTEMS.items()}
    if name == GOLD:
        return {name: [item.label for item in data.test]}
    if name == ABSTAIN:
        return {name: ["" for _ in data.test]}
    shown = EMR_CLASSES[name]
    return {shown: SYSTEMS[shown](data)}


def load_classes(
    folder: Path, seed: int, part: str | None = None
) -> tuple[list[ClassItem], str, str]:
    """Cases of emrQA's data.json where the folder has it, else of i2b2's XML files; their hash, and
    which it was. Raises EvaluationError."""
    if part or any((folder / name).is_file() for name in FILES) or not folder.is_dir():
        data = load_emrqa(folder, seed, part)
        found = [
            ClassItem(
                q.id,
                f"{q.title}/{q.note_id}",
                q.question,
                data.notes[q.title, q.note_id],
                str(q.label),
            )
            for q in data.classes
        ]
        sha256, layout = data.sha256, "emrqa"
    else:
        records, sha256 = read_i2b2(folder)
        found = [
            ClassItem(f"{r.asked}/{r.record_id}", r.record_id, r.asked, r.text, r.label)
            for r in records
        ]
        layout = "i2b2"
    if not found:
        raise EvaluationError(
            f"{folder} has no labelled records",
            "expected emrQA's data.json with smoking or obesity, or the XML files of i2b2's"
            " smoking and obesity challenges",
        )
    check_ids([item.id for item in found], folder)
    return found, sha256, layout


def _label(value: Any) -> str:
    if isinstance(value, dict):
        value = next((value[n] for n in ("prediction", "value", "text") if value.get(n)), "")
    return str(value or "").strip().lower()


def _report(header: Plain, data: ClassSplit, predicted: Mapping[str, Sequence[str]]) -> RunReport:
    asked = sorted({item.question for item in data.test})
    rows = tuple(_row(name, data, labels, None) for name, labels in predicted.items())
    parts = tuple(
        (question, tuple(_row(n, data, labels, question) for n, labels in predicted.items()))
        for question in asked
    )
    table = FigureTable(
        "7",
        "class prediction",
        ("", "records", "accuracy %"),
        (("", rows), *(parts if len(asked) > 1 else ())),
        ("95% intervals of Wilson; a record stands in training or in test with all its questions",),
    )
    scores = {name: _accuracy(data, labels, None)[1].value for name, labels in predicted.items()}
    return RunReport(header, {"accuracy": scores}, (table,))


def _row(name: str, data: ClassSplit, labels: Sequence[str], question: str | None) -> Cells:
    count, accuracy = _accuracy(data, labels, question)
    return name, count, accuracy.percent()


def _accuracy(data: ClassSplit, labels: Sequence[str], question: str | None) -> tuple[int, Share]:
    right = [
        item.label == label
        for item, label in zip(data.test, labels, strict=True)
        if question in (None, item.question)
    ]
    if not right:
        return 0, Share(None)
    value = sum(right) / len(right)
    return len(right), Share(value, *wilson(value, len(right)))
