"""Fits how often answers are right: `right`, `right_choice` and `verdict` of weights.json.

    python models/note_reader/confidence.py [--write models/note_reader/weights.json]

The first two are logistic regressions on questions of patients who were left out of the fit of the
rest (recipe.py's folds), so that they measure what a new patient meets: is the quoted line one of
the evidence, is the chosen letter the right one. `verdict` is counted: the yes and no that were
right at first sight of first_sight.json's questions, one right and one wrong added (Laplace).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from recipe import FOLDS, HERE, NONE, SETS, Case, cases, fit, prepare, read_rows, rescore

from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.find import index_notes
from ehrqa_cli.notes.importing import import_notes
from ehrqa_cli.notes.read import EmbeddedReader, decline
from ehrqa_cli.notes.read.compose import compose
from ehrqa_cli.notes.read.question import AnswerKind
from ehrqa_cli.notes.read.topic import topic
from ehrqa_cli.notes.read.weights import Weights, score

DECAY = {"right": 0.03, "right_choice": 0.1}
WORKED_OUT = (AnswerKind.ARITHMETIC, AnswerKind.COMPARISON)
Told = tuple[dict[str, float], bool, int]  # features, right, patient


def logistic(told: list[Told], decay: float) -> dict[str, float]:
    """Logistic regression with a penalty on the squares, on features of unit deviation."""
    names = sorted({name for features, _, _ in told for name in features} | {"one"})
    x = np.array([[f.get(n, float(n == "one")) for n in names] for f, _, _ in told])
    deviation = np.where(x.std(axis=0) > 1e-6, x.std(axis=0), 1.0)
    mean = np.where(x.std(axis=0) > 1e-6, x.mean(axis=0), 0.0)
    x, y = (x - mean) / deviation, np.array([right for _, right, _ in told], dtype=float)
    w, keep = np.zeros(len(names)), np.array([n != "one" for n in names])
    for _ in range(60):  # Newton's method
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        slope = x.T @ (p - y) / len(y) + decay * w * keep
        bend = (x * (p * (1 - p))[:, None]).T @ x / len(y) + np.diag(decay * keep + 1e-9)
        w -= np.linalg.solve(bend, slope)
    w = w / deviation
    found = dict(zip(names, w, strict=True))
    found["one"] -= float((mean * w).sum())
    return {name: round(float(value), 5) for name, value in found.items()}


def held(name: str, told: list[Told]) -> dict[str, Any]:
    """How the probabilities of patients left out hold: right of those from each limit on."""
    patients = sorted({patient for _, _, patient in told})
    pairs: list[tuple[float, bool]] = []
    for fold in range(FOLDS):
        out = set(patients[fold::FOLDS])
        weights = logistic([t for t in told if t[2] not in out], DECAY[name])
        for features, right, patient in told:
            if patient in out:
                p = decline.likely(score(weights, {"one": 1.0} | features))
                pairs.append((p, right))
    found: dict[str, Any] = {"cases": len(told), "right": sum(r for _, r in pairs)}
    for limit in (0.5, 2 / 3, 5 / 6, 10 / 11, 0.95):
        some = [right for p, right in pairs if p >= limit]
        found[f"from {limit:.3f}"] = [sum(some), len(some)]
    print(name, json.dumps(found))
    return found


def answers(desk: NoteDesk, reader: EmbeddedReader) -> tuple[list[Told], list[Told]]:
    """The answers and letters of patients left out of the fit, with whether they were right."""
    rows, texts = read_rows("all")
    some = [case for case in cases(desk, rows, texts) if not case.mixed and case.weight == 1.0]
    for patient in {case.patient for case in some}:
        desk.prepare(patient)
    prepare(some, reader, NONE)
    patients = sorted({case.patient for case in some})
    right: list[Told] = []
    letters: list[Told] = []
    for fold in range(FOLDS):
        out = set(patients[fold::FOLDS])
        weights = fit([case for case in some if case.patient not in out], reader)
        mine = [case for case in some if case.patient in out and case.evidence is not None]
        prepare(mine, reader, weights)
        rescore(mine, weights)
        for case in mine:
            assert case.evidence is not None
            features = decline.features_of(case.evidence)
            if not topic(case.row["question"]).yes_no:
                about = decline.aboutness(case.evidence)
                right.append((features | about, _is_right(case), case.patient))
            if case.supports:
                hit = case.answerable and case.supports[0].letter == case.row["answer"]
                letters.append((decline.with_options(features, case.supports), hit, case.patient))
    return right, letters


def _is_right(case: Case) -> bool:
    """Is the quoted line one of the evidence; of what is worked out, does it say the gold?"""
    assert case.evidence is not None
    if not case.answerable:
        return False
    text, used = compose(case.evidence)
    best = case.evidence.lines[0].line
    gold = case.row.get("answer_text") or case.row.get("choices", {}).get(case.row.get("answer"))
    worked_out = case.evidence.asked.kind in WORKED_OUT or best not in used
    if not worked_out or gold is None:
        return any((line.note_id, line.number) in case.gold for line in used)
    wanted = re.findall(r"[^\W_]+", gold.lower())
    given = set(re.findall(r"[^\W_]+", text.lower()))
    numbers = [word for word in wanted if word[0].isdigit()]
    return all(n in given for n in numbers) and sum(w in given for w in wanted) * 2 >= len(wanted)


def verdict() -> dict[str, float]:
    """The log-odds that a yes or a no is right, counted in first_sight.json, one of each added."""
    trials = json.loads((HERE / "first_sight.json").read_text("utf-8"))["yes or no given"]
    right, wrong = (sum(trial[name] for trial in trials) for name in ("right", "wrong"))
    return {"one": round(math.log((right + 1) / (wrong + 1)), 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE")
    flags = parser.parse_args()
    reader = EmbeddedReader(weights=Weights({}, {}, {}, {}, {"null": 0.0, "null_choice": 0.0}))
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "ehr.sqlite"
        for own in SETS:
            import_notes(own / "notes.jsonl", db)
        index_notes(db)
        with NoteDesk.open(db, reader) as desk:
            right, letters = answers(desk, reader)
    told = {"right": right, "right_choice": letters}
    figures = {name: held(name, some) for name, some in told.items()}
    if flags.write:
        model = json.loads(flags.write.read_text(encoding="utf-8"))
        model |= {name: logistic(some, DECAY[name]) for name, some in told.items()}
        model["verdict"] = verdict()
        text = json.dumps(model, indent=1) + "\n"
        flags.write.write_text(text, encoding="utf-8")
        path = flags.write.parent / "manifest.json"
        manifest = json.loads(path.read_text(encoding="utf-8"))
        manifest |= {
            "bytes": len(text.encode()),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "confidence": figures,
        }
        path.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
