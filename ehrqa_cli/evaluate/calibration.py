"""How good confidences and signals are: intervals, Brier score, reliability, risk and coverage.

Pure functions of arrays. A ``right`` array holds 1 for a right answer and 0 for a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

ROUNDS = 2000
BINS = 10


def bootstrap(
    columns: ArrayLike,
    statistic: Callable[[Floats], Floats],
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> tuple[float, float]:
    """95% percentile interval of a statistic of column sums, resampling the rows (questions).

    ``columns`` is (rows, k); ``statistic`` maps the sums of each resample, (rounds, k), to
    (rounds,). Raises ValueError for no rows.
    """
    import numpy as np

    low, high = np.percentile(statistic(resampled(columns, rounds=rounds, seed=seed)), [2.5, 97.5])
    return float(low), float(high)


def resampled(columns: ArrayLike, *, rounds: int = ROUNDS, seed: int = 0) -> Floats:
    """The column sums of each resample of the rows, (rounds, k). Raises ValueError for no rows."""
    import numpy as np

    table = np.asarray(columns, dtype=np.float64)
    if not len(table):
        raise ValueError("there is nothing to resample")
    draw = np.random.default_rng(seed)
    # How often each row is drawn; in blocks, so that memory stays small for large sets.
    sums: Floats = np.concatenate(
        [
            draw.multinomial(len(table), np.full(len(table), 1.0 / len(table)), size=part) @ table
            for part in _blocks(rounds, 250)
        ]
    )
    return sums


def _blocks(total: int, size: int) -> list[int]:
    return [min(size, total - start) for start in range(0, total, size)]


def brier(told: ArrayLike, right: ArrayLike) -> float | None:
    """Mean squared difference of the told probability (0 to 1) and the outcome; None for none."""
    import numpy as np

    p, y = np.asarray(told, dtype=np.float64), np.asarray(right, dtype=np.float64)
    return float(((p - y) ** 2).mean()) if len(p) else None


@dataclass(frozen=True)
class Bin:
    """Answers of similar confidence: number, mean confidence told, share that is right with its
    95% interval (Wilson)."""

    n: int
    told: float
    true: float
    low: float
    high: float


def reliability(told: ArrayLike, right: ArrayLike, count: int = BINS) -> list[Bin]:
    """About ``count`` bins of equally many answers, by confidence; equal confidences stay
    together. Equal widths would put nearly all answers into one bin."""
    import numpy as np

    p, y = np.asarray(told, dtype=np.float64), np.asarray(right, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    p, y = p[order], y[order]
    out, start = [], 0
    for part in range(1, count + 1):
        end = round(part * len(p) / count)
        while 0 < end < len(p) and p[end] == p[end - 1]:
            end += 1
        if end > start:
            n, share = end - start, float(y[start:end].mean())
            out.append(Bin(n, float(p[start:end].mean()), share, *wilson(share, n)))
            start = end
    return out


def wilson(share: float, n: int) -> tuple[float, float]:
    """95% interval (Wilson) of a share (0 to 1) seen in ``n`` > 0; unlike the bootstrap's it has a
    width where the share is 0 or 1."""
    z = 1.96
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5 / (1 + z * z / n)
    # At 0 and at 1 rounding may put a bound just inside the share itself.
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


@dataclass(frozen=True)
class Curve:
    """Answering the surest first: (coverage, risk) points in per cent. Coverage is the share of
    all questions that are answered, risk the share of those answers that are wrong."""

    coverage: tuple[float, ...]
    risk: tuple[float, ...]


def risk_coverage(doubt: ArrayLike, right: ArrayLike, questions: int) -> Curve:
    """The curve of answers by ``doubt`` (higher: less sure); ``questions`` counts the declined
    ones too. Answers of equal doubt come at once."""
    import numpy as np

    d, y = np.asarray(doubt, dtype=np.float64), np.asarray(right, dtype=np.float64)
    order = np.argsort(d, kind="stable")
    d, wrong = d[order], np.cumsum(1.0 - y[order])
    last = np.flatnonzero(np.append(d[1:] != d[:-1], True)) if len(d) else np.zeros(0, dtype=int)
    return Curve(
        tuple(float(100.0 * (i + 1) / questions) for i in last),
        tuple(float(100.0 * wrong[i] / (i + 1)) for i in last),
    )


def auroc(high: ArrayLike, low: ArrayLike) -> float | None:
    """Probability that a value of ``high`` exceeds one of ``low``, ties counting half; None where
    either is empty. 0.5 is no better than chance."""
    import numpy as np

    a, b = np.asarray(high, dtype=np.float64), np.sort(np.asarray(low, dtype=np.float64))
    if not len(a) or not len(b):
        return None
    below = np.searchsorted(b, a, side="left")
    upto = np.searchsorted(b, a, side="right")
    return float((below + upto).mean() / (2 * len(b)))
