"""Makes the answerability model in one command; what is there already is not made again.

``python models/answerability/recipe.py --data prepared.jsonl [more.jsonl ...]``

The data are any files that models/text2sql/prepare.py wrote. Steps: a vector for every word piece
(vectors.py), training with some templates held out, scored and thrown away (train.py --hold),
training on everything, and the ONNX file with its manifest (finish.py). models/nearest/recipe.py
takes the same run further.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def run(*command: str | Path) -> None:
    """Run a command in this folder. Raises CalledProcessError."""
    words = [str(c) for c in command]
    print("+", " ".join(words), file=sys.stderr, flush=True)
    path = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    subprocess.run(words, check=True, cwd=HERE, env=os.environ | {"PYTHONPATH": path})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument(
        "--without", nargs="*", default=[], help="parts of names of templates to leave out"
    )
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "second")
    parser.add_argument("--minutes", type=float, default=15, help="of processor time, each run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--warm", type=Path, help="an earlier run to start from")
    parser.add_argument("--skip-hold", action="store_true", help="no scores on held-out templates")
    args = parser.parse_args()
    work, python = args.work.resolve(), sys.executable
    data = [path.resolve() for path in args.data]
    work.mkdir(parents=True, exist_ok=True)
    vectors = work / "vectors.npz"
    if not vectors.exists():
        run(python, HERE / "vectors.py", "--out", vectors)
    given = ("--data", *data, "--without", *args.without, "--vectors", vectors)
    budget: tuple[str, ...] = ("--minutes", str(args.minutes), "--threads", str(args.threads))
    if args.warm:
        budget = (*budget, "--warm", str(args.warm.resolve()))
    held, full = work / "held", work / "run"
    if not args.skip_hold and not (held / "report.json").exists():
        run(python, HERE / "train.py", *given, "--out", held, "--hold", "0.12", *budget)
    if not (full / "report.json").exists():
        run(python, HERE / "train.py", *given, "--out", full, *budget)
    run(python, HERE / "finish.py", "answerability", "--run", full, *given)


if __name__ == "__main__":
    main()
