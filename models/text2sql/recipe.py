"""The whole recipe in one command; each step is skipped when its result is there already.

``python models/text2sql/recipe.py --db EHR.sqlite --ehrsql EHRSQL_DIR --base SmolLM2.gguf``

pairs   questions with forms: the builder's, and EHRSQL train through the inverse
prepare the linker replaces values by references
train   fine-tuning; interrupted, it resumes from its checkpoint
export  GGUF, quantized, with its manifest
check   llama.cpp gives the trained tokenizer's ids and the trained network's logits
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--db", type=Path, required=True, help="an EHR; image pairs need its table tb_cxr"
    )
    parser.add_argument("--ehrsql", type=Path, required=True, help="folder with EHRSQL's train/")
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "text2sql")
    parser.add_argument("--count", type=int, default=100_000, help="built pairs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=80)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--type", default="Q5_0")
    parser.add_argument("--runtime", default=sys.executable, help="python with llama_cpp")
    parser.add_argument("train", nargs="*", help="after --, further options of train.py")
    args = parser.parse_args()
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    python, out = sys.executable, args.work / "run"
    prepared = pairs(args, python)
    sources = ("--data", prepared, "--base", args.base, "--out", out)
    settings = ("--minutes", str(args.minutes), "--device", args.device, "--repeat", "ehrsql=3")
    run(python, HERE / "train.py", *sources, *settings, "--tokens", "2048", *args.train)
    model = HERE / "text2sql.gguf"
    run(python, HERE / "export.py", "--run", out, "--out", model, "--type", args.type)
    parity, plain = args.work / "parity.npz", args.work / "f32" / "text2sql.gguf"
    run(python, HERE / "parity.py", "dump", out, prepared, parity)
    run(python, HERE / "export.py", "--run", out, "--out", plain, "--type", "F32")
    run(args.runtime, HERE / "parity.py", "check", parity, plain)
    run(args.runtime, HERE / "evaluate_forms.py", prepared, "--gguf", model, "--limit", "500")


if __name__ == "__main__":
    main()
