"""Is the GGUF the model that was trained? Same token ids, same logits within rounding.

``python parity.py dump RUN prepared.jsonl parity.npz`` (torch) writes the ids of up to 2,000
linked questions and the logits of 32; ``python parity.py check parity.npz model.gguf``
(llama.cpp) compares. A quantized file's logits differ by its rounding, so the check fails only on
the ids, or where the largest difference is over ``--tolerance``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

LOGITS = 32


def dump(run: Path, data: Path, out: Path) -> None:
    import torch
    from export import load

    from ehrqa_cli.text2sql.tokens import encode_question

    net, words = load(run)
    ids, bpe = words.ids, words.encoder()
    with data.open() as lines:
        texts = [json.loads(line)["text"] for _, line in zip(range(2000), lines, strict=False)]
    encoded = [encode_question(t, ids, bpe) for t in texts]
    with torch.no_grad():
        logits = [net(torch.tensor([e]))[0, -1].numpy() for e in encoded[:LOGITS]]
    flat = np.concatenate([np.asarray(e, np.int32) for e in encoded])
    sizes = np.asarray([len(e) for e in encoded], np.int32)
    np.savez(out, ids=flat, sizes=sizes, logits=np.stack(logits), texts=np.asarray(texts))


def check(stored: Path, gguf: Path, tolerance: float) -> bool:
    from ehrqa_cli.llama import Llama
    from ehrqa_cli.text2sql.tokens import encode_question

    model, kept = Llama(gguf), np.load(stored)
    ids = np.split(kept["ids"], np.cumsum(kept["sizes"])[:-1])
    texts = [str(t) for t in kept["texts"]]
    other = [
        text
        for text, expected in zip(texts, ids, strict=True)
        if encode_question(text, model.special, model.tokenize) != expected.tolist()
    ]
    worst = max(
        float(np.abs(model.prompt(e.tolist()) - wanted).max())
        for e, wanted in zip(ids, kept["logits"], strict=False)
    )
    found = {"questions": len(texts), "other_ids": len(other), "worst_logit": round(worst, 4)}
    print(json.dumps(found | {"examples": other[:3]}))
    return not other and worst <= tolerance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("dump", "check"))
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--tolerance", type=float, default=0.05)
    args = parser.parse_args()
    if args.verb == "dump":
        dump(*args.paths)
    elif not check(args.paths[0], args.paths[1], args.tolerance):
        sys.exit(1)


if __name__ == "__main__":
    main()
