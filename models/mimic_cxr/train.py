"""Train a vision model on MIMIC-CXR-JPG with Chest ImaGenome's relations, for those with access.

    python models/mimic_cxr/train.py --cxr mimic-cxr-jpg --imagenome chest-imagenome \\
        --out RUN [--mimic mimiciv] [--epochs 4] [--least 100] [--device cuda]

Writes RUN/vision.onnx and RUN/card.json, which `--vision RUN/card.json` takes. The same network and
augmentation as models/vision; a relation that a report does not mention counts as absent.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(1, str(Path(__file__).parents[1] / "vision"))

import augment
import network
import onnx
from data import Film, films, vocabulary
from export import shrink
from measure import aucs
from pixels import SIZE, grey
from run import Run

from ehrqa_cli.contracts.images import Relation

BATCH = 32


def images_of(films: list[Film], pool: ThreadPoolExecutor) -> torch.Tensor:
    """Images (n, 1, 224, 224) of 8 bit, read side by side."""
    return torch.from_numpy(np.stack(list(pool.map(lambda f: grey(f.path, SIZE), films))))[:, None]


def labels_of(films: list[Film], relations: list[Relation]) -> tuple[torch.Tensor, torch.Tensor]:
    """Relations (n, r) and PA, female (n, 2); NaN where it is not known."""
    found = torch.tensor([[float(r in film.present) for r in relations] for film in films])
    facts = [[_coded(film.view, "PA"), _coded(film.sex, "F")] for film in films]
    return found, torch.tensor(facts)


def _coded(value: str | None, positive: str) -> float:
    return float("nan") if value is None else float(value == positive)


def loss_of(
    model: network.FindingsNet, images: torch.Tensor, found: torch.Tensor, facts: torch.Tensor
) -> torch.Tensor:
    """Cross-entropy of the relations, and of view and sex where they are known."""
    logits, known, _, _ = model(images)
    there = ~facts.isnan()
    rest = F.binary_cross_entropy_with_logits(known[:, :2][there], facts[there])
    findings = F.binary_cross_entropy_with_logits(logits, found)
    return findings + 0.25 * rest if there.any() else findings


class Plain(torch.nn.Module):
    """What is exported: relations, view, sex and heat."""

    def __init__(self, model: network.FindingsNet) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found, facts, _, heat = self.model(images)
        return found, facts[:, 0], facts[:, 1], heat


def card(relations: list[Relation], valid: dict[str, float], sha256: str) -> dict[str, Any]:
    """The card beside the model: which output stands for which relation."""
    labels = [
        {"name": f"{a} in the {o}", "temperature": 1.0, "bias": 0.0, "threshold": 0.5,
         "relations": [[o, a]]}
        for o, a in relations
    ]  # fmt: skip
    return {
        "name": "mimic-cxr-vision",
        "file": "vision.onnx",
        "sha256": sha256,
        "input": {"name": "image", "size": [SIZE, SIZE], "channels": 1, "scale": 1 / 255,
                  "mean": [0.0], "std": [1.0], "fit": "stretch"},
        "findings": {"output": "findings", "activation": "sigmoid", "labels": labels},
        "view": {"output": "view", "activation": "sigmoid", "positive": "PA", "temperature": 1.0,
                 "threshold": 0.5},
        "sex": {"output": "sex", "activation": "sigmoid", "positive": "F", "temperature": 1.0,
                "threshold": 0.5},
        "heat": {"output": "heat"},
        "validated": {"view": True, "sex": True, "heart": False, "mediastinum": False},
        "measured": valid,
    }  # fmt: skip


def main() -> None:
    """Train and export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cxr", type=Path, required=True)
    parser.add_argument("--imagenome", type=Path, required=True)
    parser.add_argument("--mimic", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    every = list(films(given.cxr, given.imagenome, given.mimic))
    train = [film for film in every if film.split == "train"]
    valid = [film for film in every if film.split in {"validate", "valid"}]
    relations = vocabulary(train, given.least)
    if not train or not valid or not relations:
        raise SystemExit(
            f"{len(train)} films to train on, {len(valid)} to validate, {len(relations)} "
            "relations: check the folders, or lower --least"
        )
    torch.manual_seed(1)
    with ThreadPoolExecutor(8) as pool:
        rows = (train[k : k + BATCH] for k in range(0, min(len(train), 640), BATCH))
        first = (images_of(chunk, pool).float() / 255 for chunk in rows)
        net = network.adapted(network.pretrained(), first)
        model = network.FindingsNet(net, findings=len(relations)).to(given.device)
        per_epoch = max(1, len(train) // BATCH)
        run = Run(model, given.out, given.rate, given.epochs * per_epoch)
        for epoch in range(run.first, given.epochs):
            began, total = time.time(), 0.0
            torch.manual_seed(epoch)
            model.train()
            for chunk in torch.randperm(len(train)).split(BATCH)[:per_epoch]:
                batch = [train[k] for k in chunk.tolist()]
                images, _ = augment.warp(images_of(batch, pool).float() / 255, None, SIZE)
                images = augment.marks(augment.tone(images)).to(given.device)
                found, facts = (t.to(given.device) for t in labels_of(batch, relations))
                total += run.step(loss_of(model, images, found, facts))
            run.save(
                epoch,
                {"epoch": epoch, "loss": total / per_epoch, "seconds": round(time.time() - began)},
            )
        measured = measure(run.average, valid, relations, pool, given.device)
    write(run.average.cpu(), given.out, relations, measured)


@torch.no_grad()
def measure(
    model: torch.nn.Module,
    valid: list[Film],
    relations: list[Relation],
    pool: ThreadPoolExecutor,
    device: str,
) -> dict[str, float]:
    """AUROC of each relation with ten positives or more among the films to validate on."""
    model.eval()
    scores = []
    for k in range(0, len(valid), BATCH):
        images = images_of(valid[k : k + BATCH], pool).float().to(device) / 255
        scores.append(model(images)[0].cpu())
    truth, _ = labels_of(valid, relations)
    names = [f"{o}|{a}" for o, a in relations]
    return aucs(torch.cat(scores).numpy(), truth.numpy(), names)


def write(
    model: torch.nn.Module, out: Path, relations: list[Relation], valid: dict[str, float]
) -> None:
    """RUN/vision.onnx and RUN/card.json."""
    path = out / "vision.onnx"
    names = ["findings", "view", "sex", "heat"]
    torch.onnx.export(
        Plain(model).eval(), (torch.rand(2, 1, SIZE, SIZE),), str(path), input_names=["image"],
        output_names=names, dynamic_axes={name: {0: "n"} for name in ("image", *names)},
        opset_version=18, dynamo=False,
    )  # fmt: skip
    onnx.save(shrink(onnx.load(str(path))), str(path))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    text = json.dumps(card(relations, valid, digest), indent=1, ensure_ascii=False)
    (out / "card.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
