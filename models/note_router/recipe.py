"""Fits models/note_router: is a question one for the notes, from its words alone?

    python models/note_router/recipe.py --db EHR.sqlite --ehrsql EHRSQL_DIR [--write]

Notes: phrasings.txt filled from its lists, and models/corpus/notes. Tables and images:
phrasings.txt too, EHRSQL-2024 train (the unanswerable ones too, which the tables decline),
questions of `ehrqa_cli.sets`, and models/corpus/tables/clinicians.jsonl; half of those
that name a patient are taken a second time with "he", "she" or "the patient" instead, so that the
number of a patient tells nothing. Prints the accuracy with whole phrasings, templates and patients
left out. Needs scikit-learn and the sentence model; four minutes of one core.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression

from ehrqa_cli.engine.note_route import BUCKETS, MIDDLING, buckets, masked
from ehrqa_cli.notes.find.embed import Embedder
from ehrqa_cli.sets.pairs.generate import generate
from ehrqa_cli.sets.pairs.vocabulary import read_vocabulary

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "corpus"
EACH = 14  # questions drawn of a phrasing
BUILT = 7000
STRENGTH = 0.3  # C of the regression
MEANING = 4.0  # how much longer the sentence vector is made: the penalty then weighs it less
OWN = 6.0  # weight of a question that was written and not made
AGAIN = 0.7  # weight of a question taken a second time without its number
FEW = 2.0  # weight of a made question for the tables, of which there are few phrasings
FOLDS = 5
PERSONS = (
    ("he", "his", "him"),
    ("she", "her", "her"),
    ("the patient", "the patient's", "the patient"),
)
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")
_DOUBLE = re.compile(r"\b(the|his|her|a) (?:the|a|his|any) ", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:patient|pt)\s*#?\d+('s)?|#?\b\d{5,}('s)?", re.IGNORECASE)


@dataclass(frozen=True)
class Example:
    """A question, 1 for the notes, and what is left out together with it."""

    text: str
    note: int
    group: str
    source: str
    weight: float = 1.0


class Phrasings:
    """phrasings.txt, and questions drawn from it."""

    def __init__(self, path: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        head, _, lists = path.read_text(encoding="utf-8").partition("[lists]\n")
        notes, _, others = head.partition("[phrasings]\n")[2].partition("[table phrasings]\n")
        self.phrasings = {1: notes.splitlines(), 0: others.splitlines()}
        pairs = (line.split(" = ", 1) for line in lists.splitlines() if line)
        self.lists = {name: values.split(" | ") for name, values in pairs}

    def draw(self, phrasing: str) -> str:
        """One question."""
        rng = self.rng
        text = phrasing
        while choice := _CHOICE.search(text):
            text = text[: choice.start()] + rng.choice(choice[1].split("|")) + text[choice.end() :]
        number = (
            rng.randint(10**7, 2 * 10**7 - 1) if rng.random() < 0.7 else rng.randint(100, 99999)
        )
        named = (f"patient {number}", f"patient {number}'s", f"patient {number}")
        he, his, him = rng.choice((*PERSONS, named))
        words = {"he": he, "his": his, "him": him, "patient": named[0]}
        text = _SLOT.sub(lambda m: words.get(m[1]) or rng.choice(self.lists[m[1]]), text)
        text = _DOUBLE.sub(r"\1 ", text)
        how = rng.random()
        if how < 0.25:
            text = text.rstrip("?.")
        return text.lower() if how < 0.15 else text[0].upper() + text[1:]

    def examples(self) -> list[Example]:
        """EACH questions of each phrasing; those that came out alike once."""
        return [
            Example(text, note, f"{kind} {k}", kind, 1.0 if note else FEW)
            for note, kind in ((1, "made note questions"), (0, "made table questions"))
            for k, phrasing in enumerate(self.phrasings[note])
            for text in sorted({self.draw(phrasing) for _ in range(EACH)})
        ]


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def own() -> list[Example]:
    """The note questions written for this project."""
    found = []
    for file in ("questions.jsonl", "reading/questions.jsonl"):
        for each in lines_of(CORPUS / "notes" / file):
            group = f"{file} {each['patient_id']}"
            found.append(Example(each["question"], 1, group, "own note questions", OWN))
    return found


def tables(db: Path, ehrsql: Path, seed: int) -> list[Example]:
    """Questions about tables and images."""
    data = json.loads((ehrsql / "train" / "data.json").read_text())["data"]
    labels = json.loads((ehrsql / "train" / "label.json").read_text())
    found = []
    for each in data:
        sql = labels[each["id"]]
        none = sql in (None, "null")
        group = re.sub(r"\d+|'[^']*'", "0", each["question"] if none else sql)
        source = "EHRSQL unanswerable" if none else "EHRSQL answerable"
        found.append(Example(each["question"], 0, group, source))
    for pair in generate(BUILT, seed, read_vocabulary(db)):
        found.append(Example(pair.question, 0, f"{pair.family} {pair.template}", "built"))
    for each in lines_of(CORPUS / "tables" / "clinicians.jsonl"):
        found.append(Example(each["question"], 0, each["id"], "own table questions", OWN))
    return found


def without_number(example: Example, rng: random.Random) -> Example | None:
    """The same question of "he" or "she" in place of a numbered patient; None if it names none."""
    named = _NAMED.search(example.text)
    if named is None:
        return None
    he, his, _ = rng.choice(PERSONS)
    who = his if named[1] or named[2] else he
    text = f"{example.text[: named.start()]} {who}{example.text[named.end() :]}"
    return Example(" ".join(text.split()), 0, example.group, "tables, patient not named", AGAIN)


def matrix(texts: list[str], embedder: Embedder) -> Any:
    """Hashed words (n, BUCKETS) beside sentence vectors (n, 384) times MEANING."""
    plain = [masked(text) for text in texts]
    rows = [sorted(buckets(p, text)) for p, text in zip(plain, texts, strict=True)]
    starts = np.cumsum([0, *map(len, rows)])
    columns = np.array([b for row in rows for b in row], dtype=np.int32)
    ones = np.ones(len(columns), dtype=np.float32)
    words = csr_matrix((ones, columns, starts), shape=(len(texts), BUCKETS))
    return hstack([words, csr_matrix(MEANING * embedder.embed(plain))]).tocsr()


def fit(x: Any, y: Any, weights: Any) -> LogisticRegression:
    """The regression."""
    model = LogisticRegression(C=STRENGTH, solver="liblinear", max_iter=300)
    return model.fit(x, y, sample_weight=weights)


def left_out(x: Any, found: list[Example], rng: random.Random) -> dict[str, Any]:
    """The share of each source that is told rightly by models that did not see its group."""
    names = sorted({e.group for e in found})
    rng.shuffle(names)
    of = {name: k % FOLDS for k, name in enumerate(names)}
    fold = np.array([of[e.group] for e in found])
    y = np.array([e.note for e in found])
    weights = np.array([e.weight for e in found])
    p = np.zeros(len(y))
    for k in range(FOLDS):
        train = fold != k
        p[~train] = fit(x[train], y[train], weights[train]).predict_proba(x[~train])[:, 1]
    source = np.array([e.source for e in found])
    return {
        name: {
            "questions": int((source == name).sum()),
            "right": round(float(((p >= 0.5) == y)[source == name].mean()), 4),
            f"from {MIDDLING} on": round(float((p >= MIDDLING)[source == name].mean()), 4),
        }
        for name in dict.fromkeys(e.source for e in found)
    }


def write(model: LogisticRegression, measured: dict[str, Any], n: int) -> None:
    """weights.json and manifest.json."""
    w = model.coef_[0]
    words, meaning = w[:BUCKETS], w[BUCKETS:] * MEANING
    scale = float(np.abs(words).max()) / 127
    raw = {
        "words": base64.b64encode(np.rint(words / scale).astype(np.int8).tobytes()).decode(),
        "scale": round(scale, 8),
        "meaning": [round(float(v), 5) for v in meaning],
        "bias": round(float(model.intercept_[0]), 5),
    }
    data = (json.dumps(raw, separators=(",", ":")) + "\n").encode()
    (HERE / "weights.json").write_bytes(data)
    manifest = {
        "file": "weights.json",
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "licence": "as ehrqa",
        "about": "tells questions for the notes from those for tables and images, by their words",
        "questions": n,
        "left_out": measured,
    }
    (HERE / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True, help="an EHR with tb_cxr, for building")
    parser.add_argument("--ehrsql", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-measure", action="store_true")
    parser.add_argument("--write", action="store_true")
    flags = parser.parse_args()
    rng = random.Random(flags.seed)
    known = tables(flags.db, flags.ehrsql, flags.seed)
    again = (without_number(e, rng) for e in known if rng.random() < 0.5)
    found = [*Phrasings(HERE / "phrasings.txt", flags.seed).examples(), *own(), *known]
    found += [e for e in again if e is not None]
    x = matrix([e.text for e in found], Embedder.open(threads=1))
    measured = {} if flags.no_measure else left_out(x, found, rng)
    print(json.dumps(measured, indent=1))
    model = fit(x, np.array([e.note for e in found]), np.array([e.weight for e in found]))
    if flags.write:
        write(model, measured, len(found))


if __name__ == "__main__":
    main()
