"""One training run: its optimiser, the running average of the weights, its checkpoints and log."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import torch
from torch import nn


class Run:
    """Steps of AdamW on ``model``; ``average`` is what is measured and kept.

    Goes on from ``folder``/state.pt; ``first`` is the part (an epoch, say) to begin with.
    """

    def __init__(
        self, model: nn.Module, folder: Path, rate: float, steps: int, keep: float = 0.997
    ) -> None:
        self.model, self.folder, self.rate, self.steps, self.keep = model, folder, rate, steps, keep
        self.average = copy.deepcopy(model)
        wide = [p for p in model.parameters() if p.ndim > 1]
        flat = [p for p in model.parameters() if p.ndim <= 1]
        self.optimiser = torch.optim.AdamW(
            [{"params": wide, "weight_decay": 0.02}, {"params": flat, "weight_decay": 0.0}],
            lr=rate,
        )
        self.first, self.done = 0, 0
        folder.mkdir(parents=True, exist_ok=True)
        state = folder / "state.pt"
        if state.is_file():
            saved = torch.load(state, weights_only=True)
            for name, part in self._parts().items():
                part.load_state_dict(saved[name])
            self.first, self.done = saved["part"] + 1, saved["done"]

    def step(self, loss: torch.Tensor) -> float:
        """Learn from one loss; returns it."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * schedule(self.done, self.steps)
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 2.0)
        self.optimiser.step()
        self.done += 1
        keep = min(self.keep, self.done / (self.done + 20))
        with torch.no_grad():
            for mean, now in zip(self.average.parameters(), self.model.parameters(), strict=True):
                mean.lerp_(now, 1 - keep)
        return loss.item()

    def save(self, part: int, line: dict[str, Any]) -> None:
        """Keep a checkpoint after a part, and a line in log.jsonl."""
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        saved = {name: value.state_dict() for name, value in self._parts().items()}
        fresh = self.folder / "state.tmp"
        torch.save(saved | {"part": part, "done": self.done}, fresh)
        fresh.replace(self.folder / "state.pt")

    def _parts(self) -> dict[str, Any]:
        return {"model": self.model, "average": self.average, "optimiser": self.optimiser}


def schedule(step: int, steps: int, warm: int = 60) -> float:
    """A share of the learning rate: up in a line, down as a cosine."""
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))) + 0.005
