"""What words alone give away about a set: the n-gram report and the debiased split (Yang et al.
2024), made by the same code as `ehrqa eval abstention --write-split`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.bias.split import Split
    from ehrqa_cli.evaluate.ehrsql.load import Dataset, Item

REPORT, DEBIASED = "bias.json", "debiased"
AUTO = "auto"
_SHOWN = 20
_LADDER = ("20-16-5", "10-8-3", "4-4-1", "2-2-1", "1-1-1")


def bias(out: Path, seed: int, settings: str) -> dict[str, Any]:
    """Write ``bias.json`` (the n-grams of all questions that go with having no answer, highest
    ratio first) and ``debiased/`` (a new valid and test, made of the set's). Returns a
    summary for the card. Raises BuildError or EvaluationError when they cannot be written."""
    from ehrqa_cli.cli.output import to_json
    from ehrqa_cli.evaluate.bias.ngrams import NAMES, Patterns
    from ehrqa_cli.evaluate.bias.split import write_split
    from ehrqa_cli.evaluate.ehrsql.load import load_ehrsql
    from ehrqa_cli.sets.making.files import replace_text, writing
    from ehrqa_cli.sets.making.shares import SPLITS

    # A split of no patients is not there; one of questions about images alone has no tables'.
    sets = {split: load_ehrsql(out, split) for split in SPLITS if _asks(out / split)}
    items = [item for found in sets.values() for item in found.items]
    patterns = Patterns((item.question, item.gold is not None) for item in items)
    report: dict[str, Any] = {
        "questions": len(items),
        "unanswerable": sum(item.gold is None for item in items),
        **{
            name: [
                {"text": p.text, "answerable": p.answerable, "unanswerable": p.unanswerable,
                 "ratio": round(p.ratio, 3)}
                for p in patterns.predominant(size)[:_SHOWN]
            ]
            for size, name in NAMES.items()
        },
    }  # fmt: skip
    with writing(out / REPORT):
        replace_text(out / REPORT, to_json(report, indent=1) + "\n")
    strongest = {name: report[name][0] if report[name] else None for name in NAMES.values()}
    apart = [found for name, found in sets.items() if name != "train"]
    if not apart:
        return {"strongest": strongest, "debiased": {"method": "none", "patterns": 0, "counts": {}}}
    both = _together(apart)
    split = _split(both.items, seed, settings)
    card = write_split(split, both, out / DEBIASED)
    return {
        "strongest": strongest,
        "debiased": {
            "method": split.name,
            "patterns": len(card["patterns"]),
            "counts": card["counts"],
        },
    }


def _asks(folder: Path) -> bool:
    """Does a split in EHRSQL's layout hold a question?"""
    path = folder / "data.json"
    return path.is_file() and bool(json.loads(path.read_text(encoding="utf-8"))["data"])


def _together(sets: Sequence[Dataset]) -> Dataset:
    """Valid and test as one set to divide anew: valid alone has too few unanswerable questions."""
    text = hashlib.sha256(" ".join(found.sha256 for found in sets).encode()).hexdigest()
    items = tuple(item for found in sets for item in found.items)
    name = "+".join(found.split for found in sets)
    return replace(sets[0], split=name, sha256=text, items=items)


def _split(items: Sequence[Item], seed: int, settings: str) -> Split:
    """The split of these settings; ``auto``: of the strictest that put at least a fifth of the
    unanswerable questions into the new test set (the paper's ratios are those of a set of
    thousands), else one at random."""
    from ehrqa_cli.evaluate.bias.split import SplitSettings, at_random, debiased

    if settings != AUTO:
        return debiased(items, SplitSettings.parse(settings), seed)
    for text in _LADDER:
        found = debiased(items, SplitSettings.parse(text), seed)
        none = [sum(i.gold is None for i in part) for part in (found.valid, found.test)]
        if none[1] and none[1] >= sum(none) / 5:
            return found
    return at_random(items, seed)
