"""Measures of the vision model: areas under the curve with intervals, Dice, widths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

Array = npt.NDArray[np.floating]
LEAST = 10  # positives that a finding needs to count in the mean


def auc(scores: Array, truth: Array) -> float:
    """Area under the ROC curve, by ranks (Mann and Whitney); NaN without both classes."""
    positive = truth > 0.5
    many, few = int(positive.sum()), int((~positive).sum())
    if not many or not few:
        return float("nan")
    ranks = rankdata(scores)
    return float((ranks[positive].sum() - many * (many + 1) / 2) / (many * few))


def aucs(scores: Array, truth: Array, names: Sequence[str]) -> dict[str, float]:
    """AUC of each column with at least ten positives. Scores and truth are (n, len(names))."""
    return {
        name: auc(scores[:, k], truth[:, k])
        for k, name in enumerate(names)
        if truth[:, k].sum() >= LEAST
    }


def dice(found: npt.NDArray[np.bool_], truth: npt.NDArray[np.bool_]) -> float:
    """Twice the common area over the sum of areas."""
    both = int(found.sum()) + int(truth.sum())
    return 2 * int((found & truth).sum()) / both if both else 1.0


def extent(mask: npt.NDArray[np.bool_]) -> int:
    """Columns from the first to the last one that a mask (h, w) touches."""
    columns = np.flatnonzero(mask.any(axis=0))
    return int(columns[-1] - columns[0] + 1) if len(columns) else 0


def ratio(heart: npt.NDArray[np.bool_], lungs: npt.NDArray[np.bool_]) -> float:
    """Width of the heart over that of the thorax (the extent of both lungs); 0.0 without lungs."""
    thorax = extent(lungs)
    return extent(heart) / thorax if thorax else 0.0
