"""How diverse questions are: the figures of the card of models/corpus/questions.

    python models/corpus/diversity.py --db mimic_iv.sqlite --ehrsql ehrsql-2024 \\
        --tableqa tableqa/questions.jsonl --templates prepared.jsonl

For each set, values masked by their types: the commonest frame's share; distinct 3-grams in 1,000
words (mean of samples of that size, so that large sets are not punished); and the mean cosine of a
question and its nearest other one (all-MiniLM-L6-v2), within a sample of the set and against a
sample of the templates.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ehrqa_cli.notes.find.embed import Embedder

CORPUS = Path(__file__).parent / "questions"
_SLOT = re.compile(r"\{(\w+):[^{}]*\}")
_MARK = re.compile(r"((?:<[a-z_]+>)+)#\d+")
_WORD = re.compile(r"<[a-z_]+>|[a-z0-9']+")
WORDS, DRAWS, POOL = 1000, 30, 1500


def corpus(path: Path) -> Iterator[str]:
    """The questions of a file, as they were said."""
    for row in map(json.loads, path.open(encoding="utf-8")):
        for turn in row.get("turns", [row]):
            yield _SLOT.sub(r"<\1>", turn["q"].lower())


def linked(questions: list[str], db: Path) -> list[str]:
    """Questions with what the linker finds in them masked."""
    from ehrqa_cli.engine.session import Session

    with Session(db) as session:
        linker: Any = session.linker
        texts = [linker.link(q, fuzzy=False).text.lower() for q in questions]
    return [_MARK.sub(lambda m: m[1][: m[1].index(">") + 1], text) for text in texts]


def frame(text: str) -> str:
    """A question's words and masks alone."""
    return " ".join(_WORD.findall(text))


def threes(texts: list[str], rng: random.Random) -> float:
    """Distinct 3-grams in 1,000 words, mean of samples of whole questions."""
    found = []
    for _ in range(DRAWS):
        seen: set[tuple[str, ...]] = set()
        count = 0
        for text in rng.sample(texts, len(texts)):
            words = _WORD.findall(text)
            count += len(words)
            seen.update(zip(words, words[1:], words[2:], strict=False))
            if count >= WORDS:
                break
        found.append(len(seen) / count * 1000)
    return float(np.mean(found))


def nearest(own: np.ndarray, other: np.ndarray | None = None) -> float:
    """Mean cosine of each vector and its nearest in ``other``, or among the rest of its own."""
    cosines = own @ (own if other is None else other).T
    if other is None:
        np.fill_diagonal(cosines, -1)
    return float(cosines.max(1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--ehrsql", type=Path, required=True)
    parser.add_argument("--tableqa", type=Path, required=True)
    parser.add_argument("--templates", type=Path, required=True, help="prepared pairs")
    args = parser.parse_args()
    rng, embedder = random.Random(18), Embedder.open()
    rows = map(json.loads, args.templates.open())
    built = [_MARK.sub(r"\1", r["text"]) for r in rows if r.get("source") != "ehrsql"]
    train = json.loads((args.ehrsql / "train" / "data.json").read_text())["data"]
    asked = [json.loads(line)["question"] for line in args.tableqa.open()]
    sets = {path.stem: list(corpus(path)) for path in sorted(CORPUS.glob("*.jsonl"))}
    sets |= {
        "EHRSQL-2024 train": linked([row["question"] for row in train], args.db),
        "data/tableqa": linked(asked, args.db),
        "templates": built,
    }
    against = embedder.embed(rng.sample(built, 10_000))
    print("set | questions | commonest frame | 3-grams | nearest within | nearest template")
    for name, texts in sets.items():
        common = Counter(map(frame, texts)).most_common(1)[0][1] / len(texts)
        vectors = embedder.embed(rng.sample(texts, min(POOL, len(texts))))
        far = f"{nearest(vectors, against):.3f}" if name != "templates" else ""
        print(f"{name} | {len(texts)} | {common:.2%} | {threes(texts, rng):.0f} | "
              f"{nearest(vectors):.3f} | {far}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
