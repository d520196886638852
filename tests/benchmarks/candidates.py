"""Candidate text-to-SQL models side by side: size, seconds a question, RS(0) and RS(10).

    python tests/benchmarks/candidates.py --data ehrsql-2024 --db mimic_iv.sqlite \\
        small=small/text2sql.gguf shipped=models/text2sql/text2sql.gguf

Without thresholds and without a second opinion: what the model alone does. A model whose grammar
is older than the program's is measured with the words it knows.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.evaluate.ehrsql import run_ehrsql
from ehrqa_cli.text2sql.local import LocalModel


def measure(path: Path, args: argparse.Namespace) -> str:
    """One row of the table. Raises EhrqaError for a file that cannot be used."""
    model = LocalModel(path, threads=args.threads)
    began = time.perf_counter()
    report = run_ehrsql(
        args.data,
        args.split,
        args.db,
        limit=args.limit,
        model=model,
        thresholds=Thresholds.off(),
    )
    took = time.perf_counter() - began
    found = report.overall
    rs = found.rs
    return (
        f"{path.stat().st_size / 1e6:.1f} MB | {took / found.questions:.3f} s | {rs[0]:.1f} | "
        f"{rs[10]:.1f} | {found.questions}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", metavar="LABEL=FILE")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", default="valid")
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    print("model | size | seconds a question | RS(0) | RS(10) | questions", flush=True)
    for given in args.models:
        label, _, path = given.partition("=")
        print(f"{label} | {measure(Path(path), args)}", flush=True)


if __name__ == "__main__":
    main()
