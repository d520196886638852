"""How good the vision model is on real chest X-rays, through ``ehrqa images predict``.

    python tests/benchmarks/vision.py --cxr DIR [--vision CARD] [--photos DIR]

``DIR`` has nih/ (labels.csv, images/) and heart-lung-masks/ (images/, heart/, left_lung/,
right_lung/). Findings, view and sex are measured on NIH's validation films; masks and widths on
the fifth of the masked images that training keeps apart; view and sex again on films changed as
another hospital's might be. ``--photos`` is a folder of pictures that are no X-rays.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from films import valid_films
from PIL import Image, ImageOps
from shared import rows_of

from ehrqa_cli.evaluate.calibration import auroc

FINDINGS = (
    *("Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Effusion", "Emphysema"),
    *("Fibrosis", "Hernia", "Infiltration", "Mass", "Nodule", "Pleural_Thickening"),
    *("Pneumonia", "Pneumothorax"),
)
KINDS = ("heart", "left_lung", "right_lung")
LEAST, ROUNDS = 10, 1000


def predict(folder: Path, card: Path | None, masks: Path | None = None) -> dict[str, Any]:
    """What the tool says of every image of a folder, by file name."""
    out = folder.parent / f"{folder.name}.jsonl"
    command = [sys.executable, "-m", "ehrqa_cli", "images", "predict", str(folder)]
    command += ["--out", str(out)] + (["--masks", str(masks)] if masks else [])
    command += ["--vision", str(card)] if card else []
    subprocess.run(command, check=True)
    return {Path(row["file"]).name: row for row in rows_of(out)}


def findings(rows: list[dict[str, str]], seen: dict[str, Any]) -> dict[str, Any]:
    """AUC of each finding and their mean, with intervals over films; view and sex; calibration."""
    truth = np.array([[name in row["findings"].split("|") for name in FINDINGS] for row in rows])
    p = np.array([[seen[row["file"]]["findings"][name] for name in FINDINGS] for row in rows])
    wide = [k for k in range(len(FINDINGS)) if truth[:, k].sum() >= LEAST]
    rng = np.random.default_rng(0)
    means, each = [], []
    for _ in range(ROUNDS):
        draw = rng.integers(len(rows), size=len(rows))
        here = [area(p[draw, k], truth[draw, k]) for k in wide]
        each.append(here)
        means.append(np.nanmean(here))
    spread = np.nanpercentile(each, [2.5, 97.5], axis=0)
    aucs = {
        FINDINGS[k]: {
            "auc": round(area(p[:, k], truth[:, k]), 3),
            "low": round(float(spread[0, j]), 3),
            "high": round(float(spread[1, j]), 3),
            "positives": int(truth[:, k].sum()),
            "calibration_error": round(_calibration(p[:, k], truth[:, k]), 3),
        }
        for j, k in enumerate(wide)
    }
    low, high = np.percentile(means, [2.5, 97.5])
    return {
        "films": len(rows),
        "mean_auc": round(float(np.mean([a["auc"] for a in aucs.values()])), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
        **facts(rows, seen),
        "in_distribution": sum(seen[row["file"]]["in_distribution"] for row in rows),
        "by_finding": aucs,
    }


def area(p: np.ndarray, truth: np.ndarray) -> float:
    """The area under the ROC curve; NaN without both classes."""
    found = auroc(p[truth], p[~truth])
    return float("nan") if found is None else found


def facts(rows: list[dict[str, str]], seen: dict[str, Any]) -> dict[str, float]:
    """AUC and accuracy of view and sex."""
    found: dict[str, float] = {}
    for key, positive in (("view", "PA"), ("sex", "F")):
        truth = np.array([row[key] == positive for row in rows])
        p = np.array([seen[row["file"]][key][positive] for row in rows])
        found[f"{key}_auc"] = round(area(p, truth), 4)
        found[f"{key}_accuracy"] = round(float(((p >= 0.5) == truth).mean()), 4)
    return found


def _calibration(p: np.ndarray, truth: np.ndarray, bins: int = 10) -> float:
    """Expected calibration error, films with and without weighed alike, as the card says it."""
    share = truth.mean()
    weight = np.where(truth, 0.5 / share, 0.5 / (1 - share)) / len(p)
    chunks = np.array_split(np.argsort(p), bins)
    return float(sum(abs((weight[c] * (p[c] - truth[c])).sum()) for c in chunks))


def masks(folder: Path, seen: dict[str, Any], found: Path) -> dict[str, Any]:
    """Dice, and the error of the cardiothoracic ratio against that of the true masks."""
    dice: dict[str, list[float]] = {kind: [] for kind in KINDS}
    errors, halves = [], []
    for name, row in sorted(seen.items()):
        stem = Path(name).stem
        real = {kind: _mask(folder / kind / f"{stem}.png") for kind in KINDS}
        for kind in KINDS:
            mine = _mask(found / kind / f"{stem}.png")
            both = 2 * (mine & real[kind]).sum()
            dice[kind].append(both / max(1, mine.sum() + real[kind].sum()))
        truth = _extent(real["heart"]) / _extent(real["left_lung"] | real["right_lung"])
        errors.append(abs(row["ctr"] - truth))
        halves.append((row["ctr"] > 0.5) == (truth > 0.5))
    return {
        "images": len(seen),
        **{kind: round(float(np.mean(values)), 4) for kind, values in dice.items()},
        "ctr_error": round(float(np.mean(errors)), 4),
        "wider_than_half": round(float(np.mean(halves)), 4),
        "in_distribution": sum(row["in_distribution"] for row in seen.values()),
    }


def _mask(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("L")) > 127


def _extent(mask: np.ndarray) -> int:
    columns = np.flatnonzero(mask.any(axis=0))
    return int(columns[-1] - columns[0] + 1)


def _cropped(image: Image.Image) -> Image.Image:
    w, h = image.size
    return image.crop((round(w * 0.06), round(h * 0.08), round(w * 0.95), round(h * 0.97)))


CHANGES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "cropped by a tenth": _cropped,
    "a fifth wider": lambda image: image.resize((round(image.width * 1.2), image.height)),
    "low contrast": lambda image: image.point([60 + v // 3 for v in range(256)]),
    "dark (gamma 2)": lambda image: image.point([round(255 * (v / 255) ** 2) for v in range(256)]),
    "white border": lambda image: ImageOps.expand(image, border=12, fill=255),
    "corners covered": lambda image: _covered(image),
    **{f"turned by {d}": lambda image, d=d: image.rotate(d, expand=True) for d in (90, 180, 270)},
    "mirrored": ImageOps.mirror,
}


def _covered(image: Image.Image) -> Image.Image:
    """No burned-in marks: the corners, where they stand, are grey."""
    out = image.copy()
    w, h = image.size
    for left in (0, round(w * 0.78)):
        out.paste(90, (left, 0, left + round(w * 0.22), round(h * 0.16)))
    return out


def held_out(name: str) -> bool:
    """As models/vision/data.py keeps them apart."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 1000 < 200


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cxr", type=Path, required=True)
    parser.add_argument("--vision", type=Path)
    parser.add_argument("--photos", type=Path)
    given = parser.parse_args()
    rows = valid_films(given.cxr / "nih")
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        plain = work / "valid"
        plain.mkdir()
        for row in rows:
            (plain / row["file"]).symlink_to(given.cxr / "nih" / "images" / row["file"])
        report["nih_valid"] = findings(rows, predict(plain, given.vision))
        report["changed"] = {}
        for name, change in CHANGES.items():
            folder = work / name.replace(" ", "_")
            folder.mkdir()
            for row in rows:
                image = Image.open(plain / row["file"]).convert("L")
                change(image).save(folder / row["file"], quality=92)
            here = findings(rows, predict(folder, given.vision))
            report["changed"][name] = {k: v for k, v in here.items() if k != "by_finding"}
        source = given.cxr / "heart-lung-masks"
        apart = work / "masked"
        apart.mkdir()
        for path in sorted((source / "images").glob("*.jpg")):
            if held_out(path.stem):
                (apart / path.name).symlink_to(path)
        seen = predict(apart, given.vision, work / "found")
        report["masks_held_out"] = masks(source, seen, work / "found")
        if given.photos:
            seen = predict(given.photos, given.vision)
            report["photos"] = {
                "pictures": len(seen),
                "in_distribution": sorted(n for n, r in seen.items() if r.get("in_distribution")),
            }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
