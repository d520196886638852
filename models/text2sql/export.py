"""The trained network as two ONNX graphs with eight-bit weights, and a check that they are it.

``python export.py --run DIR --out models/text2sql --check pairs.jsonl``. The check decodes the
questions of ``--check`` with both, under no grammar, and fails where a form differs from
torch's in more than one of a hundred, or a score of a first lexeme by more than ``--tolerance``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import torch
from network import MOST_LEXEMES, WIDTH, WRITE_HEADS, Network, Reading, Writing
from train import NUMBER, SPECIAL, WORDS

from ehrqa_cli.encoder.tokens import encode_question
from ehrqa_cli.logical_form import EOS
from ehrqa_cli.onnx import Folder
from ehrqa_cli.text2sql.network import BEGIN, DECODER, ENCODER
from ehrqa_cli.text2sql.network import Network as Runtime

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from quantize import graph


def load(run: Path) -> Network:
    """The network of a run, with as many layers as it has."""
    kept = torch.load(run / "checkpoint.pt", weights_only=False)["net"]
    layers = 1 + max(int(name.split(".")[1]) for name in kept if name.startswith("writes."))
    net = Network(len(kept["tokens.weight"]), len(kept["lexemes.weight"]), layers)
    net.load_state_dict(kept)
    return net.eval()


def export(net: Network, out: Path, facts: dict[str, object]) -> None:
    """Both graphs and their manifest."""
    head = WIDTH // WRITE_HEADS
    layers = 2 * len(net.writes)
    memory, past = (
        torch.randn(layers, 1, WRITE_HEADS, 9, head),
        torch.randn(layers, 2, WRITE_HEADS, 4, head),
    )
    lengths = {"memory": {3: "n"}, "past": {1: "forms", 3: "m"}, "token": {0: "forms"},
               "logits": {0: "forms"}, "later": {1: "forms", 3: "more"}}  # fmt: skip
    (out / ENCODER).write_bytes(
        graph(Reading(net), (torch.randint(5, 900, (1, 9)),), ["ids"], ["memory"],
              {"ids": {1: "n"}, "memory": {3: "n"}})
    )  # fmt: skip
    (out / DECODER).write_bytes(
        graph(Writing(net), (torch.tensor([5, 6]), memory, past), ["token", "memory", "past"],
              ["logits", "later"], lengths)
    )  # fmt: skip
    files = {n: hashlib.sha256((out / n).read_bytes()).hexdigest() for n in (ENCODER, DECODER)}
    manifest = {
        "file": ENCODER,
        "bytes": (out / ENCODER).stat().st_size,
        "sha256": files[ENCODER],
        "licence": "Apache-2.0",
        "about": "linked question to logical form (encoder from all-MiniLM-L6-v2)",
        "files": files,
        "past": [layers, WRITE_HEADS, head],
        "special": SPECIAL,
        "lexemes": list(WORDS),
        **facts,
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


@torch.no_grad()
def written(net: Network, ids: list[int]) -> tuple[list[int], np.ndarray]:
    """What torch writes, greedily, and the scores of the first lexeme."""
    form, first = [NUMBER[BEGIN]], None
    question = torch.tensor([ids])
    while len(form) < MOST_LEXEMES - 1:
        scores = net(question, torch.tensor([form]))[0, -1]
        first = scores.numpy() if first is None else first
        form.append(int(scores.argmax()))
        if form[-1] == NUMBER[EOS]:
            break
    assert first is not None
    return form[1:], first


def run(network: Runtime, ids: list[int]) -> tuple[list[int], np.ndarray]:
    """The same of the run time."""
    state, form, first = network.read(ids), [BEGIN], None
    while len(form) < MOST_LEXEMES - 1:
        logits, state = network.step(form[-1:], state)
        first = logits[0] if first is None else first
        form.append(WORDS[int(logits[0].argmax())])
        if form[-1] == EOS:
            break
    assert first is not None
    return [NUMBER[w] for w in form[1:]], first


def check(net: Network, out: Path, pairs: Path, limit: int) -> tuple[float, float]:
    """The share of questions whose forms differ, and the largest difference of a score."""
    network = Runtime(Folder(out))
    rows = [json.loads(line) for line in pairs.open()][:limit]
    other, worst = 0, 0.0
    for row in rows:
        ids = encode_question(row["text"], SPECIAL)
        (ours, a), (theirs, b) = written(net, ids), run(network, ids)
        other += ours != theirs
        worst = max(worst, float(np.abs(a - b).max()))
    return other / len(rows), worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--check", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--tolerance", type=float, default=1.0)
    parser.add_argument("--fact", action="append", default=[], metavar="KEY=VALUE")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    net = load(args.run)
    export(net, args.out, dict(f.split("=", 1) for f in args.fact))
    other, worst = check(net, args.out, args.check, args.limit)
    print(json.dumps({"other_forms": round(other, 4), "worst_score": round(worst, 4)}))
    sys.exit(other > 0.01 or worst > args.tolerance)


if __name__ == "__main__":
    main()
