"""Calibrates a card anew without the training's packages: what is said from which score on.

    python models/vision/operate.py --nih FOLDER [--card CARD] [--out CARD]

Probabilities and the points from which on yes and no are said come from NIH's validation films, the
limit of the outlier distance from training films turned by 90, 180 and 270 degrees (calibrate.py).
Prints of each finding, of films that had no part in its limits (five folds, patients apart), how
often a yes and a no is given and is false.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from calibrate import binary, common_slope, evenly, label, logit, probability, strange

from ehrqa_cli.vqa.imaging.decode import decode
from ehrqa_cli.vqa.imaging.picture import Picture
from ehrqa_cli.vqa.model import card, graph
from ehrqa_cli.vqa.model.network import Seen, VisionModel

Array = npt.NDArray[np.float64]
LEAST, FOLDS, BATCH = 10, 5, 16


# The findings that the width of the heart tells as well.
BY_RATIO = frozenset({"Cardiomegaly"})


def main() -> None:
    """Look at the films, write the card, print what held of films left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nih", type=Path, required=True)
    parser.add_argument("--card", type=Path, default=Path(__file__).parent / "card.json")
    parser.add_argument("--out", type=Path, help="The card to write [default: the same].")
    given = parser.parse_args()
    for line in calibrate_card(given.card, given.out or given.card, given.nih):
        print(line)


@dataclass(frozen=True)
class Films:
    """What the network says of n films: logits and truth (n, findings), ratios (n; NaN without)."""

    logits: Array
    truth: Array
    ratios: Array
    patients: Array

    def label(self, name: str, k: int, rows: Array, slope: float) -> dict[str, float]:
        """The calibration of finding ``k`` on some of the films."""
        ratios = self.ratios[rows] if name in BY_RATIO else None
        return label(self.logits[rows, k], self.truth[rows, k], slope, ratios)

    def slope(self, rows: Array) -> float:
        """That of all findings with enough films."""
        wide = self.truth.sum(0) >= LEAST
        return common_slope(self.logits[rows][:, wide], self.truth[rows][:, wide])


def calibrate_card(path: Path, out: Path, nih: Path) -> list[str]:
    """Write the card at ``path`` to ``out``, calibrated; what held of films left out."""
    with (nih / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    valid = [row for row in rows if row["split"] == "valid"]
    some = [row for row in rows if row["split"] == "train"][::3]
    model = VisionModel(plain(card.load(path)))
    seen = list(look(model, [nih / "images" / row["file"] for row in valid]))
    raw = json.loads(path.read_text(encoding="utf-8"))
    names = [one["name"] for one in raw["findings"]["labels"]]
    films = Films(
        logit(np.array([s.findings for s in seen], float)),
        np.array([[n in row["findings"].split("|") for n in names] for row in valid], float),
        np.array([graph.heart_ratio(model.card, s) for s in seen], float),  # None is NaN
        np.array([int(row["patient_id"]) for row in valid]),
    )
    every = np.ones(len(valid), bool)
    for k, one in enumerate(raw["findings"]["labels"]):
        one.update(films.label(names[k], k, every, films.slope(every)))
    for name, positive, field in (("view", "PA", "pa"), ("sex", "F", "female")):
        scores = logit(np.array([getattr(s, field) for s in seen], float))
        is_so = np.array([row[name] == positive for row in valid], float)
        raw[name] |= binary(raw[name]["output"], positive, scores, is_so)
    turned = look(model, [nih / "images" / row["file"] for row in some], (1, 2, 3))
    raw["outlier"]["limit"] = strange(np.array([s.distance for s in turned], float))
    out.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    return list(left_out(names, films))


def plain(spec: card.Card) -> card.Card:
    """A card without calibration, so that probabilities are those of the network."""
    assert spec.findings and spec.view and spec.sex, "a card of findings, view and sex is needed"
    labels = tuple(replace(one, temperature=1.0, bias=0.0) for one in spec.findings.labels)
    return replace(
        spec,
        findings=replace(spec.findings, labels=labels),
        view=replace(spec.view, temperature=1.0, bias=0.0),
        sex=replace(spec.sex, temperature=1.0, bias=0.0),
    )


def look(model: VisionModel, paths: list[Path], quarters: tuple[int, ...] = (0,)) -> Iterator[Seen]:
    """What the model sees of each film, turned by each number of quarters of a circle."""
    for start in range(0, len(paths), BATCH):
        pictures = [decode(path, size=224) for path in paths[start : start + BATCH]]
        for count in quarters:
            yield from model.see([_turned(picture, count) for picture in pictures])


def _turned(picture: Picture, count: int) -> Picture:
    pixels = np.ascontiguousarray(np.rot90(picture.pixels, count))
    return replace(picture, pixels=pixels, width=pixels.shape[1], height=pixels.shape[0])


def left_out(names: list[str], films: Films) -> Iterator[str]:
    """Of each finding how often no and yes are said, and of how many films falsely."""
    yield "finding, positives: no of films without, with it; yes of films with, without it"
    fold = films.patients % FOLDS
    said = np.zeros((2, *films.logits.shape), dtype=bool)  # no, yes
    wide = np.flatnonzero(films.truth.sum(0) >= LEAST)
    for out in range(FOLDS):
        rest, here = fold != out, fold == out
        slope = films.slope(rest)
        for k in wide:
            made = films.label(names[k], int(k), rest, slope)
            ratios = films.ratios[here] if "ratio" in made else None
            p = probability(made, films.logits[here, k], ratios)
            said[0, here, k], said[1, here, k] = p < made["no_below"], p >= made["threshold"]
    for k in wide:
        has = films.truth[:, k] > 0.5
        no, yes, weight = said[0, :, k], said[1, :, k], evenly(films.truth[:, k])
        right = float((weight * np.where(has, yes, no)).sum())
        given = float((weight * (no | yes)).sum())
        precision = f"{right / given:.3f}" if given else "none given"
        yield (
            f"{names[k]}, {has.sum():.0f}: {no[~has].mean():.3f}, {no[has].mean():.3f}; "
            f"{yes[has].mean():.3f}, {yes[~has].mean():.3f}; weighed alike right {precision}"
        )


if __name__ == "__main__":
    main()
