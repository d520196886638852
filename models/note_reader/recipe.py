"""Fits models/note_reader: which lines answer, which option they bear out, when to decline.

    python models/note_reader/recipe.py [--db EHR.sqlite] [--split fit|all] [--write FILE]

The questions are ours: models/corpus/notes (evidence only), its reading/ and its stays/. Four
models with a penalty on the square of the weights, numpy only:

- line: of all lines of a patient, those that hold the evidence (conditional logit);
- option: of the options, the right one (log-linear over pairs of an option and a line, where the
  line is hidden; that it be the evidence's counts LINE_TOLD as much);
- null, null_choice: answered or not, without and with options. Not answerable are the questions
  written so, answerable ones with the lines of their evidence taken away, and questions on
  another patient.

Prints figures of leaving a fifth of the patients out in turn. Minutes, most of it vectors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ehrqa_cli.contracts.notes import FoundLine
from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.find import index_notes
from ehrqa_cli.notes.importing import import_notes
from ehrqa_cli.notes.read import EmbeddedReader, decline, options
from ehrqa_cli.notes.read.embedded import without_addressed
from ehrqa_cli.notes.read.evidence import Evidence, weigh
from ehrqa_cli.notes.read.pairing import LINES, Pairs, compare
from ehrqa_cli.notes.read.question import ask
from ehrqa_cli.notes.read.weights import Weights, score

HERE = Path(__file__).resolve().parent
OWN = HERE.parent / "corpus" / "notes"
SETS = (OWN, OWN / "reading", OWN / "stays")
NONE = Weights({}, {}, {}, {}, {"null": 0.0, "null_choice": 0.0})
DECAY = {"line": 0.02, "option": 0.03, "null": 0.015, "null_choice": 0.015}
FOLDS = 5
LIKELIER = 0.5  # an option that is less likely borne out than not is never told
LINE_TOLD = 0.3  # how much finding the right line counts against finding the right option
MADE_UP = 0.05  # how much an unanswerable question that was made counts against a written one
# What tells of an option by itself takes up the habits of whoever wrote the options (the right one
# is longer, say); it is fitted, so that nothing else takes them up, and then left out.
HABITS = ("words", "like the question", "negative", "negative, other", "covers anywhere")
Pool = dict[tuple[str, bool], list[FoundLine]]


@dataclass
class Case:
    """One question as it is fitted on; ``weight`` 1 for a written one."""

    row: dict[str, Any]
    lines: list[FoundLine]
    gold: set[tuple[str, int]]
    answerable: bool
    weight: float = 1.0
    mixed: bool = False  # its wrong options are right ones of other questions
    evidence: Evidence | None = None
    pairs: Pairs | None = None
    supports: list[options.Support] | None = None

    @property
    def patient(self) -> int:
        return int(self.row["patient_id"])


def read_rows(split: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The questions of ``split``, and the texts of the notes."""
    rows, texts = [], {}
    for folder in SETS:
        for line in (folder / "notes.jsonl").read_text(encoding="utf-8").splitlines():
            note = json.loads(line)
            texts[note["note_id"]] = note["text"]
        for name in ("questions.jsonl", "unsaid.jsonl"):
            if not (folder / name).exists():
                continue
            for line in (folder / name).read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                if split in ("all", row.get("split", "fit")):
                    rows.append(row)
    return rows, texts


def gold_lines(
    row: dict[str, Any], lines: Sequence[FoundLine], texts: dict[str, str]
) -> set[tuple[str, int]]:
    """The lines that overlap the evidence of a question, as (note_id, number)."""
    found = set()
    for gold in row["evidence"]:
        start = texts[gold["note_id"]].find(gold["text"])
        for each in lines:
            line = each.line
            overlaps = line.start < start + len(gold["text"]) and start < line.end
            if line.note_id == gold["note_id"] and overlaps:
                found.add((line.note_id, line.number))
    return found


def cases(desk: NoteDesk, rows: list[dict[str, Any]], texts: dict[str, str]) -> list[Case]:
    """The written questions, and the unanswerable ones made of them."""
    drawn = random.Random(5)
    patients = sorted({int(row["patient_id"]) for row in rows})
    found = []
    for row in rows:
        patient, question = int(row["patient_id"]), row["question"]
        choices = row.get("choices")
        lines = without_addressed(question, desk.lines(question, patient, choices))
        gold = gold_lines(row, lines, texts)
        found.append(Case(row, lines, gold, bool(row["answerable"])))
        if choices and row["answerable"]:
            found.append(Case(mixed(row, rows, drawn), lines, gold, True, mixed=True))
        if gold:
            rest = [x for x in lines if (x.line.note_id, x.line.number) not in gold]
            found.append(Case(row, rest, set(), False, MADE_UP))
        if not choices:
            continue
        other = drawn.choice([p for p in patients if p != patient])
        found.append(Case(row, desk.lines(question, other, choices), set(), False, MADE_UP))
    return found


def mixed(row: dict[str, Any], rows: list[dict[str, Any]], drawn: random.Random) -> dict[str, Any]:
    """``row`` with wrong options that are the right ones of other questions on the same patient.

    Those like the right one are taken: with numbers or without, of about its length.
    """
    own = row["choices"][row["answer"]]
    others = {
        each["choices"][each["answer"]]
        for each in rows
        if each["patient_id"] == row["patient_id"]
        and each.get("answer")
        and each["id"] != row["id"]
    }
    others.discard(own)

    def unlike(other: str) -> tuple[bool, int, str]:
        numeric = any(c.isdigit() for c in own) != any(c.isdigit() for c in other)
        return numeric, abs(len(other.split()) - len(own.split())), other

    options = [own, *sorted(others, key=unlike)[:4]]
    drawn.shuffle(options)
    letters = "ABCDE"[: len(options)]
    return row | {
        "choices": dict(zip(letters, options, strict=True)),
        "answer": letters[options.index(own)],
    }


def standard(x: Any) -> tuple[Any, Any]:
    """Means and deviations of columns; a column that never varies is left as it is."""
    deviation = x.std(axis=0)
    return np.where(deviation > 1e-6, x.mean(axis=0), 0.0), np.where(
        deviation > 1e-6, deviation, 1.0
    )


def descend(gradient: Any, width: int, rounds: int = 300) -> Any:
    """Adam."""
    w, first, second = np.zeros(width), np.zeros(width), np.zeros(width)
    for step in range(1, rounds + 1):
        g = gradient(w)
        first = 0.9 * first + 0.1 * g
        second = 0.99 * second + 0.01 * g * g
        rate = 0.05 * (1 - step / (rounds + 1))
        w -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return w


def matrix(features: Sequence[dict[str, float]], names: Sequence[str]) -> Any:
    """Features as rows."""
    return np.array([[each.get(name, 0.0) for name in names] for each in features], dtype=float)


def fit_choice(
    sets: list[tuple[list[dict[str, float]], list[bool]]], decay: float
) -> dict[str, float]:
    """Conditional logit: of each set, the true ones (any of them)."""
    names = sorted({name for some, _ in sets for each in some for name in each})
    x = matrix([each for some, _ in sets for each in some], names)
    _, deviation = standard(x)
    x = x / deviation
    y = np.array([one for _, true in sets for one in true], dtype=float)
    sizes = np.array([len(some) for some, _ in sets])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def within(values: Any) -> Any:
        return np.repeat(np.add.reduceat(values, starts), sizes)

    def gradient(w: Any) -> Any:
        z = x @ w
        p = np.exp(z - np.repeat(np.maximum.reduceat(z, starts), sizes))
        p = p / within(p)
        q = p * y
        return decay * w + x.T @ (p - q / np.maximum(within(q), 1e-12)) / len(sizes)

    w = descend(gradient, len(names)) / deviation
    return {name: round(float(v), 4) for name, v in zip(names, w, strict=True)}


def fit_options(some: list[Case], decay: float) -> dict[str, float]:
    """Log-linear over options with the line hidden; the gold lines have LINE_TOLD of the loss."""
    names = next(case.pairs for case in some if case.pairs).names
    width = max(len(case.row["choices"]) for case in some)
    x = np.zeros((len(some), width, LINES, len(names)), dtype=np.float32)
    open_, gold = (np.zeros((len(some), width, LINES), dtype=np.float32) for _ in range(2))
    right = np.zeros((len(some), width), dtype=np.float32)
    for i, case in enumerate(some):
        assert case.pairs is not None and case.evidence is not None
        k, n, _ = case.pairs.table.shape
        x[i, :k, :n] = case.pairs.table
        open_[i, :k, :n] = 1
        r = list(case.row["choices"]).index(case.row["answer"])
        right[i, r] = 1
        gold[i, r, :n] = [
            _key(case.evidence.lines[place]) in case.gold for place in case.pairs.lines
        ]
    deviation = x[open_ > 0].std(axis=0)
    deviation = np.where(deviation > 1e-6, deviation, 1.0)
    x /= deviation
    shut = np.where(open_ > 0, 0.0, -1e9)
    told = np.asarray(gold.any(axis=(1, 2)))

    def share(z: Any, mask: Any) -> Any:
        e = np.exp(z - z.max(axis=(1, 2), keepdims=True)) * mask
        return e / np.maximum(e.sum(axis=(1, 2), keepdims=True), 1e-12)

    mine = right[:, :, None] * open_

    def gradient(w: Any) -> Any:
        z = x @ w + shut
        every, own = share(z, open_), share(z + np.where(mine > 0, 0, -1e4), mine)
        known = share(z + np.where(gold > 0, 0, -1e4), gold)
        pull = every - own + LINE_TOLD * told[:, None, None] * (own - known)
        return decay * w + np.einsum("iknd,ikn->d", x, pull) / len(some)

    w = descend(lambda w: gradient(w.astype(np.float32)), len(names)) / deviation
    pairs = zip(names, w, strict=True)
    return {name: round(float(v), 4) for name, v in pairs if name not in HABITS}


def fit_null(
    features: list[dict[str, float]], true: list[bool], weights: list[float], decay: float
) -> dict[str, float]:
    """Logistic regression, both answers weighed alike in sum."""
    names = sorted({name for each in features for name in each})
    raw = matrix(features, names)
    mean, deviation = standard(raw)
    x, y, c = (raw - mean) / deviation, np.array(true, dtype=float), np.array(weights)
    c = np.where(y > 0, c / c[y > 0].sum(), c / c[y == 0].sum()) / 2

    def gradient(w: Any) -> Any:
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        return x.T @ (c * (p - y)) + decay * w * (np.array(names) != "one")

    w = descend(gradient, len(names)) / deviation
    found = {name: float(v) for name, v in zip(names, w, strict=True)}
    found["one"] -= float((mean * w).sum())
    return {name: round(v, 4) for name, v in found.items()}


def fit(train: list[Case], reader: EmbeddedReader) -> Weights:
    """All four models, one after another."""
    written = [case for case in train if not case.mixed]
    sets = [
        (list(case.evidence.features), [_key(x) in case.gold for x in case.evidence.lines])
        for case in written
        if case.gold
        and case.evidence is not None
        and any(_key(x) in case.gold for x in case.evidence.lines)
    ]
    weights = Weights(fit_choice(sets, DECAY["line"]), {}, {}, {}, NONE.thresholds)
    prepare(train, reader, weights)
    chosen = [case for case in train if case.answerable and case.row.get("choices")]
    weights = Weights(
        weights.line,
        fit_options(chosen, DECAY["option"]),
        {},
        {},
        NONE.thresholds,
    )
    rescore(train, weights)
    plain = [decline.features_of(c.evidence) for c in written if c.evidence]
    null = fit_null(
        plain, [c.answerable for c in written], [c.weight for c in written], DECAY["null"]
    )
    some = [c for c in written if c.supports]
    both = [
        decline.with_options(decline.features_of(c.evidence), c.supports)
        for c in some
        if c.evidence is not None and c.supports
    ]
    null_choice = fit_null(
        both, [c.answerable for c in some], [c.weight for c in some], DECAY["null_choice"]
    )
    return Weights(weights.line, weights.option, null, null_choice, NONE.thresholds)


def prepare(some: list[Case], reader: EmbeddedReader, weights: Weights) -> None:
    """Evidence and options of each case under ``weights``."""
    for case in some:
        if case.evidence is None:
            asked = ask(case.row["question"])
            case.evidence = weigh(asked, case.lines, reader.meaning, weights)
        case.evidence = case.evidence.ordered(weights)
        choices = case.row.get("choices") if weights.line else None
        if choices:
            case.pairs = compare(case.evidence, list(choices.values()), reader.meaning)
            case.supports = options.scored(list(choices), case.pairs, weights)


def rescore(some: list[Case], weights: Weights) -> None:
    """Order the options anew under ``weights``."""
    for case in some:
        if case.pairs:
            case.supports = options.scored(list(case.row["choices"]), case.pairs, weights)


def _key(found: FoundLine) -> tuple[str, int]:
    return found.line.note_id, found.line.number


@dataclass
class Told:
    """What held-out cases came to."""

    top1: list[bool]
    top3: list[bool]
    top10: list[bool]
    right: list[bool]
    mixed: list[bool]
    null: list[tuple[bool, float, float]]  # answerable, probability, weight
    null_choice: list[tuple[bool, float, float]]


def measure(held: list[Case], reader: EmbeddedReader, weights: Weights, told: Told) -> None:
    """Add what ``weights`` make of ``held``."""
    prepare(held, reader, weights)
    rescore(held, weights)
    for case in held:
        evidence = case.evidence
        if evidence is None:
            continue
        if case.mixed:
            if case.supports:
                told.mixed.append(case.supports[0].letter == case.row["answer"])
            continue
        features = decline.features_of(evidence)
        told.null.append(
            (case.answerable, decline.likely(score(weights.null, features)), case.weight)
        )
        if case.supports:
            p = decline.sure_of_choice(evidence, case.supports, weights)
            told.null_choice.append((case.answerable, p, case.weight))
            if case.answerable:
                told.right.append(case.supports[0].letter == case.row["answer"])
        if case.answerable:
            hit = [_key(x) in case.gold for x in evidence.lines]
            told.top1.append(any(hit[:1]))
            told.top3.append(any(hit[:3]))
            told.top10.append(any(hit[:10]))


def threshold(
    told: list[tuple[bool, float, float]], least: float = 0.05
) -> tuple[float, float, float]:
    """Where the share of answered and of declined (of written questions) are most even and high.

    Not below ``least``.
    """
    yes = np.array([p for answerable, p, _ in told if answerable])
    no = np.array([p for answerable, p, w in told if not answerable and w == 1.0])
    best = max(
        np.linspace(least, 0.95, 91), key=lambda t: (min((yes >= t).mean(), (no < t).mean()), -t)
    )
    return float(round(best, 3)), float((yes >= best).mean()), float((no < best).mean())


def cross(some: list[Case], reader: EmbeddedReader) -> Told:
    """Leave a part of the patients out in turn."""
    told = Told([], [], [], [], [], [], [])
    patients = sorted({case.patient for case in some})
    for fold in range(FOLDS):
        out = set(patients[fold::FOLDS])
        weights = fit([c for c in some if c.patient not in out], reader)
        measure([c for c in some if c.patient in out], reader, weights, told)
    return told


def show(name: str, told: Told) -> dict[str, float]:
    """Print and return the figures."""
    found = {
        "evidence top 1": float(np.mean(told.top1)),
        "evidence top 3": float(np.mean(told.top3)),
        "evidence top 10": float(np.mean(told.top10)),
        "right option": float(np.mean(told.right)),
        "right option of right ones of other questions": float(np.mean(told.mixed)),
        "questions": len(told.top3),
    }
    for part, pairs, least in (
        ("null", told.null, 0.05),
        ("null with options", told.null_choice, LIKELIER),
    ):
        if any(not a and w == 1.0 for a, _, w in pairs):
            at, answered, declined = threshold(pairs, least)
            found |= {
                f"{part} threshold": at,
                f"{part} answered": answered,
                f"{part} declined": declined,
            }
    print(name, json.dumps({k: round(v, 3) for k, v in found.items()}))
    return {k: round(v, 3) for k, v in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, help="where the notes are indexed already, to save time")
    parser.add_argument("--split", choices=["fit", "all"], default="all")
    parser.add_argument("--no-cross", action="store_true")
    parser.add_argument("--write", type=Path, metavar="FILE")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = flags.db or Path(folder) / "ehr.sqlite"
        if flags.db is None:
            for own in SETS:
                import_notes(own / "notes.jsonl", db)
            index_notes(db)
        run(db, flags)


def run(db: Path, flags: argparse.Namespace) -> None:
    """Fit, measure and write."""
    reader = EmbeddedReader(weights=NONE)
    rows, texts = read_rows(flags.split)
    with NoteDesk.open(db, reader) as desk:
        some = cases(desk, rows, texts)
        for patient in {case.patient for case in some}:
            desk.prepare(patient)
    print(len(rows), "questions,", len(some), "cases")
    prepare(some, reader, NONE)
    if flags.no_cross:
        figures, at = {}, (0.5, 0.5)
    else:
        told = cross(some, reader)
        figures = show("patients left out", told)
        at = threshold(told.null)[0], threshold(told.null_choice, LIKELIER)[0]
    weights = fit(some, reader)
    if flags.write:
        write(flags.write, weights, at, figures, len(rows))


def write(
    path: Path, weights: Weights, at: tuple[float, float], figures: dict[str, float], n: int
) -> None:
    """weights.json, and beside it its manifest."""
    model: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    model |= {name: getattr(weights, name) for name in ("line", "option", "null", "null_choice")}
    model["thresholds"] = {"null": at[0], "null_choice": at[1]}
    text = json.dumps(model, indent=1) + "\n"
    path.write_text(text, encoding="utf-8")
    manifest = {
        "file": path.name,
        "bytes": len(text.encode()),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "licence": "as ehrqa",
        "about": "reads lines of notes: evidence, options, when to decline",
        "questions": n,
        "patients_left_out": figures,
    }
    (path.parent / "manifest.json").write_text(
        json.dumps(manifest, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
