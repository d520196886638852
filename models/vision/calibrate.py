"""Calibration on the validation films: a temperature and a bias for each output.

Platt scaling (Platt 1999; Guo et al. 2017): p = sigmoid(logit / temperature + bias), by maximum
likelihood, each finding drawn towards the temperature of all.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Array = npt.NDArray[np.float64]
PULL = 8.0  # how hard a finding is drawn towards the common temperature


def platt(logits: Array, truth: Array, common: float | None = None) -> tuple[float, float]:
    """Temperature and bias of one output; ``common`` is the slope it is drawn to (1 / t)."""

    def loss(x: Array) -> float:
        z = logits * np.exp(x[0]) + x[1]
        fit = float(np.logaddexp(0, z).sum() - (truth * z).sum())
        return fit + (PULL * (x[0] - np.log(common)) ** 2 if common else 0.05 * x[0] ** 2)

    best = minimize(loss, np.zeros(2), method="BFGS").x
    return float(np.exp(-best[0])), float(best[1])


def common_slope(logits: Array, truth: Array) -> float:
    """One slope for all findings, each with its own bias. Logits and truth are (n, f)."""
    count = logits.shape[1]

    def loss(x: Array) -> float:
        z = logits * np.exp(x[0]) + x[1:]
        return float(np.logaddexp(0, z).sum() - (truth * z).sum())

    return float(np.exp(minimize(loss, np.zeros(count + 1), method="BFGS").x[0]))


def expected_error(p: Array, truth: Array, bins: int = 10) -> float:
    """Expected calibration error over bins of equal size (Guo et al. 2017)."""
    order = np.argsort(p)
    gaps = [
        len(chunk) * abs(float(p[chunk].mean()) - float(truth[chunk].mean()))
        for chunk in np.array_split(order, bins)
        if len(chunk)
    ]
    return sum(gaps) / len(p)


def sigmoid(z: Array) -> Array:
    """The logistic function."""
    return 1 / (1 + np.exp(-z))
