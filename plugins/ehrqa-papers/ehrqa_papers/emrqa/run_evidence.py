"""emrQA's evidence retrieval: a finder's or a file's lines, scored as the paper does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ehrqa_cli.contracts.benchmarks import Cells, FigureTable
from ehrqa_cli.contracts.errors import EhrqaError, EvaluationError
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.evaluate.files import hash_file
from ehrqa_cli.evaluate.journal import Journal, Plain
from ehrqa_cli.evaluate.note_answers import NoteSystem
from ehrqa_cli.evaluate.predictions import check_all, parse_predictions
from ehrqa_cli.evaluate.reports import RunReport
from ehrqa_cli.evaluate.sample import every_nth
from ehrqa_cli.evaluate.shares import Share, share
from ehrqa_cli.evaluate.systems import ABSTAIN, GOLD
from ehrqa_papers.emrqa.emrqa_run import EmrRun
from ehrqa_papers.emrqa.evidence import Finder, Piece, bm25, by_vectors, score
from ehrqa_papers.emrqa.load import EmrQuestion, EmrSet, load_emrqa
from ehrqa_papers.versions import code_hash

Found = Callable[[EmrQuestion, str], Sequence[Piece]]


def run_evidence(run: EmrRun) -> RunReport:
    """Find the evidence of every question (or read it), score and report; it can be resumed."""
    data = load_emrqa(run.folder(), run.seed, run.split)
    items = every_nth(data.evidence, run.limit)
    if not items:
        raise EvaluationError(
            f"{run.data} has no questions with evidence", "for its classes give --task classes"
        )
    found, predictor = _finder(run, items, data)
    header = _header(run, data, items, predictor)
    by_id = {item.id: item for item in items}

    def make(key: str) -> tuple[Plain, Plain]:
        item = by_id[key]
        started = time.perf_counter()
        record: Plain = {"title": item.title, "question": item.question, "golds": len(item.golds)}
        try:
            pieces = found(item, data.notes[item.title, item.note_id])
        except EhrqaError as error:  # one question that fails is a row, never the end of the run
            pieces, record["why"] = [], error.message
        seconds = {"find": round(time.perf_counter() - started, 6)}
        em, f1 = score(item, pieces)
        record |= {
            "gold": [gold.evidence for gold in item.golds],
            "prediction": [[piece.start, piece.text] for piece in pieces],
        }
        return record | {"em": em, "f1": round(f1, 6)}, seconds

    journal = Journal(run.out, header)
    records = journal.run(by_id, make, lambda done: run.progress(done, len(items)))
    return _report(header, data, records, run.seed)


def _finder(
    run: EmrRun, items: Sequence[EmrQuestion], data: EmrSet
) -> tuple[Found, Mapping[str, Any]]:
    if run.predictions is not None:
        given = parse_predictions(run.predictions)
        check_all(run.predictions, [item.id for item in items], given)
        try:
            pieces = {item.id: _pieces(given[item.id]) for item in items}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise EvaluationError(
                f"{run.predictions} holds no evidence",
                'expected {"id": ["line", ...]}, or lines of `ehrqa batch`',
            ) from None
        about = {"file": run.predictions.name, "sha256": hash_file(run.predictions)}
        return (lambda item, _text: pieces[item.id]), about
    if run.finder in (GOLD, ABSTAIN):
        baseline = _gold if run.finder == GOLD else _none
        return baseline, {"system": run.finder}
    if run.finder == "reader":
        if run.system is None:
            raise EvaluationError("there is no reader of notes", "give --predictions FILE")
        return _of_reader(run.system, data), run.system.provenance()
    finder, about = _own(run)
    return (lambda item, text: finder(item.question, text)), about


def _gold(item: EmrQuestion, _text: str) -> Sequence[Piece]:
    return [Piece(gold.evidence, gold.start) for gold in item.golds]


def _none(_item: EmrQuestion, _text: str) -> Sequence[Piece]:
    return []


def _own(run: EmrRun) -> tuple[Finder, dict[str, str]]:
    if run.finder == "vectors":
        from ehrqa_cli.notes.find.embed import NAME, Embedder

        embedder = Embedder.open()
        return by_vectors(embedder.embed), {"finder": NAME, "sha256": embedder.sha256}
    return bm25, {"finder": "bm25"}


def _of_reader(system: NoteSystem, data: EmrSet) -> Found:
    """What a reader cites. A note is a patient of its own, as each is asked about alone."""
    notes = {
        key: Note("/".join(key), number, text)
        for number, (key, text) in enumerate(data.notes.items(), 1)
        if text.strip()
    }
    system.prepare(notes.values())

    def find(item: EmrQuestion, _text: str) -> Sequence[Piece]:
        note = notes.get((item.title, item.note_id))
        given = system.answer(item.question, [note], None) if note else None
        return [Piece(span.excerpt, span.start) for span in given.spans] if given else []

    return find


def _pieces(value: Any) -> list[Piece]:
    if value is None:
        return []
    if isinstance(value, dict):
        value = value.get("evidence", value.get("prediction")) or []
    return [_piece(one) for one in ([value] if isinstance(value, str) else value)]


def _piece(value: Any) -> Piece:
    if isinstance(value, str):
        return Piece(value)
    text = value.get("excerpt", value.get("text"))
    start = value.get("start")
    return Piece(str(text), None if start is None else int(start))


def _header(
    run: EmrRun, data: EmrSet, items: Sequence[EmrQuestion], predictor: Mapping[str, Any]
) -> Plain:
    return {
        "benchmark": "emrqa",
        "task": run.task,
        "split": run.split,
        "dataset_sha256": data.sha256,
        "questions": len(items),
        "predictor": dict(predictor),
        "seed": run.seed,
        "code": code_hash(),
    }


def _report(header: Plain, data: EmrSet, records: Sequence[Plain], seed: int) -> RunReport:
    total = {
        name: _mean(records, name, seed)
        for name in ("em", "f1")  # in the order of the paper's table 7
    }
    rows: list[Cells] = [_row("all", records, seed)]
    titles = sorted({r["title"] for r in records})
    by_title = tuple(_row(t, [r for r in records if r["title"] == t], seed) for t in titles)
    table = FigureTable(
        "7",
        "evidence retrieval",
        ("", "questions", "gold lines", "exact match %", "F1 %"),
        (("", tuple(rows)), ("by part", by_title)),
        ("of ten lines at most for each question; 95% intervals resample the notes",),
    )
    lost = sum(g.start is None for q in data.evidence for g in q.golds if g.evidence.strip())
    notes = (f"{lost} gold lines do not stand in their notes, and match by their words only",)
    scores = {name: asdict(found) for name, found in total.items()}
    return RunReport(header, scores, (table,), notes=notes if lost else ())


def _row(name: str, records: Sequence[Plain], seed: int) -> Cells:
    return (
        name,
        len(records),
        sum(r["golds"] for r in records),
        _mean(records, "em", seed).percent(),
        _mean(records, "f1", seed).percent(),
    )


def _mean(records: Sequence[Plain], name: str, seed: int) -> Share:
    notes = [r["id"].rpartition("/")[0] for r in records]
    return share([r[name] for r in records], [1.0] * len(records), notes, seed)
