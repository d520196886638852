"""The whole recipe in one command; each step is skipped when its result is there already.

``python models/text2sql/recipe.py --db EHR.sqlite --ehrsql EHRSQL_DIR --base model.safetensors``

pairs   questions with forms: the corpus's, the builder's, and EHRSQL train through the inverse
prepare the linker replaces values by references
train   from MiniLM's weights; interrupted, it resumes from its checkpoint
export  ONNX with eight-bit weights and a manifest, checked against torch
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
    """Run a command from the repository's root. Raises CalledProcessError."""
    words = [str(c) for c in command]
    print("+", " ".join(words), file=sys.stderr, flush=True)
    path = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    # Passive waiting: spinning threads waste much of a core when anything else runs.
    setting = os.environ | {"PYTHONPATH": path, "OMP_WAIT_POLICY": "PASSIVE"}
    subprocess.run(words, check=True, cwd=ROOT, env=setting)


def pairs(args: argparse.Namespace, python: str) -> Path:
    """Both sources of pairs, prepared for the trainer."""
    built, inverse = args.work / "built.jsonl", args.work / "ehrsql.jsonl"
    prepared: Path = args.work / "prepared.jsonl"
    if not built.exists():
        options: tuple[str | Path, ...] = (
            *("--n", str(args.count), "--seed", str(args.seed)),
            *("--out", built),
        )
        run(python, "-m", "ehrqa_cli.sets.pairs.generate", "--db", args.db, *options)
    if not inverse.exists():
        options = ("--data", args.ehrsql, "--split", "train", "--out", inverse)
        run(python, "-m", "ehrqa_cli.sets.inverse", *options)
    if not prepared.exists():
        sources = (f"built={built}", f"ehrsql={inverse}")
        dropped = args.work / "dropped.jsonl"
        options = ("--db", args.db, "--out", prepared, "--dropped", dropped)
        run(python, HERE / "prepare.py", *sources, *options)
    return prepared


def authored(args: argparse.Namespace, python: str, split: str) -> Path:
    """The pairs of a split of the authored corpus."""
    out: Path = args.work / f"authored-{split}.jsonl"
    if not out.exists():
        files = sorted((ROOT / "models" / "corpus" / "questions").glob("*.jsonl"))
        options = ("--db", args.db, "--out", out, "--split", split)
        run(python, HERE / "authored.py", *options, *files)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--db", type=Path, required=True, help="an EHR; image pairs need its table tb_cxr"
    )
    parser.add_argument("--ehrsql", type=Path, required=True, help="folder with EHRSQL's train/")
    parser.add_argument("--base", type=Path, required=True, help="MiniLM's model.safetensors")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "text2sql")
    parser.add_argument("--count", type=int, default=100_000, help="built pairs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("train", nargs="*", help="after --, further options of train.py")
    args = parser.parse_args()
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    python, out = sys.executable, args.work / "run"
    data = (authored(args, python, "train"), pairs(args, python))
    dev = authored(args, python, "tune")
    sources = ("--data", *data, "--dev", dev, "--base", args.base, "--out", out)
    run(python, HERE / "train.py", *sources, "--minutes", str(args.minutes), *args.train)
    run(python, HERE / "export.py", "--run", out, "--out", HERE, "--check", dev)


if __name__ == "__main__":
    main()
