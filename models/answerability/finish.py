"""Writes the shipped files of a training run: ``finish.py answerability|nearest RUN ...``."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from data import FORM_WORDS, MOST_LEXEMES, load, skeleton
from export import encoder_onnx, index_onnx, manifest, writer_onnx
from network import Reader
from torch.nn import functional as F

from ehrqa_cli.text2sql.second.opinion import POOL
from ehrqa_cli.text2sql.second.pieces import SPECIALS, Pieces

MODELS = Path(__file__).resolve().parents[1]


def trained(run: Path, words: int) -> Reader:
    """The network of a run. Raises OSError without its checkpoint."""
    state = torch.load(run / "checkpoint.pt", weights_only=True)["model"]
    labels = state["labels.weight"].shape[0]
    vectors = torch.zeros(words + len(SPECIALS), state["encoder.vectors"].shape[1])
    reader = Reader(vectors, len(SPECIALS), len(FORM_WORDS), labels)
    reader.load_state_dict(state)
    return reader.eval()


def about(run: Path, data: Sequence[Path]) -> dict[str, Any]:
    report = json.loads((run / "report.json").read_text())
    return {"steps": report["steps"], "pairs": report["rows"], "data": [p.name for p in data]}


def answerability(reader: Reader, words: Sequence[str], run: Path, data: Sequence[Path]) -> None:
    folder = MODELS / "answerability"
    (folder / "encoder.onnx").write_bytes(encoder_onnx(reader.encoder))
    (folder / "pieces.json").write_text(json.dumps(list(words), separators=(",", ":")) + "\n")
    manifest(
        folder, "encoder.onnx", "can a linked question be answered (small encoder)",
        ("encoder.onnx", "pieces.json"), shape=reader.shape, **about(run, data),
    )  # fmt: skip


def choose(rows: Sequence[dict[str, Any]], count: int, each: int) -> list[dict[str, Any]]:
    """Answerable questions to know: each skeleton in turn, the commonest first, EHRSQL's before
    built ones; at most ``each`` of a skeleton."""
    common = Counter(skeleton(r["form"]) for r in rows)
    # the order of a file is random already: what comes first of a skeleton is as good as any
    ordered = sorted(rows, key=lambda r: (r["source"] != "ehrsql", -common[skeleton(r["form"])]))
    turns: Counter[str] = Counter()
    ranked: list[tuple[int, int, int, dict[str, Any]]] = []
    for row in ordered:
        name = skeleton(row["form"])
        turns[name] += 1
        if turns[name] <= each:
            ranked.append((turns[name], -common[name], len(ranked), row))
    ranked.sort(key=lambda entry: entry[:3])
    return [entry[3] for entry in ranked[:count]]


@torch.no_grad()
def points(reader: Reader, pieces: Pieces, texts: Sequence[str]) -> np.ndarray:
    """The unit vector of each text, read one by one as at run time."""
    found = [reader.encoder(torch.tensor([pieces.read(t).ids]))[1][0] for t in texts]
    return F.normalize(torch.stack(found), dim=-1).numpy()


def nearest(reader: Reader, words: Sequence[str], args: argparse.Namespace) -> None:
    folder = MODELS / "nearest"
    rows = [r for r in load(args.data, args.without) if r["form"] != "abstain"]
    known = choose(rows, args.count, args.each)
    entries = [[r["text"], r["form"]] for r in known]
    stored = {"lexemes": list(FORM_WORDS), "questions": entries}
    (folder / "known.json").write_text(json.dumps(stored, separators=(",", ":")) + "\n")
    found = points(reader, Pieces(words), [r["text"] for r in known])
    (folder / "index.onnx").write_bytes(index_onnx(found, POOL))
    (folder / "writer.onnx").write_bytes(writer_onnx(reader.writer, reader.shape["width"]))
    manifest(
        folder, "writer.onnx", "how likely a logical form is, and the nearest known questions",
        ("writer.onnx", "index.onnx", "known.json"), most_lexemes=MOST_LEXEMES,
        questions=len(known), **about(args.run, args.data),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("answerability", "nearest"))
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--count", type=int, default=5000, help="questions to know")
    parser.add_argument("--each", type=int, default=6, help="of them with one skeleton")
    args = parser.parse_args()
    torch.set_num_threads(1)
    words = [str(w) for w in np.load(args.vectors)["words"]]
    reader = trained(args.run, len(words))
    if args.part == "answerability":
        answerability(reader, words, args.run, args.data)
    else:
        nearest(reader, words, args)
    print(f"{args.part} written", file=sys.stderr)


if __name__ == "__main__":
    main()
