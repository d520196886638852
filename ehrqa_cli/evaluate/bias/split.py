"""The debiased split (Yang et al. 2024, section 3), a random one, and writing either to files.

A validation set becomes a new validation and a new test set. Unanswerable questions with a
predominant n-gram go to the test set, but for M per n-gram; so the filter that is learnt on the new
validation set hardly knows the patterns of the new test set. Answerable ones are halved at random.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError, UsageError
from ehrqa_cli.evaluate.bias.ngrams import Pattern, Patterns, ngrams
from ehrqa_cli.evaluate.ehrsql.load import NULL, Dataset, Item


@dataclass(frozen=True)
class SplitSettings:
    """``unigram`` and ``bigram`` are the paper's λ: n-grams with a higher ratio are predominant.
    ``kept`` is its M: how many questions of each go to the new validation set."""

    unigram: float = 20.0
    bigram: float = 16.0
    kept: int = 5

    @classmethod
    def parse(cls, text: str) -> SplitSettings:
        """λ1-λ2-M, as ``str`` writes it. Raises UsageError."""
        try:
            unigram, bigram, kept = text.split("-")
            return cls(float(unigram), float(bigram), int(kept))
        except ValueError:
            raise UsageError(
                f"'{text}' is no split", "write λ1-λ2-M, for example 20-16-5"
            ) from None

    def __str__(self) -> str:
        return f"{self.unigram:g}-{self.bigram:g}-{self.kept}"


PAPER = SplitSettings()


@dataclass(frozen=True)
class Split:
    """A new validation and test set. ``patterns`` are the predominant n-grams (none when it was
    split at random); ``settings`` is None then."""

    valid: tuple[Item, ...]
    test: tuple[Item, ...]
    seed: int
    settings: SplitSettings | None = None
    patterns: tuple[Pattern, ...] = ()

    @property
    def name(self) -> str:
        """``random``, or the settings."""
        return "random" if self.settings is None else f"debiased {self.settings}"

    def counts(self) -> dict[str, dict[str, int]]:
        """Questions by part and answerability."""
        return {
            part: {
                "answerable": sum(i.gold is not None for i in items),
                "unanswerable": sum(i.gold is None for i in items),
            }
            for part, items in (("valid", self.valid), ("test", self.test))
        }


def debiased(items: Sequence[Item], settings: SplitSettings = PAPER, seed: int = 0) -> Split:
    """The paper's split. Ratios are those of the whole of ``items``; the n-grams are taken from
    the highest ratio down, and each is topped up to M questions in the new validation set (a
    question kept for one n-gram counts for the others that it contains)."""
    draw = random.Random(seed)
    found = Patterns((i.question, i.gold is not None) for i in items)
    patterns = (
        *found.predominant(1, settings.unigram),
        *found.predominant(2, settings.bigram),
    )
    unanswerable = [i for i in items if i.gold is None]
    holders = {
        p: [i for i in unanswerable if p.text in ngrams(i.question, p.size)] for p in patterns
    }
    moved = {i.id for held in holders.values() for i in held}
    for held in holders.values():
        left = [i.id for i in held if i.id in moved]
        missing = settings.kept - (len(held) - len(left))
        moved.difference_update(draw.sample(left, max(0, min(missing, len(left)))))
    half = _halves([i for i in items if i.gold is not None], draw)
    return Split(
        valid=tuple(i for i in items if i.id not in (moved if i.gold is None else half)),
        test=tuple(i for i in items if i.id in (moved if i.gold is None else half)),
        seed=seed,
        settings=settings,
        patterns=patterns,
    )


def at_random(items: Sequence[Item], seed: int = 0) -> Split:
    """Halves of equal size, answerable and unanswerable questions alike (Table 4)."""
    draw = random.Random(seed)
    half = _halves([i for i in items if i.gold is not None], draw)
    half |= _halves([i for i in items if i.gold is None], draw)
    return Split(
        valid=tuple(i for i in items if i.id not in half),
        test=tuple(i for i in items if i.id in half),
        seed=seed,
    )


def _halves(items: Sequence[Item], draw: random.Random) -> set[str]:
    return {i.id for i in draw.sample(list(items), len(items) // 2)}


def write_split(split: Split, source: Dataset, out: Path) -> dict[str, Any]:
    """Write ``valid`` and ``test`` under ``out`` as EHRSQL-2024 lays its splits out (data.json,
    label.json, and answer.json where answers are published), with ``card.json``: seed, settings,
    counts and hashes. Returns the card. Raises EvaluationError when ``out`` cannot be written."""
    card: dict[str, Any] = {
        "method": "Yang et al. 2024, debiased" if split.settings else "random halves",
        "source": {
            "dataset": source.name,
            "split": source.split,
            "version": source.version,
            "sha256": source.sha256,
        },
        "seed": split.seed,
        "settings": asdict(split.settings) if split.settings else None,
        "patterns": [{**asdict(p), "ratio": round(p.ratio, 4)} for p in split.patterns],
        "counts": split.counts(),
        "sha256": {},
    }
    try:
        for part, items in (("valid", split.valid), ("test", split.test)):
            version = f"{source.version}-{split.name.replace(' ', '-')}-seed{split.seed}-{part}"
            card["sha256"][part] = _write_part(out / part, items, version)
        (out / "card.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise EvaluationError(f"cannot write {out}: {error.strerror}", "check the path") from None
    return card


def _write_part(folder: Path, items: Sequence[Item], version: str) -> str:
    """One part's files; the SHA-256 over data.json and label.json, as load_ehrsql takes it."""
    data = [{"id": i.id, "question": i.question} for i in items]
    files = {
        "data.json": {"version": version, "data": data},
        "label.json": {i.id: NULL if i.gold is None else i.gold for i in items},
    }
    if any(i.answer is not None for i in items):
        files["answer.json"] = {i.id: NULL if i.answer is None else i.answer for i in items}
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    for name, content in files.items():
        raw = json.dumps(content, ensure_ascii=False, indent=1).encode()
        (folder / name).write_bytes(raw)
        if name != "answer.json":
            digest.update(raw)
    return digest.hexdigest()
