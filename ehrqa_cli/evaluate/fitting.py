"""The fits behind thresholds: a logistic regression without negative weights, and calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehrqa_cli.engine.risk import Thresholds, probability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FOLDS = 5


def fit_logistic(
    x: Floats, y: Floats, *, ridge: float = 1.0, weight: Floats | None = None
) -> tuple[Floats, float]:
    """Weights, none below 0, and intercept of the log-odds of ``y`` (0/1) given rows of ``x``.

    Newton's method with an L2 penalty on the weights of the standardised columns; each step's
    quadratic is minimised over weights >= 0 by coordinate descent.
    """
    import numpy as np

    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    z = np.hstack([(x - mean) / scale, np.ones((len(x), 1))])
    w = np.ones(len(x)) if weight is None else weight / weight.mean()
    penalty = np.diag([ridge] * x.shape[1] + [1e-6])
    lowest = np.array([0.0] * x.shape[1] + [-np.inf])
    beta = np.zeros(z.shape[1])
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-np.clip(z @ beta, -30, 30)))
        gradient = z.T @ (w * (p - y)) + penalty @ beta
        hessian = (z * (w * p * (1 - p))[:, None]).T @ z + penalty
        new = _bounded(hessian, hessian @ beta - gradient, beta, lowest)
        moved = float(np.abs(new - beta).max())
        beta = new
        if moved < 1e-8:
            break
    weights = beta[:-1] / scale
    return weights, float(beta[-1] - (weights * mean).sum())


def _bounded(a: Floats, b: Floats, start: Floats, lowest: Floats) -> Floats:
    """The minimum of ``x'ax/2 - b'x`` with x >= ``lowest``."""
    import numpy as np

    x = start.copy()
    for _ in range(500):
        moved = 0.0
        for i in range(len(x)):
            new = max(lowest[i], x[i] + (b[i] - a[i] @ x) / a[i, i])
            moved = max(moved, abs(new - x[i]))
            x[i] = new
        if moved < 1e-10:
            break
    return np.asarray(x)


def isotonic(
    risks: Floats, right: Floats, *, block: int = 10, weight: Floats | None = None
) -> tuple[tuple[float, float], ...]:
    """(risk, probability of being right) points that fall with risk: centred isotonic regression
    (Oron and Flournoy 2017), starting from blocks of ``block`` answers. A pool of adjacent
    violators gives one point, at its mean risk, so that what lies between is told apart. Its share
    is shrunk by half an answer of either kind (Jeffreys): no sample gives certainty.
    """
    import numpy as np

    w = np.ones(len(right)) if weight is None else weight / weight.mean()
    order = np.argsort(risks, kind="stable")
    pools: list[tuple[float, float, float]] = []  # (risks, right, number), weighted sums
    for start in range(0, len(order), block):
        part = order[start : start + block]
        pool = tuple(float((x * w)[part].sum()) for x in (risks, right, np.ones(len(w))))
        while pools and pools[-1][1] / pools[-1][2] <= pool[1] / pool[2]:
            pool = tuple(a + b for a, b in zip(pools.pop(), pool, strict=True))
        pools.append((pool[0], pool[1], pool[2]))
    points: list[tuple[float, float]] = []
    for total, good, n in pools:
        p = (good + 0.5) / (n + 1)
        # Shrinking may undo the order between pools of different size.
        points.append((round(total / n, 6), round(min(p, points[-1][1]) if points else p, 6)))
    return tuple(points)


def brier(risks: Floats, right: Floats, weight: Floats) -> float:
    """The mean squared error of the probability, each fifth calibrated on the other four."""
    import numpy as np

    folds = np.random.default_rng(1).permutation(len(risks)) % FOLDS
    errors = np.zeros(len(risks))
    for fold in range(FOLDS):
        rest = folds != fold
        if not rest.any():
            continue
        points = isotonic(risks[rest], right[rest], weight=weight[rest])
        plain = Thresholds(weights={"risk": 1.0}, calibration=points)
        for i in np.flatnonzero(~rest):
            p = probability({"risk": float(risks[i])}, plain) or 0.0
            errors[i] = (p - right[i]) ** 2
    return float((errors * weight).sum() / weight.sum())
