"""Trains the second reader on prepared pairs; interrupted, it goes on from its checkpoint.

``python train.py --data a.jsonl b.jsonl --vectors vectors.npz --out RUN [--hold 0.12]``
With ``--hold`` that share of the groups (templates, families) is kept out, and scored at the end.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from data import FORM_IDS, FORM_WORDS, Row, batches, encode, held, label_names, load
from network import Reader
from torch import Tensor
from torch.nn import functional as F

from ehrqa_cli.text2sql.second.pieces import SPECIALS, Pieces

DROPPED = 0.06  # share of plain tokens read as unknown in training: no single word decides


def table(vectors: np.ndarray, size: int) -> Tensor:
    """Principal components of the pieces' vectors, the specials' rows zero, unit mean length."""
    centred = vectors - vectors.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    small = centred @ axes[:, ::-1][:, :size]
    # Every component counts alike, nearly: the first few would drown the rest.
    small = small / small.std(0) ** 0.5
    small /= np.sqrt((small**2).mean())
    rows = np.concatenate([np.zeros((len(SPECIALS), size)), small]).astype(np.float32)
    scale = np.abs(rows).max(1, keepdims=True) / 127 + 1e-9
    return torch.from_numpy((np.round(rows / scale) * scale).astype(np.float32))


def tensors(
    batch: Sequence[Row], labels: int, drop: float = 0.0
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """ids, lexeme before, lexeme, labels, none."""
    n = len(batch)
    ids = torch.zeros(n, max(len(r.ids) for r in batch), dtype=torch.long)
    forms = torch.zeros(n, max(len(r.form) for r in batch) + 2, dtype=torch.long)
    target = torch.zeros(n, labels)
    for k, row in enumerate(batch):
        ids[k, : len(row.ids)] = torch.tensor(row.ids)
        form = [FORM_IDS["<s>"], *row.form, FORM_IDS["</s>"]]
        forms[k, : len(form)] = torch.tensor(form)
        target[k, list(row.labels)] = 1.0
    if drop:
        lost = (torch.rand(ids.shape) < drop) & (ids >= len(SPECIALS))
        ids = ids.masked_fill(lost, 1)
    none = torch.tensor([float(r.none) for r in batch])
    return ids, forms[:, :-1], forms[:, 1:], target, none


def loss_of(reader: Reader, batch: Sequence[Row], labels: int) -> Tensor:
    ids, before, after, target, none = tensors(batch, labels, DROPPED)
    can = none == 0
    logit, logp, told = reader(ids, before, can)
    answer = F.binary_cross_entropy_with_logits(logit, none * 0.98 + 0.01)
    if not bool(can.any()):
        return answer
    form = F.nll_loss(logp.flatten(0, 1), after[can].flatten(), ignore_index=0)
    words = F.binary_cross_entropy_with_logits(told, target[can], reduction="sum")
    return answer + form + 0.05 * words / can.sum()


def warm(reader: Reader, run: Path, labels: Sequence[str]) -> None:
    """Start from the weights of another run; lexemes and labels are matched by their words, those
    it did not have start at random."""
    state = torch.load(run / "checkpoint.pt", weights_only=True)["model"]
    named = json.loads((run / "words.json").read_text())
    own = reader.state_dict()
    tables = {"writer.word": "lexemes", "writer.out": "lexemes", "labels": "labels"}
    for name, value in state.items():
        kind = tables.get(name.rpartition(".")[0])
        if kind is None:
            own[name] = value
            continue
        words = FORM_WORDS if kind == "lexemes" else labels
        place = {word: k for k, word in enumerate(named[kind])}
        for k, word in enumerate(words):
            if word in place:
                own[name][k] = value[place[word]]
    reader.load_state_dict(own)


def auroc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Area under the ROC curve; nan without both classes."""
    order = scores.argsort()
    rank = np.empty(len(scores))
    rank[order] = np.arange(1, len(scores) + 1)
    p, n = int(positive.sum()), int((~positive).sum())
    return float((rank[positive].sum() - p * (p + 1) / 2) / (p * n)) if p and n else float("nan")


@torch.no_grad()
def rate(reader: Reader, rows: Sequence[Row], labels: int) -> tuple[np.ndarray, np.ndarray]:
    """(logit of unanswerable, the form's worst log-probability) of each row."""
    reader.eval()
    logits, worst = np.zeros(len(rows)), np.zeros(len(rows))
    order = sorted(range(len(rows)), key=lambda k: len(rows[k].ids))
    for start in range(0, len(order), 64):
        part = order[start : start + 64]
        ids, before, after, _, _ = tensors([rows[k] for k in part], labels)
        logit, logp, _ = reader(ids, before, torch.ones(len(part), dtype=torch.bool))
        each = logp.gather(-1, after[..., None])[..., 0].masked_fill(after == 0, 0.0)
        logits[part], worst[part] = logit.numpy(), each.min(1).values.numpy()
    reader.train()
    return logits, worst


def report(reader: Reader, rows: Sequence[Row], labels: int) -> dict[str, Any]:
    """AUROC and recall at 2% false alarms, EHRSQL and built apart."""
    logits, worst = rate(reader, rows, labels)
    none = np.array([r.none for r in rows])
    found: dict[str, Any] = {}
    ehrsql = np.array([r.source == "ehrsql" for r in rows])
    for name, part in (("ehrsql", ehrsql), ("built", ~ehrsql)):
        bad = part & none
        good = part & ~none
        if not bad.any() or not good.any():
            continue
        limit = np.quantile(logits[good], 0.98)
        found[name] = {
            "unanswerable": int(bad.sum()),
            "answerable": int(good.sum()),
            "auroc": round(auroc(logits[part], none[part]), 4),
            "recall_at_2": round(float((logits[bad] > limit).mean()), 4),
            "form_certain": round(float((worst[good] > np.log(0.5)).mean()), 4),
        }
    return found


def fit(reader: Reader, rows: Sequence[Row], labels: int, args: argparse.Namespace) -> int:
    """Train until the processor time is used up; returns the steps, of an earlier start too."""
    settings = torch.optim.AdamW(reader.parameters(), lr=args.rate, weight_decay=0.02)
    saved, rng = args.out / "checkpoint.pt", random.Random(1)
    done, step, average = 0.0, 0, 0.0
    if saved.exists():
        state = torch.load(saved, weights_only=True)
        reader.load_state_dict(state["model"])
        settings.load_state_dict(state["optimizer"])
        done, step = state["seconds"], state["step"]
        rng.seed(step)
    begun, wrote, budget = time.process_time() - done, time.time(), args.minutes * 60
    spent = done
    reader.train()
    while spent < budget:
        for batch in batches(rows, 3000, rng, {"ehrsql": args.repeat}):
            lr = args.rate * min(1.0, (step + 1) / 200) * (1.0 - min(spent / budget, 1.0) * 0.98)
            for group in settings.param_groups:
                group["lr"] = lr
            loss = loss_of(reader, batch, labels)
            settings.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
            settings.step()
            average += (float(loss.detach()) - average) * (0.02 if step else 1.0)
            step, spent = step + 1, time.process_time() - begun
            if step % 200 == 0:
                print(f"step {step} {spent:.0f}s loss {average:.3f}", file=sys.stderr, flush=True)
            if time.time() - wrote > 60 or spent >= budget:
                state = {"model": reader.state_dict(), "optimizer": settings.state_dict()}
                torch.save({**state, "seconds": spent, "step": step}, saved.with_suffix(".part"))
                saved.with_suffix(".part").replace(saved)
                wrote = time.time()
            if spent >= budget:
                break
    return step


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--hold", type=float, default=0.0)
    parser.add_argument("--fold", default="1", help="another word holds other groups out")
    parser.add_argument("--warm", type=Path, help="another run to start from")
    parser.add_argument("--minutes", type=float, default=15, help="of processor time")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--repeat", type=int, default=3, help="times EHRSQL is read an epoch")
    return parser.parse_args()


def main() -> None:
    args = options()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    args.out.mkdir(parents=True, exist_ok=True)
    stored = np.load(args.vectors)
    raw = load(args.data, args.without)
    names = label_names(raw)
    rows = encode(raw, Pieces([str(w) for w in stored["words"]]), names)
    kept = [r for r in rows if not held(r.group, args.hold, args.fold)]
    out = [r for r in rows if held(r.group, args.hold, args.fold)]
    print(f"{len(kept)} rows, {len(out)} held out", file=sys.stderr, flush=True)
    reader = Reader(table(stored["v"], 64), len(SPECIALS), len(FORM_WORDS), len(names))
    if args.warm:
        warm(reader, args.warm, names)
    (args.out / "words.json").write_text(json.dumps({"lexemes": FORM_WORDS, "labels": names}))
    steps = fit(reader, kept, len(names), args)
    found = {"steps": steps, "rows": len(kept), "held_out": len(out)}
    if out:
        found |= report(reader, out, len(names))
    (args.out / "report.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found), file=sys.stderr)


if __name__ == "__main__":
    main()
