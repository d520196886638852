"""How much risk is accepted, and how risk becomes a probability of being right."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import UsageError

GOAL = "penalty=10"  # where none is named
# The third opinion is too slow to be asked all the questions that thresholds are chosen on. These
# are the logarithms of how much likelier it agrees, or differs, when the answer is wrong than when
# it is right: it got 20 of 26 answerable questions right in a sample, and agreement with a wrong
# answer is taken as 1 in 10 (ln 0.1/0.77, ln 0.9/0.23). Thresholds that name them go before.
THIRD_WEIGHTS = {"third_agrees": -2.0, "third_differs": 1.4}


@dataclass(frozen=True)
class Thresholds:
    """How much risk is accepted, and how risk becomes a probability of being right.

    ``risk`` is ``intercept`` plus the weighted sum of ``weights`` over the scores; a risk above
    ``limit`` abstains (None: never). ``limits`` bound single scores. ``calibration`` holds pairs
    (risk, probability), risk ascending; without it no confidence is given. Reasons of a kind in
    ``ignore`` are noted (score ``ignored_KIND``) and not obeyed. ``source`` says on what
    data all this was chosen. ``limits_by_goal`` are the limits for other goals (goal_key).
    """

    weights: Mapping[str, float] = field(
        default_factory=lambda: {
            "max_entropy": 1.0,
            "p_abstain": 2.0,
            "max_removed": 1.0,
        }
    )
    intercept: float = 0.0
    limit: float | None = 1.5
    limits: Mapping[str, float] = field(default_factory=dict)
    calibration: tuple[tuple[float, float], ...] = ()
    ignore: tuple[str, ...] = ()
    source: Mapping[str, Any] = field(default_factory=lambda: {"chosen": "by hand, not measured"})
    limits_by_goal: Mapping[str, float | None] = field(default_factory=dict)

    @classmethod
    def off(cls) -> Thresholds:
        """Accept any risk and unused values: to measure the scores themselves."""
        soft = ("unlinked_value", "unused_value", "low_confidence", "ambiguous_name")
        return cls(limit=None, ignore=soft, source={"chosen": "off"})

    @classmethod
    def load(cls, path: Path) -> Thresholds:
        """Read a file that evaluate.thresholds wrote. Raises UsageError."""
        try:
            return cls._read(json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise UsageError(
                f"cannot read thresholds {path}: {error.strerror}", "check the path"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise UsageError(
                f"{path} is not a thresholds file", "make it again with `ehrqa eval`, or delete it"
            ) from None

    @classmethod
    def _read(cls, raw: Mapping[str, Any]) -> Thresholds:
        by_goal = raw.get("limits_by_goal", {})
        return cls(
            weights={str(k): float(v) for k, v in raw["weights"].items()},
            intercept=float(raw["intercept"]),
            limit=_limit(raw["limit"]),
            limits={str(k): float(v) for k, v in raw.get("limits", {}).items()},
            ignore=tuple(str(kind) for kind in raw.get("ignore", ())),
            calibration=tuple((float(x), float(p)) for x, p in raw["calibration"]),
            source=dict(raw["source"]),
            limits_by_goal={str(k): _limit(v) for k, v in by_goal.items()},
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the file; ``load`` reads them back."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]

    def told(self) -> dict[str, Any]:
        """What an answer's provenance says: what decided, without what did not come into play."""
        return {k: v for k, v in self.as_dict().items() if k != "limits_by_goal"}

    def for_goal(self, goal: str) -> Thresholds:
        """The same with the limit stored for ``goal`` (goal_key). Raises UsageError without one."""
        key = goal_key(goal)
        if key not in self.limits_by_goal:
            known = ", ".join(self.limits_by_goal) or "none"
            raise UsageError(
                f"these thresholds have no limit for {key}",
                f"stored goals: {known}; make your own with `ehrqa calibrate`",
            )
        source = {**self.source, "goal": key}
        return replace(self, limit=self.limits_by_goal[key], source=source)


def _limit(value: Any) -> float | None:
    return None if value is None else float(value)


def goal_key(text: str) -> str:
    """``penalty=10``, ``penalty=n`` or ``precision=0.99``, however it was written.

    Raises UsageError for anything else, a precision outside 0 to 1 among it.
    """
    name, _, value = text.strip().lower().partition("=")
    if name == "penalty" and value.strip() == "n":
        return "penalty=n"
    try:
        number = float(value)
        good = number >= 0 if name == "penalty" else name == "precision" and 0 < number < 1
        if not (good and math.isfinite(number)):
            raise ValueError
    except ValueError:
        raise UsageError(
            f"'{text[:40]}' is not a goal", "write penalty=10, penalty=n or precision=0.99"
        ) from None
    return f"{name}={number:g}"


def least_sure(goal: str) -> float:
    """The probability of being right from which an answer serves ``goal`` (goal_key): at a penalty
    of c for a wrong answer the expected score is positive from c / (1 + c) on, and a precision is
    its own limit. A penalty of n, the number of questions, asks for certainty: 1.
    """
    name, _, value = goal_key(goal).partition("=")
    if name == "precision":
        return float(value)
    return 1.0 if value == "n" else float(value) / (1.0 + float(value))


def risk(scores: Mapping[str, float], thresholds: Thresholds) -> float:
    """The weighted sum of the scores; scores that are missing or not finite count as 0."""
    total = thresholds.intercept
    for name, weight in {**THIRD_WEIGHTS, **thresholds.weights}.items():
        value = scores.get(name, 0.0)
        total += weight * value if math.isfinite(value) else 0.0
    return total


def too_risky(scores: Mapping[str, float], thresholds: Thresholds) -> bool:
    """Is the risk, or a score that has a limit of its own, above its limit?"""
    if any(scores.get(name, 0.0) > limit for name, limit in thresholds.limits.items()):
        return True
    return thresholds.limit is not None and risk(scores, thresholds) > thresholds.limit


def probability(scores: Mapping[str, float], thresholds: Thresholds) -> float | None:
    """The calibrated probability that the answer is right; None where nothing was measured."""
    points = thresholds.calibration
    if not points:
        return None
    x = risk(scores, thresholds)
    if x <= points[0][0]:
        return points[0][1]
    for (x0, p0), (x1, p1) in pairwise(points):
        if x <= x1:
            return round(p0 + (p1 - p0) * (x - x0) / (x1 - x0), 4) if x1 > x0 else p1
    return points[-1][1]
