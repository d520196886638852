"""Train the encoder's heads from the parser's encoder.

``python train.py --groups groups.jsonl ... --declined pairs.jsonl --warm RUN/checkpoint.pt --out
DIR --minutes 60``. Stops and resumes as models/text2sql/train.py does. A step reads some questions,
each with one right reading and some nearly right ones, the parser's own mistakes first, and each of
them alone. Among a question's readings the head is to put the right one first together with the
parser's own likelihood, so that it learns what that lacks.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from heads import CLASSES, Encoder
from slips import slipped
from torch import Tensor

from ehrqa_cli.encoder.tokens import encode_question, special_tokens
from ehrqa_cli.logical_form import TYPES

PIECES = 30522
SPECIAL = {name: PIECES + k for k, name in enumerate(special_tokens(TYPES))}
MOST = 160  # tokens of a question with its reading
WRONG, EDITED = 4, 2  # readings of a question: the parser's own mistakes, and edits
SORTED = 1024  # questions among which a batch takes those of like length


@dataclass(frozen=True)
class Read:
    """One sequence: ids, where the reading begins, and what it should tell: 1 or 0 (faithful),
    the number of a class, or None."""

    ids: tuple[int, ...]
    split: int
    faithful: int | None
    kind: int | None
    group: int = 0
    prior: float = 0.0  # log-probability by the parser


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=Path, nargs="+", required=True)
    parser.add_argument("--kinds", type=Path, nargs="*", default=[], help="{text, kind} a line")
    parser.add_argument("--dev", type=Path, nargs="*", default=[], help="groups to measure on")
    parser.add_argument("--warm", type=Path, help="checkpoint.pt of the parser, or of a run")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--tokens", type=int, default=4000, help="positions in a batch")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--head-rate", type=float, default=1e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--slips", type=float, default=0.2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--eval-minutes", type=float, default=12)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def together(question: str, reading: str | None) -> tuple[tuple[int, ...], int]:
    """Ids of a question and what follows it, and where that begins."""
    first = encode_question(question, SPECIAL)
    if reading is None:
        return tuple(first), len(first)
    return (*first, *encode_question(reading, SPECIAL)[1:]), len(first)


def drawn(row: dict[str, Any], rng: random.Random) -> list[tuple[str, int, float]]:
    """Readings of a question for one step, each with whether it is right and its prior: a right
    one, and the parser's likeliest mistakes or some edits."""
    good, priors = row["good"], row.get("p") or [0.0] * len(row["good"])
    found = []
    if good:
        place = rng.randrange(len(good)) if rng.random() < 0.3 else 0
        found = [(good[place], 1, priors[place])]
    worse = list(zip(row["worse"], priors[len(good) :], strict=True))[:WRONG]
    edited = rng.sample(row["bad"], min(len(row["bad"]), EDITED))
    return found + [(text, 0, p) for text, p in worse] + [(text, 0, 0.0) for text in edited]


def group(row: dict[str, Any], number: int, args: argparse.Namespace, rng: random.Random) -> Any:
    slip = rng.random() < args.slips
    text = slipped(row["text"], rng) if slip else row["text"]
    kind = row.get("kind", "answerable" if row.get("good") else "not_in_database")
    known = kind in CLASSES and (row.get("good") or "kind" in row)
    ids, split = together(text, None)
    reads = [Read(ids, split, None, CLASSES.index(kind))] if known else []
    for reading, right, prior in drawn(row, rng) if "good" in row else ():
        ids, split = together(text, reading)
        reads.append(Read(ids, split, right, None, number, prior))
    return [read for read in reads if len(read.ids) <= MOST]


def epoch(paths: list[Path], args: argparse.Namespace, rng: random.Random) -> list[list[Read]]:
    rows = [json.loads(line) for path in paths for line in path.open()]
    groups = (group(row, number, args, rng) for number, row in enumerate(rows))
    return [g for g in groups if g]


def batches(groups: list[list[Read]], tokens: int, rng: random.Random) -> Iterator[list[Read]]:
    """Whole questions of like lengths, about ``tokens`` positions together."""
    rng.shuffle(groups)
    made: list[list[Read]] = []
    for start in range(0, len(groups), SORTED):
        near = sorted(groups[start : start + SORTED], key=lambda g: max(len(r.ids) for r in g))
        batch: list[Read] = []
        for each in near:
            longest = max(len(r.ids) for r in [*batch, *each])
            if batch and (len(batch) + len(each)) * longest > tokens:
                made.append(batch)
                batch = []
            batch += each
        made.append(batch)
    rng.shuffle(made)
    yield from made


def tensors(batch: list[Read]) -> tuple[Tensor, Tensor]:
    wide = -(-max(len(r.ids) for r in batch) // 8) * 8
    ids = torch.tensor([[*r.ids, *[0] * (wide - len(r.ids))] for r in batch])
    starts = torch.tensor([r.split for r in batch])
    return ids, (torch.arange(wide)[None] >= starts[:, None]).long()


def take_over(net: Encoder, path: Path) -> None:
    """The encoder of the parser, its special tokens by name; or all of another run."""
    kept = torch.load(path, weights_only=False)
    if "special" not in kept:
        net.load_state_dict(kept["net"])
        return
    with torch.no_grad():
        for name, own in net.named_parameters():
            if name not in kept["net"]:
                continue
            theirs = kept["net"][name]
            if name != "tokens.weight":
                own.copy_(theirs)
                continue
            own[:PIECES] = theirs[:PIECES]
            for word in SPECIAL.keys() & kept["special"].keys():
                own[SPECIAL[word]] = theirs[kept["special"][word]]
        net.parts.weight.normal_(std=0.02)


class Run:
    """Network, optimiser and clock of a run."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        args.out.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(args.seed)
        torch.set_num_threads(args.threads)
        self.net = Encoder(PIECES + len(SPECIAL))
        if args.warm:
            take_over(self.net, args.warm)
        heads = [w for n, w in self.net.named_parameters() if n.startswith(("faithful", "classes"))]
        body = [w for w in self.net.parameters() if not any(w is h for h in heads)]
        self.optimizer = torch.optim.AdamW(
            [{"params": body, "lr": args.rate, "base": args.rate},
             {"params": heads, "lr": args.head_rate, "base": args.head_rate}],
            betas=(0.9, 0.98), weight_decay=0.01, fused=True,
        )  # fmt: skip
        self.elapsed, self.seen = 0.0, 0
        self.checkpoint = args.out / "checkpoint.pt"
        if self.checkpoint.exists():
            kept = torch.load(self.checkpoint, weights_only=False)
            self.net.load_state_dict(kept["net"])
            self.optimizer.load_state_dict(kept["optimizer"])
            self.elapsed, self.seen = kept["elapsed"], kept["seen"]

    def loss(self, batch: list[Read]) -> Tensor:
        """Right or not, right before wrong among a question's readings, and the class."""
        ids, part = tensors(batch)
        with torch.autocast("cpu", torch.bfloat16):
            first = self.net(ids, part, self.args.dropout)
        first = first.float()
        odds, scores = self.net.faithful(first)[:, 0], self.net.classes(first)
        judged = torch.tensor([r.faithful is not None for r in batch])
        target = torch.tensor([float(r.faithful or 0) for r in batch])
        loss = first.new_zeros(())
        if judged.any():
            loss = F.binary_cross_entropy_with_logits(odds[judged], target[judged])
            groups = torch.tensor([r.group for r in batch])
            same = (groups[:, None] == groups[None]) & judged[:, None] & judged[None]
            above = same & (target[:, None] > target[None])
            if above.any():
                total = odds + torch.tensor([r.prior for r in batch])
                loss = loss + 0.5 * F.softplus(-(total[:, None] - total[None])[above]).mean()
        known = torch.tensor([r.kind is not None for r in batch])
        if known.any():
            kinds = torch.tensor([r.kind or 0 for r in batch])
            loss = loss + 0.3 * F.cross_entropy(scores[known], kinds[known], label_smoothing=0.05)
        return loss

    def step(self, batch: list[Read], share: float) -> float:
        rest = max(0.0, share - 0.04) / 0.96
        factor = min(share / 0.04, 1.0) * max(0.01, 0.5 * (1 + math.cos(math.pi * rest)))
        for each in self.optimizer.param_groups:
            each["lr"] = each["base"] * max(factor, 0.01)
        loss = self.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.seen += len(batch)
        return float(loss.detach())

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """AUROC of right against wrong readings, of edits and of the parser's mistakes."""
        self.net.eval()
        found: dict[str, list[tuple[float, int]]] = {"bad": [], "worse": []}
        for path in self.args.dev:
            for row in map(json.loads, path.open()):
                for key, scores in found.items():
                    texts = [(t, 1) for t in row["good"][:1]] + [(t, 0) for t in row[key][:1]]
                    reads = [Read(*together(row["text"], t), y, None) for t, y in texts]
                    reads = [r for r in reads if len(r.ids) <= MOST]
                    if reads:
                        with torch.autocast("cpu", torch.bfloat16):
                            odds = self.net.faithful(self.net(*tensors(reads)))[:, 0]
                        scores += zip(
                            odds.float().tolist(), [r.faithful or 0 for r in reads], strict=True
                        )
        self.net.train()
        return {key: round(auroc(scores), 4) for key, scores in found.items() if scores}

    def save(self) -> None:
        kept = {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}
        part = self.checkpoint.with_suffix(".part")
        torch.save(kept | {"elapsed": self.elapsed, "seen": self.seen}, part)
        part.replace(self.checkpoint)

    def log(self, **fields: Any) -> None:
        print(json.dumps({"minutes": round(self.elapsed / 60, 2), "seen": self.seen} | fields),
              flush=True)  # fmt: skip

    def run(self) -> None:
        args, rng = self.args, random.Random(self.args.seed + self.seen)
        budget, began = args.minutes * 60, time.monotonic() - self.elapsed
        logged = measured = self.elapsed
        losses: list[float] = []
        while self.elapsed < budget:
            groups = epoch([*args.groups, *args.kinds], args, rng)
            self.log(epoch=len(groups))
            for batch in batches(groups, args.tokens, rng):
                losses.append(self.step(batch, self.elapsed / budget))
                self.elapsed = time.monotonic() - began
                if self.elapsed - logged > 30:
                    self.log(loss=round(sum(losses) / len(losses), 4))
                    logged, losses = self.elapsed, []
                if self.elapsed - measured > args.eval_minutes * 60:
                    self.log(**self.evaluate())
                    self.save()
                    measured = self.elapsed
                if self.elapsed >= budget:
                    break
        self.save()
        self.log(end=True, **self.evaluate())


def auroc(scores: list[tuple[float, int]]) -> float:
    """Probability that a right one is above a wrong one (Mann and Whitney 1947)."""
    ranked = sorted(scores)
    ones = sum(y for _, y in ranked)
    zeros = len(ranked) - ones
    rank = sum(k for k, (_, y) in enumerate(ranked, 1) if y)
    return (rank - ones * (ones + 1) / 2) / (ones * zeros) if ones and zeros else math.nan


if __name__ == "__main__":
    Run(arguments()).run()
