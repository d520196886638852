"""Fits the few numbers of the instruct reader to a log of our own questions.

    python tests/benchmarks/notes_instruct_fit.py --reader qwen2.5-coder-1.5b --log own.jsonl

Prints figures with each patient left out of the fit, and the part of fitted.json for the model;
``--write`` puts it there. Logistic regression with a ridge penalty for the two null scores (both
kinds of question weigh the same), conditional logit for options and lines.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from notes_instruct import seen_again
from shared import OWN_NOTES, Row, imported, is_gold, rows_of, texts_of, wilson

from ehrqa_cli.chat import Gguf
from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.read.instruct import InstructReader, States
from ehrqa_cli.notes.read.instruct.fitted import FILE
from ehrqa_cli.notes.read.instruct.signals import Seen

NULL = ["one", "unsaid", "null"]
NULL_CHOICE = ["one", "unsaid", "letter best", "null", "written"]
OPTION = ["likely", "written", "borne out"]
LINE = ["evidence", "covers", "bears", "cited"]
Asked = tuple[Row, Seen, Seen]


def logistic(x: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """Weights of standardised features, given back for plain ones; the first column is 1."""
    mean, spread = x.mean(0), x.std(0) + 1e-9
    mean[0], spread[0] = 0.0, 1.0
    z, w = (x - mean) / spread, np.zeros(x.shape[1])
    each = np.where(y == 1, 0.5 / max(y.mean(), 1e-9), 0.5 / max(1 - y.mean(), 1e-9))
    penalty = ridge * np.eye(len(w))
    penalty[0, 0] = 1e-3
    for _ in range(50):
        p = 1 / (1 + np.exp(-z @ w))
        w -= np.linalg.solve(
            (z.T * (each * p * (1 - p))) @ z + penalty, z.T @ (each * (p - y)) + penalty @ w
        )
    w = w / spread
    w[0] -= float((w[1:] * mean[1:]).sum())
    return w


def chooser(items: list[tuple[np.ndarray, np.ndarray]], ridge: float) -> np.ndarray:
    """Conditional logit: each item has the features of its candidates and which are right."""
    w = np.zeros(items[0][0].shape[1])
    for _ in range(500):
        slope = ridge * w
        for x, right in items:
            p = np.exp(x @ w - (x @ w).max())
            p /= p.sum()
            hit = p * right
            slope = slope + x.T @ (p - hit / max(hit.sum(), 1e-12))
        w = w - 0.02 * slope
    return w


def left_out(patients: list[int], fit: Callable[[list[int]], np.ndarray]) -> dict[int, np.ndarray]:
    """For each patient the weights fitted without that patient's questions."""
    return {
        each: fit([k for k, other in enumerate(patients) if other != each])
        for each in set(patients)
    }


def nulls(asked: list[Asked], with_choices: bool, ridge: float) -> dict[str, float]:
    """A null score, with what it does on patients left out."""
    names = NULL_CHOICE if with_choices else NULL
    told = [s[2].answered_choice() if with_choices else s[1].answered() for s in asked]
    x = np.array([[each[name] for name in names] for each in told])
    y = np.array([float(row["answerable"]) for row, _, _ in asked])
    patients = [int(row["patient_id"]) for row, _, _ in asked]
    weights = left_out(patients, lambda kept: logistic(x[kept], y[kept], ridge))
    score = np.array([x[k] @ weights[p] for k, p in enumerate(patients)])
    print("null score", "with options" if with_choices else "free text")
    print("  answered of answerable:", wilson(list(score[y == 1] >= 0)))
    print("  declined of unanswerable:", wilson(list(score[y == 0] < 0)))
    return named(names, logistic(x, y, ridge))


def option_weights(asked: list[Asked], ridge: float) -> dict[str, float]:
    """How options are weighed, against each of the ways alone."""
    some = [(row, seen) for row, _, seen in asked if row["answerable"]]
    items, patients = [], []
    for row, seen in some:
        told = seen.option_features()
        items.append(
            (
                np.array([[told[k][name] for name in OPTION] for k in told]),
                np.array([float(k == row["answer"]) for k in told]),
            )
        )
        patients.append(int(row["patient_id"]))
    print("options, if one must be chosen")
    for place, name in enumerate(OPTION):
        print(f"  {name}:", wilson([bool(r[int(x[:, place].argmax())]) for x, r in items]))
    weights = left_out(patients, lambda kept: chooser([items[k] for k in kept], ridge))
    right = [
        bool(r[int((x @ weights[p]).argmax())]) for (x, r), p in zip(items, patients, strict=True)
    ]
    print("  fitted:", wilson(right))
    return named(OPTION, chooser(items, ridge))


def line_weights(asked: list[Asked], texts: dict[str, str], ridge: float) -> dict[str, float]:
    """How lines are ordered, against the embedded reader's order."""
    items, patients = [], []
    for row, seen, _ in asked:
        if not row["answerable"]:
            continue
        told = seen.line_features(seen.said.text)
        right = np.array([float(is_gold(line, row["evidence"], texts)) for line in seen.lines])
        items.append((np.array([[each[name] for name in LINE] for each in told]), right))
        patients.append(int(row["patient_id"]))
    fitting = [k for k, (_, right) in enumerate(items) if right.any()]
    weights = left_out(
        patients, lambda kept: chooser([items[k] for k in kept if k in fitting], ridge)
    )
    print("a gold line among the first")
    for most in (1, 3, 10):
        before = [bool(r[np.argsort(-x[:, 0], kind="stable")[:most]].any()) for x, r in items]
        after = [
            bool(r[np.argsort(-(x @ weights[p]), kind="stable")[:most]].any())
            for (x, r), p in zip(items, patients, strict=True)
        ]
        print(f"  {most}: evidence alone {wilson(before)}, fitted {wilson(after)}")
    return named(LINE, chooser([items[k] for k in fitting], ridge))


def named(names: list[str], weights: np.ndarray) -> dict[str, float]:
    return {name: round(float(w), 4) for name, w in zip(names, weights, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=OWN_NOTES / "reading")
    parser.add_argument("--reader", default="qwen2.5-coder-1.5b", help="a pulled model")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--ridge", type=float, default=6.0)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    file = Gguf.pulled(chosen.reader)
    texts = texts_of(chosen.data)
    rows = {row["id"]: row for row in rows_of(chosen.data / "questions.jsonl")}
    told = [each for each in rows_of(chosen.log) if "id" in each]
    reader = InstructReader(file, states=States(most_bytes=0))
    with imported(chosen.data / "notes.jsonl") as db, NoteDesk.open(db, reader) as desk:
        asked = [
            (
                rows[each["id"]],
                seen_again(desk, rows[each["id"]], each, False),
                seen_again(desk, rows[each["id"]], each, True),
            )
            for each in told
        ]
    part = {
        "answered": nulls(asked, False, chosen.ridge),
        "answered_choice": nulls(asked, True, chosen.ridge),
        "option": option_weights(asked, chosen.ridge / 4),
        "line": line_weights(asked, texts, chosen.ridge / 4),
    }
    print(json.dumps(part))
    if chosen.write:
        kept = json.loads(FILE.read_text(encoding="utf-8")) | {file.sha256: part}
        FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
