"""Exact match of forms on prepared pairs, of a training run (torch) or of a GGUF (llama.cpp).

``python evaluate_forms.py prepared.jsonl --run DIR`` or ``--gguf FILE [--method beam]``. By
default only the pairs that training held out. Prints one JSON object; ``--out`` keeps each row.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def chosen(paths: Iterable[Path], share: float, limit: int) -> list[dict[str, Any]]:
    """The held-out rows (all with ``share`` 1), at most ``limit``, spread over the whole."""
    found = []
    for path in paths:
        with path.open() as lines:
            for line in lines:
                row = json.loads(line)
                # The same rule as data.is_dev, which this script must not import (torch).
                if share >= 1 or zlib.crc32(row["text"].encode()) % 10_000 < share * 10_000:
                    found.append(row)
    found.sort(key=lambda row: zlib.crc32(("order" + row["text"]).encode()))
    return found[:limit] if limit else found


def with_gguf(rows: list[dict[str, Any]], args: argparse.Namespace) -> list[dict[str, Any]]:
    """Forms, scores and milliseconds of the run time, one question after the other."""
    from ehrqa_cli.contracts.types import Link, LinkedQuestion
    from ehrqa_cli.text2sql.local import LocalModel

    model = LocalModel(args.gguf, threads=args.threads, method=args.method)
    out = []
    for row in rows:
        links = tuple(Link(0, 0, tuple(types), None) for types in row["types"])
        began = time.perf_counter()
        query = model.generate(LinkedQuestion(row["text"], row["text"], links))[0]
        spent = (time.perf_counter() - began) * 1000
        out.append({"got": query.logical_form, "ms": spent, "scores": query.scores})
    return out


def with_torch(rows: list[dict[str, Any]], args: argparse.Namespace) -> list[dict[str, Any]]:
    """Batched greedy decoding of a checkpoint, without the grammar."""
    import torch
    from data import form_start
    from export import load

    from ehrqa_cli.text2sql.tokens import EOS, encode_question

    torch.set_num_threads(args.threads)
    net, words = load(args.run)
    ids, bpe = words.ids, words.encoder()
    end, pad = ids[EOS], form_start(words)
    out: list[dict[str, Any]] = [{} for _ in rows]
    prompts = [encode_question(row["text"], ids, bpe) for row in rows]
    order = sorted(range(len(rows)), key=lambda i: len(prompts[i]))
    for start in range(0, len(order), 64):
        part = order[start : start + 64]
        written = [list(prompts[i]) for i in part]
        live = set(range(len(part)))
        with torch.no_grad():
            while live and max(len(w) for w in written) < 400:
                length = max(len(written[j]) for j in live)
                batch = [written[j] + [pad] * (length - len(written[j])) for j in sorted(live)]
                states = net.hidden(torch.tensor(batch))
                last = [len(written[j]) - 1 for j in sorted(live)]
                best = net.logits(states[range(len(last)), last]).argmax(-1).tolist()
                for j, token in zip(sorted(live), best, strict=True):
                    written[j].append(token)
                live = {j for j in live if written[j][-1] != end and len(written[j]) < 400}
        for j, i in enumerate(part):
            tokens = [words.tokens[t] for t in written[j][len(prompts[i]) :]]
            plain = (t[1:-1] if t.startswith("[") else t for t in tokens if t != EOS)
            out[i] = {"got": " ".join(plain)}
    return out


def summary(rows: list[dict[str, Any]], got: list[dict[str, Any]]) -> dict[str, Any]:
    """Exact match over all and by source; milliseconds where they were measured."""
    total, right = Counter[str](), Counter[str]()
    for row, found in zip(rows, got, strict=True):
        for group in ("all", row.get("source", "built")):
            total[group] += 1
            right[group] += row["form"] == found["got"]
    out: dict[str, Any] = {g: {"n": n, "exact": round(right[g] / n, 4)} for g, n in total.items()}
    times = sorted(found["ms"] for found in got if "ms" in found)
    if times:
        out["ms"] = {"median": times[len(times) // 2], "p95": times[int(len(times) * 0.95)]}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--run", type=Path)
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--method", default="greedy")
    parser.add_argument("--share", type=float, default=0.02, help="train.py's --dev-share; 1: all")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if (args.run is None) == (args.gguf is None):
        parser.error("give --run or --gguf")
    rows = chosen(args.data, args.share, args.limit)
    got = with_gguf(rows, args) if args.gguf else with_torch(rows, args)
    if args.out:
        with args.out.open("w") as out:
            for row, found in zip(rows, got, strict=True):
                out.write(json.dumps(row | found | {"right": row["form"] == found["got"]}) + "\n")
    print(json.dumps(summary(rows, got)))


if __name__ == "__main__":
    main()
