"""Train the encoder-decoder from all-MiniLM-L6-v2's weights and pairs of linked question and form.

``python train.py --data authored.jsonl prepared.jsonl --out DIR --minutes 80``. Stops and resumes
at any time (the same command again); the learning rate follows the share of the wall-clock budget
that is used, so that a run always ends its decay. The files are read anew each epoch: what was
added to them counts from there.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from network import LONGEST, MOST_LEXEMES, READ_LAYERS, Network
from slips import slipped
from torch import Tensor

from ehrqa_cli.encoder.tokens import encode_question, special_tokens
from ehrqa_cli.logical_form import EOS, LEXEMES, TYPES
from ehrqa_cli.text2sql.network import BEGIN

PIECES = 30522  # of BERT's vocabulary; the special tokens follow them
SPECIAL = {name: PIECES + k for k, name in enumerate(special_tokens(TYPES))}
WORDS = ("<pad>", BEGIN, EOS, *LEXEMES)
NUMBER = {word: k for k, word in enumerate(WORDS)}
BATCHES_SORTED = 4096  # pairs among which a batch takes those of like length


@dataclass(frozen=True)
class Pair:
    """Token ids of a question; numbers of a form's lexemes between their marks."""

    ids: tuple[int, ...]
    form: tuple[int, ...]
    kind: str


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--dev", type=Path, nargs="*", default=[], help="pairs to measure on")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("--warm", type=Path, help="checkpoint.pt of a run to start from")
    parser.add_argument("--minutes", type=float, default=80)
    parser.add_argument("--layers", type=int, default=3, help="of the decoder")
    parser.add_argument("--tokens", type=int, default=3500, help="positions in a batch")
    parser.add_argument("--rate", type=float, default=5e-4, help="of the decoder")
    parser.add_argument("--read-rate", type=float, default=1.2e-4, help="of the encoder")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--smooth", type=float, default=0.05, help="label smoothing")
    parser.add_argument("--authored", type=int, default=2, help="times in an epoch")
    parser.add_argument("--share", type=float, default=0.4, help="of the templates in an epoch")
    parser.add_argument("--slips", type=float, default=0.25, help="share of questions with slips")
    parser.add_argument("--eval-minutes", type=float, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def chosen(paths: Sequence[Path], args: argparse.Namespace, rng: random.Random) -> Iterator[Any]:
    """The rows of an epoch: authored ones several times, EHRSQL's once, a share of the rest."""
    for path in paths:
        for row in map(json.loads, path.open()):
            source = row.get("source")
            whole = source == "ehrsql" or rng.random() < args.share
            for _ in range(args.authored if source == "authored" else whole):
                slip = rng.random() < args.slips
                yield {**row, "text": slipped(row["text"], rng)} if slip else row


def encoded(rows: Iterator[Any]) -> list[Pair]:
    """Pairs as numbers; those too long are left out."""
    found = []
    for row in rows:
        ids = tuple(encode_question(row["text"], SPECIAL))
        form = tuple(NUMBER[w] for w in (BEGIN, *row["form"].split(), EOS))
        if len(ids) <= LONGEST // 4 and len(form) < MOST_LEXEMES:
            kind = "abstain" if row["form"] == "abstain" else "form"
            found.append(Pair(ids, form, kind))
    return found


def batches(pairs: list[Pair], tokens: int, rng: random.Random) -> list[list[Pair]]:
    """Shuffled batches of about ``tokens`` positions and like lengths."""
    pairs = rng.sample(pairs, len(pairs))
    found: list[list[Pair]] = []
    for start in range(0, len(pairs), BATCHES_SORTED):
        batch: list[Pair] = []
        near = pairs[start : start + BATCHES_SORTED]
        for pair in sorted(near, key=lambda p: (len(p.ids), len(p.form))):
            longest = len(pair.ids) + max(len(p.form) for p in [*batch, pair])
            if batch and (len(batch) + 1) * longest > tokens:
                found.append(batch)
                batch = []
            batch.append(pair)
        found.append(batch)
    rng.shuffle(found)
    return found


def padded(rows: Sequence[tuple[int, ...]]) -> Tensor:
    """(rows, longest), filled with 0 to a multiple of eight."""
    wide = -(-max(map(len, rows)) // 8) * 8
    return torch.tensor([[*row, *[0] * (wide - len(row))] for row in rows])


def begin(net: Network, base: Path | None) -> None:
    """MiniLM's weights in the encoder; special tokens begin near the mean of its words."""
    if base is None:
        return
    from safetensors.torch import load_file

    kept = {k.removeprefix("bert."): v for k, v in load_file(base).items()}
    words = kept["embeddings.word_embeddings.weight"]
    places = kept["embeddings.position_embeddings.weight"]
    named = {"tokens.weight": words, "norm": "embeddings.LayerNorm"}
    parts = {"attention.query": "attention.self.query", "attention.key": "attention.self.key",
             "attention.value": "attention.self.value", "attention.out": "attention.output.dense",
             "norm1": "attention.output.LayerNorm", "wide": "intermediate.dense",
             "narrow": "output.dense", "norm2": "output.LayerNorm"}  # fmt: skip
    for k in range(READ_LAYERS):
        named |= {f"reads.{k}.{a}": f"encoder.layer.{k}.{b}" for a, b in parts.items()}
    own = dict(net.named_parameters())
    with torch.no_grad():
        own["tokens.weight"][PIECES:] = words[1000:20000].mean(0) + 0.03 * torch.randn(
            len(SPECIAL), words.shape[1]
        )
        own["tokens.weight"][:PIECES] = words[:PIECES]
        own["places.weight"].copy_(places + kept["embeddings.token_type_embeddings.weight"][0])
        for name, other in named.items():
            for end in ("weight", "bias") if isinstance(other, str) else ():
                own[f"{name}.{end}"].copy_(kept[f"{other}.{end}"])


def take_over(net: Network, path: Path) -> None:
    """The weights of another run; special tokens and lexemes by name, since a grammar may grow."""
    kept = torch.load(path, weights_only=False)
    named = {"tokens.weight": (kept["special"], SPECIAL), "lexemes.weight": (kept["words"], NUMBER)}
    with torch.no_grad():
        for name, own in net.named_parameters():
            theirs = kept["net"][name]
            if name not in named:
                own.copy_(theirs)
                continue
            own[:PIECES] = theirs[:PIECES] if name == "tokens.weight" else own[:PIECES]
            before, now = named[name]
            for word in now.keys() & before.keys():
                own[now[word]] = theirs[before[word]]


class Run:
    """Network, optimiser and clock of a run."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        args.out.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(args.seed)
        torch.set_num_threads(args.threads)
        self.net = Network(PIECES + len(SPECIAL), len(WORDS), args.layers)
        begin(self.net, args.base)
        if args.warm:
            take_over(self.net, args.warm)
        groups: dict[bool, list[Tensor]] = {True: [], False: []}
        for name, weight in self.net.named_parameters():
            groups[name.startswith(("tokens", "places", "norm", "reads"))].append(weight)
        rates = {True: args.read_rate, False: args.rate}
        self.optimizer = torch.optim.AdamW(
            [{"params": groups[k], "lr": rates[k], "base": rates[k]} for k in groups],
            betas=(0.9, 0.98), weight_decay=0.01, fused=True,
        )  # fmt: skip
        self.elapsed, self.seen = 0.0, 0
        self.checkpoint = args.out / "checkpoint.pt"
        if self.checkpoint.exists():
            kept = torch.load(self.checkpoint, weights_only=False)
            self.net.load_state_dict(kept["net"])
            self.optimizer.load_state_dict(kept["optimizer"])
            self.elapsed, self.seen = kept["elapsed"], kept["seen"]
        self.dev = encoded(json.loads(line) for path in args.dev for line in path.open())

    def loss(self, batch: list[Pair]) -> tuple[Tensor, Tensor]:
        """Mean loss over the lexemes; for each pair whether all of them would be written."""
        ids, form = padded([p.ids for p in batch]), padded([p.form for p in batch])
        training = self.net.training
        with torch.autocast("cpu", torch.bfloat16):
            scores = self.net(ids, form[:, :-1], self.args.dropout if training else 0.0)
        target = form[:, 1:]
        counts = target != 0
        smooth = self.args.smooth if training else 0.0
        loss = F.cross_entropy(scores[counts].float(), target[counts], label_smoothing=smooth)
        return loss, ((scores.argmax(-1) == target) | ~counts).all(1)

    def step(self, batch: list[Pair], share: float) -> float:
        """One batch at ``share`` (0 to 1) of the budget: short warm-up, then a cosine to 1%."""
        rest = max(0.0, share - 0.03) / 0.97
        factor = min(share / 0.03, 1.0) * max(0.01, 0.5 * (1 + math.cos(math.pi * rest)))
        for group in self.optimizer.param_groups:
            group["lr"] = group["base"] * max(factor, 0.01)
        loss, _ = self.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.seen += len(batch)
        return float(loss.detach())

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Exact match: all right given the gold before them is the same as greedy being right."""
        self.net.eval()
        right, total = Counter[str](), Counter[str]()
        dev = sorted(self.dev, key=lambda p: len(p.ids))
        for start in range(0, len(dev), 64):
            batch = dev[start : start + 64]
            for pair, good in zip(batch, self.loss(batch)[1].tolist(), strict=True):
                total[pair.kind] += 1
                right[pair.kind] += good
        self.net.train()
        return {kind: round(right[kind] / n, 4) for kind, n in total.items()}

    def save(self) -> None:
        kept = {"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict()}
        part = self.checkpoint.with_suffix(".part")
        names = {"special": SPECIAL, "words": NUMBER}
        torch.save(kept | names | {"elapsed": self.elapsed, "seen": self.seen}, part)
        part.replace(self.checkpoint)

    def log(self, **fields: Any) -> None:
        print(json.dumps({"minutes": round(self.elapsed / 60, 2), "seen": self.seen} | fields),
              flush=True)  # fmt: skip

    def run(self) -> None:
        """Train until the budget is spent; the clock counts reading and measuring too."""
        args, rng = self.args, random.Random(self.args.seed + self.seen)
        budget, began = args.minutes * 60, time.monotonic() - self.elapsed
        logged = measured = self.elapsed
        losses: list[float] = []
        while self.elapsed < budget:
            pairs = encoded(chosen(args.data, args, rng))
            self.log(epoch=len(pairs))
            for batch in batches(pairs, args.tokens, rng):
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


if __name__ == "__main__":
    Run(arguments()).run()
