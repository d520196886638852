"""Fine-tune the findings network: 160 pixels first, 224 after, mixup, an average of the weights.

    python models/vision/train.py --nih FOLDER --masks RUN --out RUN [--seed 1]

Goes on from RUN/state.pt after an interruption. One thread of a CPU takes about 40 minutes.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import augment
import data
import network
import torch
from measure import aucs
from pixels import SIZE
from run import Run
from torch.nn import functional as F

BATCH = 32


def loss_of(
    model: network.FindingsNet, images: torch.Tensor, labels: torch.Tensor, smooth: float
) -> torch.Tensor:
    """Cross-entropy of findings, view and sex, and a little of the age. Labels (n, 14 + 3 + 8):
    findings, facts, and the shapes of heart and lungs, which are not learned but given."""
    known, shapes = labels[:, : -network.SHAPES], labels[:, -network.SHAPES :]
    found, facts, _, _ = model(images, shapes)
    target = known[:, : network.FINDINGS] * (1 - 2 * smooth) + smooth
    findings = F.binary_cross_entropy_with_logits(found, target)
    age = F.mse_loss(facts[:, 2], known[:, -1])
    known = F.binary_cross_entropy_with_logits(facts[:, :2], known[:, -3:-1])
    return findings + 0.25 * known + age


@torch.no_grad()
def outputs(
    model: network.FindingsNet, films: data.Films, shapes: torch.Tensor, mirror: bool = False
) -> torch.Tensor:
    """Logits (n, 17) of findings and facts."""
    model.eval()
    rows = []
    for start in range(0, len(films), 64):
        images = films.images[start : start + 64].float() / 255
        images = images.flip(3) if mirror else images
        images = images.contiguous(memory_format=torch.channels_last)
        found, facts, _, _ = model(images, shapes[start : start + 64])
        rows.append(torch.cat([found, facts], 1))
    return torch.cat(rows)


@torch.no_grad()
def shapes_in(run: Path, films: data.Films) -> torch.Tensor:
    """Shapes of heart and lungs (n, 8), by the network of masks trained in ``run``."""
    model = trained_masks(run)
    chunks = films.images.split(64)
    return torch.cat([network.shapes_of(model(images.float() / 255)) for images in chunks])


def trained_masks(run: Path) -> network.MaskNet:
    """The network of masks as it was trained."""
    net = network.adapted(network.pretrained(), iter([torch.rand(2, 1, 64, 64)]))
    model = network.MaskNet(net)
    model.load_state_dict(torch.load(run / "state.pt", weights_only=True)["average"])
    return model.eval().to(memory_format=torch.channels_last)


def report(model: network.FindingsNet, films: data.Films, shapes: torch.Tensor) -> dict[str, float]:
    """Mean AUC of findings with ten positives or more, and those of view and sex."""
    logits = outputs(model, films, shapes)
    by_name = aucs(logits[:, : network.FINDINGS].numpy(), films.findings.numpy(), data.FINDINGS)
    known = aucs(logits[:, -3:-1].numpy(), films.facts[:, :2].numpy(), ("view", "sex"))
    return {"mean": sum(by_name.values()) / len(by_name), **known, **by_name}


def start(films: data.Films, frozen: int) -> network.FindingsNet:
    """The pretrained network, its normalisation adapted to these films: the same for every run, so
    that the weights of several can be averaged."""
    torch.manual_seed(1)
    rows = torch.randperm(len(films))[:640].split(64)
    batches = (films.images[chunk].float() / 255 for chunk in rows)
    net = network.adapted(network.pretrained(), batches)
    return network.FindingsNet(net, frozen, shapes=network.SHAPES).to(
        memory_format=torch.channels_last
    )


def main() -> None:
    """Train, with a checkpoint after each epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nih", type=Path, required=True)
    parser.add_argument("--masks", type=Path, required=True, help="Run of train_masks.py.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--teachers", type=Path, nargs="*", default=[], help="Earlier runs.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--small", type=int, default=18)
    parser.add_argument("--full", type=int, default=12)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--warm", type=Path, help="Begin with the weights of another run.")
    parser.add_argument("--strength", type=float, default=1.0, help="Of the augmentation.")
    parser.add_argument("--frozen", type=int, default=3)
    parser.add_argument("--mixup", type=float, default=0.5)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    train, valid = data.films(given.nih, "train"), data.films(given.nih, "valid")
    shapes, valid_shapes = shapes_in(given.masks, train), shapes_in(given.masks, valid)
    model = start(train, given.frozen)
    if given.warm:
        model.load_state_dict(member(given.warm).state_dict())
    per_epoch = (given.limit or len(train)) // BATCH
    epochs = given.small + given.full
    train = replace(train, findings=taught(train, shapes, given.teachers))
    run = Run(model, given.out, given.rate, epochs * per_epoch)
    for epoch in range(run.first, epochs):
        began, total = time.time(), 0.0
        torch.manual_seed(given.seed * 1000 + epoch)
        model.train()
        size = 160 if epoch < given.small else SIZE
        for rows in torch.randperm(len(train)).split(BATCH)[:per_epoch]:
            images, labels = batch(train, shapes, rows, size, given)
            total += run.step(loss_of(model, images, labels, 0.02))
        line = {"epoch": epoch, "size": size, "loss": round(total / per_epoch, 4)}
        if epoch % 3 == 2 or epoch == epochs - 1:
            found = report(run.average, valid, valid_shapes)
            line |= {name: round(value, 4) for name, value in found.items()}
        run.save(epoch, line | {"seconds": round(time.time() - began)})


def member(run: Path) -> network.FindingsNet:
    """A network of findings as it was trained."""
    net = network.adapted(network.pretrained(), iter([torch.rand(2, 1, 64, 64)]))
    model = network.FindingsNet(net, shapes=network.SHAPES)
    model.load_state_dict(torch.load(run / "state.pt", weights_only=True)["average"])
    return model.eval().to(memory_format=torch.channels_last)


def taught(films: data.Films, shapes: torch.Tensor, runs: list[Path]) -> torch.Tensor:
    """Half the labels, half what earlier runs think (n, 14): NIH's labels are drawn from reports by
    a program and often wrong (born-again networks: Furlanello et al. 2018)."""
    if not runs:
        return films.findings
    seen = [
        outputs(model, films, shapes, mirror)[:, : network.FINDINGS]
        for model in map(member, runs)
        for mirror in (False, True)
    ]
    return (films.findings + torch.sigmoid(torch.stack(seen).mean(0))) / 2


def batch(
    films: data.Films, shapes: torch.Tensor, rows: torch.Tensor, size: int, how: argparse.Namespace
) -> tuple[torch.Tensor, torch.Tensor]:
    """Augmented images (n, 1, size, size) in 0..1 and labels (n, 25)."""
    images = films.images[rows].float() / 255
    images, _ = augment.warp(images, None, size, how.strength)
    images = augment.marks(augment.tone(images))
    labels = torch.cat([films.findings[rows], films.facts[rows], shapes[rows]], 1)
    if torch.rand(()) < how.mixup:
        images, labels = augment.mixed(images, labels)
    return images.contiguous(memory_format=torch.channels_last), labels


if __name__ == "__main__":
    main()
