"""Fine-tune the first layers of SmolLM2, or train a small transformer from scratch.

``python train.py --data prepared.jsonl --out DIR --minutes 80``. Stops and resumes at any time
(the same command again); the learning rate follows the share of the wall-clock budget that is
used, so that a run always ends its decay. Loss is on the form only.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from pathlib import Path
from typing import Any

import data
import numpy as np
import torch
import torch.nn.functional as F
import vocabulary
from network import Network, Shape
from torch import Tensor


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--dev", type=Path, nargs="*", default=[], help="pairs to measure on")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True, help="GGUF of SmolLM2-135M-Instruct")
    parser.add_argument("--warm", type=Path, help="a run's folder, or GGUF, to start from")
    parser.add_argument("--scratch", action="store_true", help="take only the base's vocabulary")
    parser.add_argument("--minutes", type=float, default=80)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=576)
    parser.add_argument("--ffn", type=int, default=1536)
    parser.add_argument("--frequent", type=int, default=8000)
    parser.add_argument("--tokens", type=int, default=2048, help="positions in a batch")
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--warmup", type=float, default=0.03, help="share of the budget")
    parser.add_argument("--decay", type=float, default=0.05, help="weight decay")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--smooth", type=float, default=0.0, help="label smoothing")
    parser.add_argument("--repeat", default="", help="source=times,...: seen per epoch")
    parser.add_argument("--dev-share", type=float, default=0.02)
    parser.add_argument("--eval-minutes", type=float, default=8)
    parser.add_argument("--save-minutes", type=float, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True)
    return parser.parse_args()


def initialise(net: Network, words: vocabulary.Vocabulary, base: Path | None, seed: int) -> None:
    """Weights of the base's first layers and of its tokens; new tokens take the mean of theirs."""
    torch.manual_seed(seed)
    deep = net.shape.layers
    for name, weight in net.named_parameters():
        if weight.dim() == 2:
            last = "attn_output" in name or "ffn_down" in name
            torch.nn.init.normal_(weight, std=0.02 / (math.sqrt(2 * deep) if last else 1.0))
    if base is None:
        return
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(base)
    stored = {t.name: t for t in reader.tensors}
    state = dict(net.named_parameters())
    with torch.no_grad():
        for name, weight in state.items():
            if name != "token_embd.weight":
                t = stored[name]
                value = torch.from_numpy(np.array(dequantize(t.data, t.tensor_type)))
                weight.copy_(value.view(weight.shape))
        table = stored["token_embd.weight"]
        rows = torch.from_numpy(np.array(dequantize(table.data, table.tensor_type)))
        # The base's last norm is made for layer 30: after fewer layers its scores are far off.
        state["output_norm.weight"].fill_(1.0)
        fill_embeddings(state["token_embd.weight"], rows, words, vocabulary.read_base(base))


def fill_embeddings(
    weight: Tensor, rows: Tensor, words: vocabulary.Vocabulary, base: vocabulary.Base
) -> None:
    """Copy kept rows; a special token starts as the mean of its name's subwords plus noise."""
    index = {t: i for i, t in enumerate(base.tokens)}
    whole = vocabulary.bpe(base.tokens, base.merges)
    for i, token in enumerate(words.tokens):
        if i < words.bpe_size:
            weight[i] = rows[index[token]]
            continue
        plain = token.strip("[]<>/").replace("_", " ") or token
        parts = whole.encode(" " + plain, add_special_tokens=False).ids
        weight[i] = rows[parts].mean(0) + 0.2 * rows.std() * torch.randn(rows.shape[1])
    weight[words.ids["<s>"]] = rows[index["<|im_start|>"]]


def warm_up(net: Network, words: vocabulary.Vocabulary, run: Path) -> int:
    """Take over the weights of an earlier run's folder, or of a GGUF file that was exported, its
    tokens by name; returns how many tokens. Further layers begin by adding nothing."""
    found, tokens, bpe_size = _exported(run) if run.suffix == ".gguf" else _trained(run)
    index = {t: i for i, t in enumerate(tokens)}
    state = dict(net.named_parameters())
    with torch.no_grad():
        for name, weight in state.items():
            if name == "token_embd.weight":
                continue
            if name in found:
                weight.copy_(found[name].view(weight.shape))
            elif name.endswith(("attn_output.weight", "ffn_down.weight")):
                weight.zero_()  # a further layer begins by adding nothing
        table, taken = found["token_embd.weight"], 0
        for i, token in enumerate(words.tokens):
            # A text token and a lexeme may be spelt alike: only like goes to like.
            at = index.get(token)
            if at is not None and (at < bpe_size) == (i < words.bpe_size):
                state["token_embd.weight"][i] = table[at]
                taken += 1
    return taken


def _trained(run: Path) -> tuple[dict[str, Tensor], list[str], int]:
    old = vocabulary.Vocabulary.load(run / "vocabulary.json")
    found = torch.load(run / "checkpoint.pt", weights_only=False)["net"]
    return found, old.tokens, old.bpe_size


def _exported(path: Path) -> tuple[dict[str, Tensor], list[str], int]:
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(path)
    found = {
        t.name: torch.from_numpy(np.array(dequantize(t.data, t.tensor_type)))
        for t in reader.tensors
    }
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    return found, tokens, tokens.index("<s>")


def decay_groups(net: Network, decay: float) -> list[dict[str, Any]]:
    """Weight decay for matrices only."""
    wide = [p for n, p in net.named_parameters() if p.dim() == 2 and "token_embd" not in n]
    kept = {id(p) for p in wide}
    rest = [p for p in net.parameters() if id(p) not in kept]
    return [{"params": wide, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]


def rate(share: float, warmup: float) -> float:
    """Learning-rate factor at ``share`` (0..1) of the budget: linear warm-up, cosine to 1%."""
    if share < warmup:
        return max(share / warmup, 0.02)
    rest = min((share - warmup) / (1 - warmup), 1.0)
    return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * rest))


class Trainer:
    """State of a run: network, optimiser, clock; ``step`` and ``evaluate`` are its verbs."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        args.out.mkdir(parents=True, exist_ok=True)
        torch.set_num_threads(args.threads)
        found = list(data.rows(args.data))
        self.words = self._vocabulary(found)
        dev = [data.is_dev(r["text"], args.dev_share) for r in found]
        held = [r for r, d in zip(found, dev, strict=True) if d] + list(data.rows(args.dev))
        self.dev = data.encode(held, self.words)
        self.train = data.encode((r for r, d in zip(found, dev, strict=True) if not d), self.words)
        heads = args.hidden // 64
        kv = 3 if heads % 3 == 0 and heads > 6 else 2
        size = len(self.words.tokens)
        self.shape = Shape(size, args.hidden, args.layers, heads, kv, args.ffn)
        self.net = Network(self.shape)
        self.generator = np.random.default_rng(args.seed)
        self.elapsed, self.steps, self.seen, self.epoch = 0.0, 0, 0, 0
        self.checkpoint = args.out / "checkpoint.pt"
        self._start()

    def _vocabulary(self, found: list[dict[str, Any]]) -> vocabulary.Vocabulary:
        path = self.args.out / "vocabulary.json"
        if not path.exists():
            base = vocabulary.read_base(self.args.base)
            texts = (r["text"] for r in found)
            vocabulary.build(base, texts, self.args.frequent).save(path)
        return vocabulary.Vocabulary.load(path)

    def _start(self) -> None:
        state = None
        if self.checkpoint.exists():
            state = torch.load(self.checkpoint, weights_only=False)
            self.net.load_state_dict(state["net"])
        else:
            base = None if self.args.scratch else self.args.base
            initialise(self.net, self.words, base, self.args.seed)
            if self.args.warm:
                taken = warm_up(self.net, self.words, self.args.warm)
                print(f"{taken} of {len(self.words.tokens)} tokens taken over", flush=True)
        self.net.to(self.args.device)
        if self.args.compile:
            # Block by block: one block's code serves all of them and compiles in seconds.
            for block in self.net.blk:
                block.compile(dynamic=True)
        groups = decay_groups(self.net, self.args.decay)
        self.optimizer = torch.optim.AdamW(groups, lr=self.args.lr, betas=(0.9, 0.98), fused=True)
        if state:
            self.optimizer.load_state_dict(state["optimizer"])
            self.elapsed, self.steps = state["elapsed"], state["steps"]
            self.seen, self.epoch = state["seen"], state["epoch"] + 1
            self.generator = np.random.default_rng((self.args.seed, self.steps))

    def loss(self, batch: data.Batch, drop: float) -> tuple[Tensor, Tensor]:
        """Mean loss over form tokens, and which of them the model would have written."""
        device = self.args.device
        with torch.autocast(device.split(":")[0], torch.bfloat16):
            states = self.net.hidden(batch.ids.to(device), drop).flatten(0, 1)
            states = states[batch.where.to(device)]
            scores = self.net.logits(states)
        target = batch.target.to(device)
        smooth = self.args.smooth if drop or torch.is_grad_enabled() else 0.0
        return F.cross_entropy(scores, target, label_smoothing=smooth), scores.argmax(-1) == target

    def step(self, examples: list[data.Example], share: float) -> float:
        factor = rate(share, self.args.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = self.args.lr * factor
        loss, _ = self.loss(data.collate(examples, data.form_start(self.words)), self.args.dropout)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.steps += 1
        self.seen += len(examples)
        return float(loss.detach())

    @torch.no_grad()
    def evaluate(self, limit: int = 2000) -> dict[str, float]:
        """Dev loss and exact match: all tokens right given the gold before them is the same as
        greedy decoding being right."""
        right: Counter[str] = Counter()
        total: Counter[str] = Counter()
        losses = []
        step = max(1, len(self.dev) // limit)
        chosen = sorted(self.dev[::step], key=lambda e: len(e.ids))
        for start in range(0, len(chosen), 64):
            part = chosen[start : start + 64]
            batch = data.collate(part, data.form_start(self.words))
            loss, good = self.loss(batch, 0.0)
            losses.append(float(loss))
            wrong = set(batch.row[~good.cpu()].tolist())
            for i, example in enumerate(part):
                total[example.source] += 1
                right[example.source] += i not in wrong
        found = {f"exact_{s}": round(right[s] / n, 4) for s, n in total.items()}
        return {"dev_loss": round(sum(losses) / max(len(losses), 1), 4), **found}

    def save(self) -> None:
        state = {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "shape": self.shape.as_dict(),
            **{k: getattr(self, k) for k in ("elapsed", "steps", "seen", "epoch")},
        }
        part = self.checkpoint.with_suffix(".part")
        torch.save(state, part)
        part.replace(self.checkpoint)

    def log(self, **fields: Any) -> None:
        line = json.dumps(
            {"minutes": round(self.elapsed / 60, 2), "steps": self.steps, "seen": self.seen}
            | {"epoch": self.epoch}
            | fields
        )
        print(line, flush=True)
        with (self.args.out / "log.jsonl").open("a") as out:
            out.write(line + "\n")

    def run(self) -> None:
        """Train until the budget is spent; the clock counts evaluation and saving too."""
        args = self.args
        budget = args.minutes * 60
        repeat = {k: int(v) for k, v in (p.split("=") for p in args.repeat.split(",") if p)}
        began, before = time.monotonic(), self.elapsed
        saved = logged = evaluated = self.elapsed
        weights = sum(p.numel() for p in self.net.parameters())
        self.log(event="start", train=len(self.train), dev=len(self.dev), weights=weights)
        losses: list[float] = []
        while self.elapsed < budget:
            for batch in data.batches(self.train, args.tokens, self.generator, repeat):
                losses.append(self.step(batch, self.elapsed / budget))
                self.elapsed = before + time.monotonic() - began
                if self.elapsed - logged > 30:
                    logged = self.elapsed
                    self.log(loss=round(sum(losses) / len(losses), 4))
                    losses = []
                if self.elapsed - evaluated > args.eval_minutes * 60:
                    evaluated = self.elapsed
                    self.log(event="dev", **self.evaluate())
                if self.elapsed - saved > args.save_minutes * 60:
                    saved = self.elapsed
                    self.save()
                if self.elapsed >= budget:
                    break
            else:
                self.epoch += 1
        self.save()
        self.log(event="end", **self.evaluate(10_000))


if __name__ == "__main__":
    Trainer(arguments()).run()
