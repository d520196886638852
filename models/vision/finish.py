"""From trained runs to what is shipped: one ONNX file, its card with calibration, its manifest.

    python models/vision/finish.py --nih FOLDER --masks RUN --runs RUN ... --out models/vision

Says of each run, of the average of their weights (a soup) and of their logits (an ensemble) how
good it is on the validation films; ``--as soup|ensemble`` chooses what is exported.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import data
import network
import numpy as np
import numpy.typing as npt
import onnx
import torch
from export import OUTPUTS, Whole, onnx_of, shrink, soup, swapped
from measure import aucs
from operate import calibrate_card
from outlier import Outlier, areas
from pixels import SIZE
from torch import nn
from train import member, trained_masks

from ehrqa_cli.onnx import runtime

Array = npt.NDArray[np.float64]
# NIH's findings that are the same thing as an attribute of the paper's. Fibrosis and pleural
# thickening are not ("interstitial lung disease" and "pleural/parenchymal scarring" are wider).
RELATIONS = {
    "Atelectasis": [("", "atelectasis")],
    "Cardiomegaly": [
        ("cardiac silhouette", "enlarged cardiac silhouette"),
        ("", "enlarged cardiac silhouette"),
    ],
    "Consolidation": [("", "consolidation")],
    "Edema": [("", "pulmonary edema/hazy opacity")],
    "Effusion": [("", "pleural effusion")],
    "Emphysema": [("", "copd/emphysema")],
    "Hernia": [("", "hernia")],
    "Infiltration": [("", "infiltration")],
    "Mass": [("", "mass/nodule (not otherwise specified)")],
    "Nodule": [("", "mass/nodule (not otherwise specified)")],
    "Pneumonia": [("", "pneumonia")],
    "Pneumothorax": [("", "pneumothorax")],
}
GOOD = 0.60  # an AUC below which no question is answered from a finding, however well calibrated
# Nearer to the limit asked about a cardiothoracic ratio is not told.
NEAR = 0.012


@torch.no_grad()
def through(model: nn.Module, films: data.Films) -> dict[str, Array]:
    """All outputs of the whole model for all films."""
    parts: list[list[Array]] = [[] for _ in OUTPUTS]
    for images in films.images.split(16):
        for part, value in zip(parts, model(images.float() / 255), strict=True):
            part.append(value.double().numpy())
    return {name: np.concatenate(part) for name, part in zip(OUTPUTS, parts, strict=True)}


@torch.no_grad()
def usual(members: list[network.FindingsNet], masks: network.MaskNet, films: data.Films) -> Outlier:
    """What is usual in training films that the networks have seen."""
    features, spread = [], []
    for chunk in films.images.split(16):
        images = chunk.float() / 255
        mirrored = images.flip(3)
        here = (masks(images) + swapped(masks(mirrored))) / 2
        each = [one(view)[2] for one in members for view in (images, mirrored)]
        features.append(torch.stack(each).mean(0))
        spread.append(areas(here))
    return Outlier(torch.cat(features), torch.cat(spread)).eval()


def quality(logits: Array, films: data.Films) -> dict[str, float]:
    """Mean AUC over findings with ten positives, and each."""
    found = aucs(logits, films.findings.numpy(), data.FINDINGS)
    return {"mean": sum(found.values()) / len(found), **found}


def labels(good: dict[str, float]) -> list[dict[str, Any]]:
    """The card's findings, not calibrated yet (operate.py)."""
    return [
        {
            "name": name,
            "relations": [list(r) for r in RELATIONS.get(name, [])]
            if good.get(name, 0.0) >= GOOD
            else [],
        }
        for name in data.FINDINGS
    ]


def seen_by(session: Any, films: data.Films) -> dict[str, Array]:
    """All outputs of the file as it runs, for all films."""
    seen = [
        session.run(list(OUTPUTS), {"image": images.float().numpy() / 255})
        for images in films.images.split(16)
    ]
    joined = (np.concatenate([part[k] for part in seen]) for k in range(len(OUTPUTS)))
    return {name: value.astype(np.float64) for name, value in zip(OUTPUTS, joined, strict=True)}


def write(out: Path, model: nn.Module, valid: data.Films, nih: Path) -> None:
    """The ONNX file, card.json and manifest.json; calibrated with the file as it runs."""
    small = shrink(onnx_of(model))
    path = out / "vision.onnx"
    onnx.save(small, str(path))
    session = runtime().InferenceSession(str(path), providers=["CPUExecutionProvider"])
    values = seen_by(session, valid)
    good = quality(values["findings"], valid)
    print("exported", {name: round(value, 4) for name, value in good.items()})
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    card = {
        "name": "ehrqa-vision",
        "file": path.name,
        "sha256": digest,
        "input": {"name": "image", "size": [SIZE, SIZE], "channels": 1,
                  "scale": 1 / 255, "mean": [0.0], "std": [1.0], "fit": "stretch"},
        "findings": {"output": "findings", "activation": "sigmoid",
                     "labels": labels(good)},
        "view": {"output": "view", "positive": "PA"},
        "sex": {"output": "sex", "positive": "F"},
        "masks": {"output": "masks", "activation": "sigmoid", "labels": list(data.MASKS),
                  "threshold": 0.5, "margin": NEAR},
        "outlier": {"output": "distance", "limit": 0.0},
        "validated": {"view": True, "sex": True, "heart": True, "mediastinum": False},
    }  # fmt: skip
    (out / "card.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    calibrate_card(out / "card.json", out / "card.json", nih)
    manifest = {
        "file": path.name,
        "bytes": path.stat().st_size,
        "sha256": digest,
        "licence": "Apache-2.0",
        "about": "scene graphs of frontal chest X-rays: findings, view, sex, heart and lungs",
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Compare, then write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nih", type=Path, required=True)
    parser.add_argument("--masks", type=Path, required=True, help="Run of train_masks.py.")
    parser.add_argument("--runs", type=Path, nargs="+", required=True)
    parser.add_argument("--as", dest="kind", choices=["soup", "ensemble"], default="soup")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    train, valid = data.films(given.nih, "train"), data.films(given.nih, "valid")
    masks = trained_masks(given.masks)
    members = [member(run) for run in given.runs]
    if len(members) > 1:
        members = choose(members, given, masks, valid)
    write(
        given.out,
        Whole(members, masks, usual(members, masks, some(train))).eval(),
        valid,
        given.nih,
    )


def some(films: data.Films) -> data.Films:
    """Every third film, enough to learn what is usual."""
    return films.take(np.arange(0, len(films), 3))


def choose(
    several: list[network.FindingsNet],
    given: argparse.Namespace,
    masks: network.MaskNet,
    valid: data.Films,
) -> list[network.FindingsNet]:
    """Say how good each is, their soup and their ensemble; the one that was asked for."""
    mixed = member(given.runs[0])
    mixed.load_state_dict(soup([model.state_dict() for model in several]))
    unknown = usual(several[:1], masks, valid)
    named = [(str(run), [one]) for run, one in zip(given.runs, several, strict=True)]
    for name, members in [*named, ("soup", [mixed]), ("ensemble", several)]:
        whole = Whole(members, masks, unknown).eval()
        found = quality(through(whole, valid)["findings"], valid)
        print(name, {key: round(value, 4) for key, value in found.items()}, flush=True)
    return [mixed] if given.kind == "soup" else several


if __name__ == "__main__":
    main()
