"""Train the network of masks: heart, left and right lung; a fifth of the images is kept to measure.

    python models/vision/train_masks.py --masks FOLDER --nih FOLDER --out RUN [--steps 1500]

Chest X-rays without masks only adapt the normalisation. Goes on from RUN/state.pt.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import augment
import data
import network
import numpy as np
import torch
from measure import dice, ratio
from pixels import SIZE
from run import Run
from torch.nn import functional as F

BATCH = 12
EVERY = 100  # steps between checkpoints


def loss_of(logits: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """Cross-entropy and soft Dice of masks (n, 3, 112, 112)."""
    p = torch.sigmoid(logits)
    both = (p * masks).sum(dim=(2, 3))
    overlap = (2 * both + 1) / (p.sum(dim=(2, 3)) + masks.sum(dim=(2, 3)) + 1)
    return F.binary_cross_entropy_with_logits(logits, masks) + 1 - overlap.mean()


@torch.no_grad()
def report(
    model: network.MaskNet, images: torch.Tensor, masks: torch.Tensor, names: list[str]
) -> dict[str, float]:
    """Dice of each mask and the error of the cardiothoracic ratio, at the size of ``masks``."""
    model.eval()
    size = masks.shape[-1]
    scores: dict[str, list[float]] = {name: [] for name in data.MASKS}
    errors, halves = [], []
    for k in range(len(names)):
        logits = model(images[k : k + 1].float() / 255)
        wide = F.interpolate(logits, size=(size, size), mode="bilinear", align_corners=False)
        found = (wide[0] > 0).numpy()
        truth = (masks[k] > 127).numpy()
        for c, name in enumerate(data.MASKS):
            scores[name].append(dice(found[c], truth[c]))
        mine, real = ratio(found[0], found[1] | found[2]), ratio(truth[0], truth[1] | truth[2])
        errors.append(abs(mine - real))
        halves.append((mine > 0.5) == (real > 0.5))
    means = {name: float(np.mean(values)) for name, values in scores.items()}
    return means | {"ctr_error": float(np.mean(errors)), "half": float(np.mean(halves))}


def main() -> None:
    """Train, with a checkpoint every hundred steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--masks", type=Path, required=True)
    parser.add_argument("--nih", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--warm", type=Path, help="Begin with the weights of another run.")
    parser.add_argument("--all", action="store_true", help="Keep nothing back; measure nothing.")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    names, images, masks = data.masked(given.masks)
    _, _, large = data.masked(given.masks, 512)
    apart = np.array([data.held_out(name) for name in names])
    test, learn = np.flatnonzero(apart), np.flatnonzero(~apart | given.all)
    model = start(images, data.films(given.nih, "train").images)
    if given.warm:
        warm = torch.load(given.warm / "state.pt", weights_only=True)["average"]
        model.load_state_dict(warm, strict=False)
    run = Run(model, given.out, given.rate, given.steps, keep=0.995)
    for part in range(run.first, given.steps // EVERY):
        began, total = time.time(), 0.0
        torch.manual_seed(part)
        model.train()
        for _ in range(EVERY):
            rows = torch.as_tensor(learn)[torch.randint(len(learn), (BATCH,))]
            film, truth = images[rows].float() / 255, masks[rows].float() / 255
            strength = 1.0 if torch.rand(()) < 0.5 else 0.4  # most films are taken with care
            moved, turned = augment.warp(film, truth, SIZE, strength)
            moved = augment.marks(augment.tone(moved))
            total += run.step(loss_of(model(moved), F.avg_pool2d(turned, 2)))
        line = {"step": run.done, "loss": round(total / EVERY, 4)}
        if not given.all:
            found = report(run.average, images[test], large[test], [names[k] for k in test])
            line |= {name: round(value, 4) for name, value in found.items()}
        run.save(part, line | {"seconds": round(time.time() - began)})


def start(images: torch.Tensor, more: torch.Tensor) -> network.MaskNet:
    """A fresh network whose normalisation is adapted to both sets of images."""
    torch.manual_seed(7)
    few = torch.cat([images, more[torch.randperm(len(more))[:320]]])
    rows = torch.randperm(len(few)).split(64)
    net = network.adapted(
        network.pretrained(), (few[chunk].float() / 255 for chunk in rows if len(chunk) == 64)
    )
    return network.MaskNet(net).to(memory_format=torch.channels_last)


if __name__ == "__main__":
    main()
