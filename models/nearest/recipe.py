"""Makes the index of known questions and the writer that rates forms, in one command.

``python models/nearest/recipe.py --data prepared.jsonl [more.jsonl ...]``

Takes the run of models/answerability/recipe.py (and makes it first where it is missing): the
writer was trained with that encoder, and the index holds what it makes of known questions.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
READER = HERE.parent / "answerability"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "second")
    parser.add_argument("--count", type=int, default=5000, help="questions to know")
    parser.add_argument("--each", type=int, default=6, help="of them with one skeleton")
    args, more = parser.parse_known_args()
    data = [str(path.resolve()) for path in args.data]
    given = ["--data", *data, "--without", *args.without]
    work = args.work.resolve()
    path = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    setting = os.environ | {"PYTHONPATH": path}
    if not (work / "run" / "report.json").exists():
        reader = [str(READER / "recipe.py"), *given, "--work", str(work), *more]
        subprocess.run([sys.executable, *reader], check=True, env=setting)
    files = ["--run", str(work / "run"), "--vectors", str(work / "vectors.npz")]
    sizes = ["--count", str(args.count), "--each", str(args.each)]
    finish = [str(READER / "finish.py"), "nearest", *files, *given, *sizes]
    subprocess.run([sys.executable, *finish], check=True, env=setting, cwd=READER)


if __name__ == "__main__":
    main()
