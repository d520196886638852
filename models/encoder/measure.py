"""How many one-step edits of right forms the judge catches, where it passes most right ones.

``python measure.py --models ROOT --pairs held.jsonl --edits 2000``. The pairs are those of held
writers (models/text2sql/authored.py). The limit on the log-odds is that which the share ``--pass``
of the right readings passes; the edits below it are caught.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
from edits import edits
from groups import said

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.encoder.judge import Judge
from ehrqa_cli.evaluate.calibration import auroc
from ehrqa_cli.logical_form import describe, parse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=modelstore.models_root())
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--edits", type=int, default=2000)
    parser.add_argument("--pass", type=float, default=0.97, dest="passed")
    args = parser.parse_args()
    judge, rng = Judge.load(args.models), random.Random(2019)
    rows = [row for row in map(json.loads, args.pairs.open()) if row["form"] != "abstain"]
    rng.shuffle(rows)
    good: list[float] = []
    bad: list[float] = []
    lengths: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if len(bad) >= args.edits:
            break
        try:
            (other,) = edits(row["form"], row["types"], rng, 1)
            if describe(parse(other)) == describe(parse(row["form"])):
                continue
        except (FormError, ValueError):
            continue
        asked = LinkedQuestion("", row["text"], ())
        odds = judge.faithful(asked, [said(f, row["types"]) for f in (row["form"], other)])
        good.append(odds[0])
        bad.append(odds[1])
        change = len(other.split()) - len(row["form"].split())
        lengths["shorter" if change < 0 else "longer" if change else "exchanged"].append(odds[1])
    right, wrong = np.array(good), np.array(bad)
    limit = float(np.quantile(right, 1 - args.passed))
    print(f"{len(bad)} edits; caught {np.mean(wrong < limit):.3f} below {limit:.2f}")
    print(f"AUROC {auroc(right, wrong):.4f}; above its own edit {np.mean(right > wrong):.4f}")
    print(f"at 0: caught {np.mean(wrong < 0):.3f}, passed {np.mean(right > 0):.3f}")
    for name, found in lengths.items():
        print(f"  {name}: {np.mean(np.array(found) < limit):.3f} of {len(found)}")


if __name__ == "__main__":
    main()
