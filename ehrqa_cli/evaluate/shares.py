"""Shares of right answers with intervals that know which questions belong together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ehrqa_cli.evaluate.calibration import bootstrap, wilson

ROUNDS = 2000


@dataclass(frozen=True)
class Share:
    """``value`` of ``part`` in ``whole`` (0 to 1) with its 95% interval; None where ``whole``
    is 0."""

    value: float | None
    low: float | None = None
    high: float | None = None

    def percent(self) -> str:
        """For a table: 91.3 (88.0-94.1)."""
        return self.shown(100.0, 1)

    def shown(self, factor: float = 1.0, places: int = 3) -> str:
        """For a table, times ``factor``."""
        if self.value is None:
            return "-"
        text = f"{self.value * factor:.{places}f}"
        if self.low is None or self.high is None:
            return text
        return f"{text} ({self.low * factor:.{places}f}-{self.high * factor:.{places}f})"


def share(
    parts: Sequence[float],
    wholes: Sequence[float],
    clusters: Sequence[Hashable],
    seed: int = 0,
) -> Share:
    """The sum of ``parts`` over that of ``wholes``, with its interval.

    Resampled are ``clusters`` (questions about one image, say), not single questions. A share of
    exactly 0 or 1 gets Wilson's interval over the clusters, since a bootstrap that saw no other
    outcome knows of none.
    """
    sums: dict[Hashable, list[float]] = {}
    for part, whole, key in zip(parts, wholes, clusters, strict=True):
        total = sums.setdefault(key, [0.0, 0.0])
        total[0] += part
        total[1] += whole
    columns = [total for total in sums.values() if total[1]]
    part, whole = sum(c[0] for c in columns), sum(c[1] for c in columns)
    if not whole:
        return Share(None)
    value = part / whole
    if value in (0.0, 1.0):
        return Share(value, *wilson(value, len(columns)))
    low, high = bootstrap(columns, lambda s: s[:, 0] / s[:, 1], rounds=ROUNDS, seed=seed)
    return Share(value, low, high)
