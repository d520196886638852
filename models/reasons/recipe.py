"""Trains models/reasons: what sort of question is withheld, from the builder's families.

    python models/reasons/recipe.py --db EHR.sqlite [--n 16000] [--write]

Questions of the builder (unanswerable families, and answerable ones as a class of their own) are
linked, and a multinomial logistic regression is fitted to their words and pairs of words. Prints
the accuracy on wordings and on families that were held out. Needs numpy only; a minute.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.value_index import ValueIndex
from ehrqa_cli.engine.reasons import SURE, TELL, ngrams
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.generate import generate
from ehrqa_cli.sets.pairs.templates import Template
from ehrqa_cli.sets.pairs.vocabulary import read_vocabulary
from ehrqa_cli.text2sql.linking import Linker

HERE = Path(__file__).resolve().parent
CLASSES = ("answerable", *(name for name in TELL if name != "other_language"))
MOST = 3500  # n-grams kept
RARE = 4
# Words of a family's name that tell its class; the first that fits counts.
FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("changes_data", ("changing", "export", "injection", "orders and changes", "to ignore")),
    ("chitchat", ("chit-chat", "about the system")),
    ("ambiguous", ("ambiguous", "incomplete", "no patient", "refers to nothing", "only a piece")),
    ("prediction", ("predict", "tests to come", "schedule", "next visit", "future", "forecast")),
    (
        "outside_knowledge",
        ("knowledge", "advice", "indication", "side effect", "mechanism", "opinion", "causes",
         "drug news", "quality, errors", "guideline", "pharmacolog", "judgement", "interpret",
         "literature"),
    ),
    (
        "too_complex",
        ("statistics beyond", "everything at once", "several things", "trends", "grammar lacks"),
    ),
)  # fmt: skip
# Everything else that the builder calls unanswerable is a fact that the schema lacks. What it
# spoils by a condition or a value is worded like the answerable ones.
SPOILED = ("a value nobody has", "a condition that is not there", "a value that is not there")


def class_of(family: str) -> str | None:
    """The class of a builder's family; None: of no use here."""
    name = family.partition(":")[2].strip().lower()
    image = "image" in family.partition(":")[0]
    if image or "language" in name or name.startswith(SPOILED):
        return None  # another language is told by a rule
    for kind, words in FAMILIES:
        if any(word in name for word in words):
            return kind
    return "not_in_database"


class Maker:
    """Linked questions of one wording of one family."""

    def __init__(self, db: Path, seed: int) -> None:
        self.vocabulary = read_vocabulary(db)
        self.generator = Generator(self.vocabulary, seed)
        self.linker = Linker(ValueIndex.build(SqliteDatabase.open(db)))
        self.seed = seed

    def text(self, template: Template, wording: int) -> str | None:
        """One linked question of the wording; None when the vocabulary lacks what it needs."""
        one = replace(template, wordings=(template.wordings[wording],))
        for _ in range(5):
            try:
                return self.linker.link(self.generator.from_template(one).question).text
            except KeyError:
                continue
        return None

    def answerable(self, n: int) -> list[str]:
        """Linked questions that have an answer."""
        made = generate(n, self.seed + 1, self.vocabulary, families=("table", "compose"))
        return [self.linker.link(pair.question).text for pair in made]


Example = tuple[str, str, str, int]  # text, class, family, wording


def examples(maker: Maker, n: int) -> list[Example]:
    """About ``n`` examples, families drawn evenly and their wordings too."""
    found: list[Example] = []
    known = [
        (t, kind)
        for t in maker.generator.library.families["unanswerable"]
        if (kind := class_of(t.text)) is not None
    ]
    each = max(1, int(0.7 * n) // sum(len(t.wordings) for t, _ in known))
    for template, kind in known:
        for wording in range(len(template.wordings)):
            drawn = {maker.text(template, wording) for _ in range(each)}
            found += [(t, kind, template.text, wording) for t in sorted(filter(None, drawn))]
    texts = sorted(set(maker.answerable(int(0.3 * n))))
    return found + [(t, "answerable", f"answerable {i % 50}", i) for i, t in enumerate(texts)]


def features(found: Sequence[Example], index: dict[str, int]) -> Any:
    """0/1 matrix (examples, n-grams + 1); the last column is 1 for all."""
    x = np.zeros((len(found), len(index) + 1), dtype=np.float32)
    x[:, -1] = 1.0
    for row, (text, *_) in enumerate(found):
        x[row, [index[g] for g in {*ngrams(text)} if g in index]] = 1.0
    return x


def n_grams(found: Sequence[Example]) -> dict[str, int]:
    """The most telling n-grams: those that occur in several wordings, commonest first."""
    seen: dict[str, set[tuple[str, int]]] = {}
    counts: Counter[str] = Counter()
    for text, _, family, wording in found:
        for gram in {*ngrams(text)}:
            counts[gram] += 1
            seen.setdefault(gram, set()).add((family, wording))
    kept = [g for g, c in counts.most_common() if c >= RARE and len(seen[g]) >= 2]
    return {gram: i for i, gram in enumerate(kept[:MOST])}


def fit(x: Any, y: Any, *, rounds: int = 30, decay: float = 2e-4, seed: int = 0) -> Any:
    """Weights (n-grams + 1, classes): Adam on the cross-entropy, classes weighed evenly."""
    draw = np.random.default_rng(seed)
    w = np.zeros((x.shape[1], len(CLASSES)), dtype=np.float32)
    first, second = np.zeros_like(w), np.zeros_like(w)
    share = np.bincount(y, minlength=len(CLASSES)).clip(1)
    balance = (len(y) / len(CLASSES) / share) ** 0.5
    step = 0
    for epoch in range(rounds):
        rate = 0.05 * (1 - epoch / rounds)
        for rows in np.array_split(draw.permutation(len(y)), max(1, len(y) // 256)):
            step += 1
            logits = x[rows] @ w
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            p[np.arange(len(rows)), y[rows]] -= 1
            g = x[rows].T @ (p * balance[y[rows]][:, None]) / len(rows) + decay * w
            first = 0.9 * first + 0.1 * g
            second = 0.99 * second + 0.01 * g * g
            w -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-6)
    return w


def held_out(found: list[Example], key: int, folds: int = 5) -> dict[str, Any]:
    """Cross-validated accuracy with whole families (``key`` 2) or wordings (2 and 3) left out."""
    groups = [(e[2],) if key == 2 else (e[2], e[3]) for e in found]
    names = sorted(set(groups))
    random.Random(0).shuffle(names)
    fold_of = {name: i % folds for i, name in enumerate(names)}
    told: list[tuple[str, str, float]] = []
    for fold in range(folds):
        train = [e for e, g in zip(found, groups, strict=True) if fold_of[g] != fold]
        test = [e for e, g in zip(found, groups, strict=True) if fold_of[g] == fold]
        index = n_grams(train)
        w = fit(features(train, index), np.array([CLASSES.index(e[1]) for e in train]), rounds=12)
        logits = features(test, index) @ w
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        best = p.argmax(axis=1)
        told += [
            (e[1], CLASSES[b], float(q)) for e, b, q in zip(test, best, p.max(axis=1), strict=True)
        ]
    asked = [t for t in told if t[0] != "answerable"]
    sure = [t for t in asked if t[1] in TELL and t[2] >= SURE["model_declined"]]
    other = {
        q: [
            round(sum(t[2] >= q and t[1] in TELL for t in asked) / len(asked), 3),
            round(float(np.mean([t[0] == t[1] for t in asked if t[2] >= q and t[1] in TELL])), 3),
        ]
        for q in (0.4, 0.5, 0.6, 0.7, 0.8)
    }
    by_class = {
        c: round(float(np.mean([t[1] == c for t in told if t[0] == c])), 3) for c in CLASSES
    }
    return {
        "accuracy_unanswerable": round(float(np.mean([a == b for a, b, _ in asked])), 3),
        "told": round(len(sure) / len(asked), 3),
        "right_when_told": round(float(np.mean([a == b for a, b, _ in sure])), 3),
        "told_and_right_from": other,
        "recall_by_class": by_class,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--n", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-measure", action="store_true", help="skip the cross-validation")
    parser.add_argument("--write", action="store_true", help="write reasons.json and its manifest")
    flags = parser.parse_args()
    found = examples(Maker(flags.db, flags.seed), flags.n)
    print(Counter(e[1] for e in found))
    measured = {}
    if not flags.no_measure:
        measured = {"wordings": held_out(found, 3), "families": held_out(found, 2)}
        print(json.dumps(measured, indent=1))
    index = n_grams(found)
    w = fit(features(found, index), np.array([CLASSES.index(e[1]) for e in found]))
    if flags.write:
        _write(index, w, measured, len(found))


def _write(index: dict[str, int], w: Any, measured: dict[str, Any], n: int) -> None:
    scale = float(np.abs(w).max()) / 127
    rows = {gram: np.rint(w[i] / scale).astype(int).tolist() for gram, i in index.items()}
    # A row of small weights changes nothing.
    rows = {gram: row for gram, row in rows.items() if max(map(abs, row)) >= 3}
    rows[""] = np.rint(w[-1] / scale).astype(int).tolist()
    model = {"classes": CLASSES, "scale": round(scale, 6), "weights": rows}
    text = json.dumps(model, ensure_ascii=False, separators=(",", ":")) + "\n"
    path = HERE / "reasons.json"
    path.write_text(text, encoding="utf-8")
    manifest = {
        "file": path.name,
        "bytes": len(text.encode()),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "licence": "as ehrqa",
        "about": "what sort of question is withheld (words of the linked question)",
        "questions": n,
        "held_out": measured,
    }
    (HERE / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
