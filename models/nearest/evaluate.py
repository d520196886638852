"""What the second opinion's scores are worth: do they tell wrong forms from right ones?

``python models/nearest/evaluate.py PREPARED [...] --limit 1000 [--held 0.12]`` lets the shipped
text-to-SQL model write a form for each question, and prints for each score the AUROC (a score as
a predictor of "the form is wrong, or there is none"), apart for the model's own ``max_entropy``.
``--held`` takes only the groups that training with that ``--hold`` left out.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE.parent / "answerability")]

from data import groups, held, load  # noqa: E402

from ehrqa_cli.contracts.types import Link, LinkedQuestion  # noqa: E402
from ehrqa_cli.text2sql.local import LocalModel  # noqa: E402
from ehrqa_cli.text2sql.second import SecondOpinion  # noqa: E402

# The sign that makes a larger score mean "more likely wrong".
SIGNS = dict.fromkeys(
    ("agreement", "retrieved", "mean_logprob", "min_logprob", "sum_logprob"), -1.0
)


def measure(row: dict[str, Any], model: LocalModel, second: SecondOpinion) -> dict[str, Any]:
    """Scores of both models on one question, and whether the form is right."""
    links = tuple(Link(0, 0, tuple(types), 1) for types in row["types"])
    linked = LinkedQuestion(row["text"], row["text"], links)
    query = model.generate(linked)[0]
    written = query.logical_form
    form = None if written == "abstain" else written
    scores = {k: v for k, v in query.scores.items() if isinstance(v, float)}
    scores |= second.scores(linked, form)
    none = row["form"] == "abstain"
    return {"text": row["text"], "gold": row["form"], "written": written, "none": none,
            "right": written == row["form"], "scores": scores}  # fmt: skip


def auroc(scores: np.ndarray, wrong: np.ndarray) -> float:
    """Area under the ROC curve, ties counted half; nan without both classes."""
    good, bad = np.sort(scores[~wrong]), scores[wrong]
    if not len(good) or not len(bad):
        return float("nan")
    below, up_to = np.searchsorted(good, bad), np.searchsorted(good, bad, side="right")
    return float((below + up_to).mean() / 2 / len(good))


def table(found: list[dict[str, Any]], name: str) -> None:
    """Prints one line a score."""
    wrong = np.array([not f["right"] for f in found])
    print(f"{name}: {len(found)} questions, {int(wrong.sum())} wrong")
    if not wrong.any() or wrong.all():
        return
    for score in sorted({k for f in found for k in f["scores"]}):
        values = np.array([f["scores"].get(score, 0.0) for f in found]) * SIGNS.get(score, 1.0)
        limit = np.quantile(values[~wrong], 0.98)
        caught = float((values[wrong] > limit).mean())
        print(f"  {score:20} AUROC {auroc(values, wrong):.3f}  caught at 2% {caught:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held", type=float, help="only groups held out at this share")
    parser.add_argument("--fold", default="1")
    parser.add_argument("--model", type=Path, default=ROOT / "models/text2sql")
    parser.add_argument("--models", type=Path, default=ROOT / "models")
    parser.add_argument("--out", type=Path, help="every question with its scores, JSON Lines")
    args = parser.parse_args()
    rows = load(args.data, args.without)
    if args.held is not None:
        named = zip(rows, groups(rows), strict=True)
        rows = [row for row, group in named if held(group, args.held, args.fold)]
    random.Random(args.seed).shuffle(rows)
    model, second = LocalModel(args.model, threads=1), SecondOpinion.load(args.models)
    found = [measure(row, model, second) for row in rows[: args.limit]]
    if args.out:
        args.out.write_text("".join(json.dumps(f) + "\n" for f in found))
    # The engine declines by itself what the model declines: the rest is what scores are for.
    written = [f for f in found if f["written"] != "abstain"]
    table(written, "all that was written")
    table([f for f in written if not f["none"]], "answerable")
    table([f for f in written if f["none"] or f["right"]], "unanswerable against right ones")


if __name__ == "__main__":
    main()
