"""From what a model sees to a scene graph: labels to relations, masks to the heart's width."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ehrqa_cli.contracts.images import Coverage, Relation
from ehrqa_cli.vqa.model import anatomy
from ehrqa_cli.vqa.model.card import Binary, Card, Label
from ehrqa_cli.vqa.model.network import Seen
from ehrqa_cli.vqa.thresholds import VqaThresholds

Floats = npt.NDArray[np.float32]
_NAN = np.float32("nan")


class Relations:
    """The relations of a card, in the order in which its labels name them."""

    def __init__(self, card: Card) -> None:
        self._labels: dict[Relation, list[int]] = {}
        for k, label in enumerate(card.labels):
            for relation in label.relations:
                self._labels.setdefault(relation, []).append(k)
        self.names: tuple[Relation, ...] = tuple(self._labels)
        self._limit = np.asarray([label.threshold for label in card.labels], dtype=np.float32)
        self._no_below = np.asarray([_no_below(label) for label in card.labels], dtype=np.float32)
        # Of several labels the strictest threshold is the relation's.
        self.limits = {
            relation: max(card.labels[k].threshold for k in labels)
            for relation, labels in self._labels.items()
        }

    def probabilities(self, findings: Floats) -> Floats:
        """Of each relation, from those of the labels; NaN where nothing can be said.

        Of several labels the larger probability counts, and each decides by its own threshold:
        a probability that would fall on the other side of the relation's is moved to it.
        """
        above = findings >= self._limit
        unsure = ~above & ~(findings < self._no_below)  # NaN is unsure
        out = np.full(len(self.names), _NAN, dtype=np.float32)
        for column, (relation, labels) in enumerate(self._labels.items()):
            if len(labels) == 1 and not unsure[labels[0]]:
                out[column] = findings[labels[0]]
                continue
            limit = np.float32(self.limits[relation])
            largest = np.nanmax(findings[labels]) if not np.isnan(findings[labels]).all() else _NAN
            if above[labels].any():
                out[column] = max(largest, limit)
            elif not unsure[labels].any():
                out[column] = min(largest, np.nextafter(limit, np.float32(0)))
        return out


def _no_below(label: Label) -> float:
    return label.threshold if label.no_below is None else label.no_below


def coverage(card: Card) -> Coverage:
    """What a model of this card says of an image, and may be asked."""
    valid = card.validated
    return Coverage(
        relations=Relations(card).names,
        view=card.view is not None and "view" in valid,
        sex=card.sex is not None and "sex" in valid,
        heart=card.masks is not None and "heart" in valid,
        mediastinum=False,  # no card says how to measure it
    )


def thresholds(card: Card) -> VqaThresholds:
    """From which probabilities on the card counts something as present, as PA, as female."""
    view = card.view.threshold if card.view else 0.5
    sex = card.sex.threshold if card.sex else 0.5
    return VqaThresholds(
        relations=Relations(card).limits,
        view=view if card.view is None or card.view.positive == "PA" else 1 - view,
        sex=sex if card.sex is None or card.sex.positive == "F" else 1 - sex,
        margin=card.masks.margin if card.masks else 0.0,
    )


def told(spec: Binary | None, p: float | None, of: str) -> float | None:
    """``p``, the probability of the view or sex ``of``, or None where the card does not say it."""
    if spec is None or p is None:
        return None
    return p if spec.is_told(p if spec.positive == of else 1 - p) else None


def findings(card: Card, seen: Seen, heart: float | None) -> Floats:
    """The probability of each label, with the cardiothoracic ratio ``heart`` where it counts: NaN
    where that is None."""
    out = seen.findings.copy()
    for k, label in enumerate(card.labels):
        if label.ratio and heart is None:
            out[k] = _NAN
        elif label.ratio and heart is not None and 0 < out[k] < 1:
            odds = float(out[k]) / (1 - float(out[k])) * math.exp(label.ratio * (heart - 0.5))
            out[k] = odds / (1 + odds)
    return out


def heart_ratio(card: Card, seen: Seen, *, always: bool = False) -> float | None:
    """The cardiothoracic ratio, or None without masks to be believed.

    ``always`` takes masks as they are, and 0 when there is nothing on them.
    """
    if card.masks is None or seen.masks is None:
        return None
    size = anatomy.measured_size(*seen.size)
    masks = anatomy.masks_of(seen.masks, card.masks, seen.where, size)
    found = anatomy.ratio(masks)
    return anatomy.rough_ratio(masks) if found is None and always else found
