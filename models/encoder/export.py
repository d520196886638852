"""The trained encoder as an ONNX graph with eight-bit weights, and a check that it is the same.

``python export.py --run DIR --out models/encoder --check groups.jsonl``. Fails where a reading's
log-odds differ from torch's by more than ``--tolerance`` in the mean.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import sys
from pathlib import Path

import torch
from heads import CLASSES, Encoder, Served
from train import PIECES, SPECIAL, Read, tensors, together

from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.encoder.judge import NETWORK, Judge
from ehrqa_cli.onnx import Folder

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from quantize import graph


def load(run: Path) -> Encoder:
    net = Encoder(PIECES + len(SPECIAL))
    net.load_state_dict(torch.load(run / "checkpoint.pt", weights_only=False)["net"])
    return net.eval()


def export(net: Encoder, out: Path) -> None:
    """The graph and its manifest."""
    example = (torch.randint(5, 900, (2, 9)), torch.zeros(2, 9, dtype=torch.long))
    both = {0: "pairs", 1: "n"}
    lengths = {"ids": both, "part": both, "odds": {0: "pairs"}, "classes": {0: "pairs"}}
    data = graph(Served(net), example, ["ids", "part"], ["odds", "classes"], lengths)
    (out / NETWORK).write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    manifest = {
        "file": NETWORK,
        "bytes": len(data),
        "sha256": digest,
        "licence": "Apache-2.0",
        "about": "does a reading say what was asked; what sort of question (all-MiniLM-L6-v2)",
        "files": {NETWORK: digest},
        "special": SPECIAL,
        "classes": CLASSES,
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


@torch.no_grad()
def check(net: Encoder, out: Path, groups: Path, limit: int) -> float:
    """The mean difference of the log-odds of ``limit`` questions' right readings."""
    judge, differences = Judge(Folder(out)), []
    rows = (json.loads(line) for line in groups.open())
    for row in itertools.islice((row for row in rows if row["good"]), limit):
        for reading in row["good"][:1]:
            read = Read(*together(row["text"], reading), 1, None)
            ours = float(net.faithful(net(*tensors([read])))[0, 0])
            linked = LinkedQuestion("", row["text"], ())
            differences.append(abs(ours - judge.faithful(linked, [reading])[0]))
    return sum(differences) / len(differences)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--check", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--tolerance", type=float, default=0.15)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    net = load(args.run)
    export(net, args.out)
    difference = check(net, args.out, args.check, args.limit)
    print(json.dumps({"mean_difference": round(difference, 4)}))
    sys.exit(difference > args.tolerance)


if __name__ == "__main__":
    main()
