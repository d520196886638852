"""The open chest X-rays that the vision model is trained on, as arrays in memory.

NIH ChestX-ray14 (Wang et al. 2017) as a folder with labels.csv, boxes.csv and images/, and the
heart and lung masks of Nanqing Dong (MIT) as a folder with images/, heart/, left_lung/ and
right_lung/.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from pixels import SIZE, grey

FINDINGS = (
    "Atelectasis",
    "Cardiomegaly",
    "Consolidation",
    "Edema",
    "Effusion",
    "Emphysema",
    "Fibrosis",
    "Hernia",
    "Infiltration",
    "Mass",
    "Nodule",
    "Pleural_Thickening",
    "Pneumonia",
    "Pneumothorax",
)
MASKS = ("heart", "left_lung", "right_lung")
NIH_FRAME = 1024  # boxes.csv counts in pixels of the original image


@dataclass(frozen=True)
class Films:
    """Images (n, 1, 224, 224) of 8 bit; labels (n, 14), PA, female and age / 100 as (n, 3)."""

    names: list[str]
    images: torch.Tensor
    findings: torch.Tensor
    facts: torch.Tensor

    def __len__(self) -> int:
        return len(self.names)

    def take(self, rows: npt.NDArray[np.intp]) -> Films:
        """Some of the films."""
        chosen = torch.as_tensor(rows)
        names = [self.names[k] for k in rows.tolist()]
        return Films(names, self.images[chosen], self.findings[chosen], self.facts[chosen])


def films(folder: Path, split: str) -> Films:
    """The films of one split (``train`` or ``valid``: patients are apart)."""
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == split]
    images = np.stack([grey(folder / "images" / row["file"], SIZE) for row in rows])
    found = [set(row["findings"].split("|")) for row in rows]
    labels = [[float(name in here) for name in FINDINGS] for here in found]
    facts = [
        [float(row["view"] == "PA"), float(row["sex"] == "F"), min(float(row["age"]), 100.0) / 100]
        for row in rows
    ]
    return Films(
        [row["file"] for row in rows],
        torch.from_numpy(images)[:, None],
        torch.tensor(labels),
        torch.tensor(facts),
    )


def boxes(folder: Path) -> dict[str, list[tuple[str, tuple[float, float, float, float]]]]:
    """By file: findings with boxes (left, top, right, bottom) in 0..1 of the image."""
    names = {"Infiltrate": "Infiltration"}
    found: dict[str, list[tuple[str, tuple[float, float, float, float]]]] = {}
    with (folder / "boxes.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            x, y, w, h = (float(row[key]) / NIH_FRAME for key in "xywh")
            name = names.get(row["finding"], row["finding"])
            found.setdefault(row["file"], []).append((name, (x, y, x + w, y + h)))
    return found


def masked(folder: Path, size: int = SIZE) -> tuple[list[str], torch.Tensor, torch.Tensor]:
    """Names, images (n, 1, size, size) and masks (n, 3, size, size) of 8 bit, heart first."""
    names = sorted(path.stem for path in (folder / "images").glob("*.jpg"))
    images = np.stack([grey(folder / "images" / f"{name}.jpg", size) for name in names])
    masks = np.stack(
        [np.stack([grey(folder / kind / f"{name}.png", size) for kind in MASKS]) for name in names]
    )
    return names, torch.from_numpy(images)[:, None], torch.from_numpy(masks)


def held_out(name: str, share: float = 0.2) -> bool:
    """Is an image of the masks kept for measuring? By its name's hash, the same everywhere."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 1000 < 1000 * share
