"""Calibration on the validation films: a temperature and a bias for each output, and from which
probability on something is said.

Platt scaling (Platt 1999; Guo et al. 2017): p = sigmoid(logit / temperature + bias), by maximum
likelihood, films with a finding weighing as much as those without: how often NIH's patients have it
says nothing of another hospital's. Each finding is drawn towards the temperature of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.stats import binom, nct, norm

Array = npt.NDArray[np.float64]
PULL = 8.0  # how hard a finding is drawn towards the common temperature
# No is said only below the scores of this share of the films with a finding, yes only above those
# of this share of the films without it, each at the safe end of an interval of this confidence...
SHARE, SURE = 0.95, 0.9
# ...and only where films with and without it, weighed alike, make it this probable.
YES, NO = 0.9, 0.1
# View and sex are said from this probability on: another hospital's films gave an area under the
# curve of 0.89 for sex, and 90.5% right for the view, where NIH's give 0.99 and 99%.
PLAIN = 0.98
# An image is unknown where this share (percent) of the training films turned by 90, 180 and 270
# degrees is still nearer; about one in a hundred of NIH's films is stored turned.
TURNED = 1.5


def evenly(truth: Array) -> Array:
    """Weights (n) that give both classes of ``truth`` (n) half of the sum, which is n."""
    share = truth.mean()
    return np.asarray(np.where(truth > 0.5, 0.5 / share, 0.5 / (1 - share)))


def platt(
    logits: Array, truth: Array, common: float | None = None, ratios: Array | None = None
) -> tuple[float, float, float]:
    """Temperature, bias, and weight of the cardiothoracic ratio above a half of one output (0
    without ``ratios``); ``common`` is the slope that it is drawn to (1 / t)."""
    weight = evenly(truth)
    above = np.zeros(len(truth)) if ratios is None else ratios - 0.5

    def loss(x: Array) -> float:
        z = logits * np.exp(x[0]) + x[1] + np.exp(x[2]) * above
        fit = float((weight * (np.logaddexp(0, z) - truth * z)).sum())
        return fit + (PULL * (x[0] - np.log(common)) ** 2 if common else 0.05 * x[0] ** 2)

    best = minimize(loss, np.array([0.0, 0.0, 2.0]), method="BFGS").x
    heart = 0.0 if ratios is None else float(np.exp(best[2]))
    return float(np.exp(-best[0])), float(best[1]), heart


def common_slope(logits: Array, truth: Array) -> float:
    """One slope for all findings, each with its own bias. Logits and truth are (n, f)."""
    count = logits.shape[1]
    weight = np.stack([evenly(column) for column in truth.T], axis=1)

    def loss(x: Array) -> float:
        z = logits * np.exp(x[0]) + x[1:]
        return float((weight * (np.logaddexp(0, z) - truth * z)).sum())

    return float(np.exp(minimize(loss, np.zeros(count + 1), method="BFGS").x[0]))


def below(scores: Array) -> float:
    """A score that SHARE of the films which ``scores`` (n) are drawn from exceed, surely (SURE).

    The lower of two tolerance limits (Hahn and Meeker 1991): by ranks, which few films cannot give
    (then the lowest score), and of a normal distribution, for n from 2 on.
    """
    count = len(scores)
    rank = int(binom.ppf(1 - SURE, count, 1 - SHARE))
    if rank and binom.cdf(rank, count, 1 - SHARE) > 1 - SURE:
        rank -= 1
    factor = nct.ppf(SURE, count - 1, norm.ppf(SHARE) * count**0.5) / count**0.5
    normal = scores.mean() - factor * scores.std(ddof=1)
    return float(min(np.sort(scores)[max(0, rank - 1)], normal))


def label(
    logits: Array, truth: Array, slope: float, ratios: Array | None = None
) -> dict[str, float]:
    """The card's calibration of one finding. Films without a ratio (NaN) have no part in one that
    takes ``ratios`` into account."""
    if ratios is not None:
        there = ~np.isnan(ratios)
        logits, truth, ratios = logits[there], truth[there], ratios[there]
    temperature, bias, weight = platt(logits, truth, slope, ratios)
    made = {"temperature": round(temperature, 4), "bias": round(bias, 4)}
    made |= {"ratio": round(weight, 4)} if ratios is not None else {}
    p = probability(made, logits, ratios)
    no, yes = below(logit(p[truth > 0.5])), -below(-logit(p[truth < 0.5]))
    return {
        **made,
        "threshold": round(max(YES, float(sigmoid(np.asarray(yes)))) + 0.00005, 4),
        "no_below": round(max(0.0, min(NO, float(sigmoid(np.asarray(no)))) - 0.00005), 4),
        "calibration_error": round(expected_error(p, truth), 4),
    }


def probability(made: dict[str, float], logits: Array, ratios: Array | None = None) -> Array:
    """What a card with ``made`` of ``label`` gives of each film (n); NaN without its ratio."""
    score = logits / made["temperature"] + made["bias"]
    if ratios is not None:
        score = score + made.get("ratio", 0.0) * (ratios - 0.5)
    return sigmoid(score)


def binary(name: str, positive: str, logits: Array, truth: Array) -> dict[str, Any]:
    """The card's view or sex."""
    temperature, bias, _ = platt(logits, truth)
    return {
        "output": name,
        "activation": "sigmoid",
        "positive": positive,
        "temperature": round(temperature, 4),
        "bias": round(bias, 4),
        "threshold": PLAIN,
        "no_below": round(1 - PLAIN, 4),
    }


def strange(turned: Array) -> float:
    """The distance from which on an image is unknown, from those of turned training films."""
    return round(float(np.percentile(turned, TURNED)), 3)


def expected_error(p: Array, truth: Array, bins: int = 10) -> float:
    """Expected calibration error over bins of equal size (Guo et al. 2017), classes weighed
    alike."""
    order, weight = np.argsort(p), evenly(truth)
    gaps = [
        abs(float((weight[chunk] * (p[chunk] - truth[chunk])).sum()))
        for chunk in np.array_split(order, bins)
        if len(chunk)
    ]
    return sum(gaps) / len(p)


def logit(p: Array) -> Array:
    """The logarithm of the odds, kept finite."""
    kept = np.clip(p, 1e-7, 1 - 1e-7)
    return np.asarray(np.log(kept / (1 - kept)))


def sigmoid(z: Array) -> Array:
    """The logistic function."""
    return 1 / (1 + np.exp(-z))
