"""Chooses models/text2sql/thresholds.json anew, and says what they do to the scores.

    python tests/benchmarks/tune_thresholds.py --db mimic_iv.sqlite --data ehrsql-2024 \\
        --split valid --out /tmp/tune [--precision 0.99] [--write models/text2sql/thresholds.json]

The figures "held out" are of weights fitted on the other four fifths, the limit chosen on those.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ehrqa_cli.evaluate.ehrsql import RECORDS
from ehrqa_cli.evaluate.metrics import score
from ehrqa_cli.evaluate.records import read_records
from ehrqa_cli.evaluate.thresholds import Goal, apply, tune, write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--penalty", type=float, default=10.0)
    parser.add_argument("--precision", type=float)
    parser.add_argument("--write", type=Path)
    flags = parser.parse_args()
    goal = Goal(flags.penalty, flags.precision)
    chosen = tune(flags.data, flags.split, flags.db, flags.out, goal)
    records = read_records(flags.out / RECORDS)
    shown = {
        "chosen": chosen.as_dict(),
        "without": vars(score([r.outcome for r in records])),
        "with": vars(score([r.outcome for r in apply(records, chosen)])),
    }
    print(json.dumps(shown, indent=1))
    if flags.write:
        write(chosen, flags.write)


if __name__ == "__main__":
    main()
