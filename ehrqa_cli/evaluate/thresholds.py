"""Chooses how much risk to accept, and what a risk means, from records of a validation split.

The records come from a run with Thresholds.off(), so that every answer the model would give is
scored. A logistic regression weighs the scores into one risk (the negative log-odds of being
right); the limit on it maximises RS(10), or holds a stated precision, cross-validated so that the
reported figures are of questions that the weights did not see; isotonic regression turns risk into
a probability.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.engine.confidence import Thresholds, risk
from ehrqa_cli.evaluate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SIGNALS = (
    "max_entropy",
    "max_allowed_entropy",
    "mean_entropy",
    "p_abstain",
    "max_removed",
    "unknown_words",
    "elsewhere_words",
    "unused_links",
    "link_doubt",
)
FOLDS = 5


@dataclass(frozen=True)
class Goal:
    """What the limit is chosen for: the reliability score with ``penalty``, or, if ``precision``
    (0 to 1) is given, the most answers with at least that share right."""

    penalty: float = 10.0
    precision: float | None = None

    def __str__(self) -> str:
        if self.precision is not None:
            return f"most answers at P_exe >= {100 * self.precision:g}%"
        return f"highest RS({self.penalty:g})"


def choose(
    records: Sequence[Record],
    goal: Goal | None = None,
    *,
    signals: Sequence[str] = SIGNALS,
    source: dict[str, Any] | None = None,
) -> Thresholds:
    """Thresholds for ``goal`` from the answered ``records``. ``source`` is kept with them.

    Raises EvaluationError when the records hold no right or no wrong answers to learn from.
    """
    import numpy as np

    goal = goal or Goal()
    # What another check withholds anyway has no say in where the limit lies.
    answered = [
        r for r in records if r.status == "answered" and r.scores and not _ignored(r, Thresholds())
    ]
    used = [name for name in signals if any(r.scores.get(name) for r in answered)]
    right = np.array([r.correct for r in answered], dtype=np.float64)
    if not used or right.min(initial=1.0) == right.max(initial=0.0):
        raise EvaluationError(
            "the records hold no scored answers of both kinds, right and wrong",
            "run `ehrqa eval ehrsql` with thresholds off on a split of enough questions",
        )
    x = np.array([[r.scores.get(name, 0.0) for name in used] for r in answered])
    used, x = _risky_only(used, x, right)
    held_out = _cross_validated(x, right)
    weights, intercept = fit_logistic(x, 1.0 - right)
    limit = best_limit(held_out, _gains(answered, goal), goal)
    told = {
        **(source or {}),
        "goal": str(goal),
        "questions": len(records),
        "answers": len(answered),
        "method": f"logistic regression, limit on {FOLDS}-fold held-out risks, isotonic",
        "held_out": _summary(held_out, right, limit),
    }
    return Thresholds(
        weights=dict(zip(used, (round(float(w), 6) for w in weights), strict=True)),
        intercept=round(float(intercept), 6),
        limit=None if limit is None else round(limit, 6),
        calibration=isotonic(held_out, right),
        source=told,
    )


def _risky_only(used: list[str], x: Floats, right: Floats) -> tuple[list[str], Floats]:
    """Drops signals until none has a negative weight. All are such that more means more risk; a
    rare one that seems to reassure does so by chance."""
    while len(used) > 1:
        weights, _ = fit_logistic(x, 1.0 - right)
        worst = int((weights * x.std(axis=0)).argmin())
        if weights[worst] >= 0:
            break
        used = used[:worst] + used[worst + 1 :]
        x = x[:, [i for i in range(x.shape[1]) if i != worst]]
    return used, x


def write(thresholds: Thresholds, path: Path) -> None:
    """Write the file that engine.confidence.Thresholds.load reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(thresholds.as_dict(), indent=1) + "\n", encoding="utf-8")


def fit_logistic(x: Floats, y: Floats, *, ridge: float = 1.0) -> tuple[Floats, float]:
    """Weights and intercept of the log-odds of ``y`` (0/1) given the rows of ``x``.

    Newton's method with an L2 penalty on the weights of the standardised columns.
    """
    import numpy as np

    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    z = np.hstack([(x - mean) / scale, np.ones((len(x), 1))])
    penalty = np.diag([ridge] * x.shape[1] + [1e-6])
    beta = np.zeros(z.shape[1])
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-np.clip(z @ beta, -30, 30)))
        gradient = z.T @ (p - y) + penalty @ beta
        hessian = (z * (p * (1 - p))[:, None]).T @ z + penalty
        step = np.linalg.solve(hessian, gradient)
        beta -= step
        if float(np.abs(step).max()) < 1e-8:
            break
    weights = beta[:-1] / scale
    return weights, float(beta[-1] - (weights * mean).sum())


def _cross_validated(x: Floats, right: Floats) -> Floats:
    """The risk of every answer by weights that were fitted without it."""
    import numpy as np

    order = np.random.default_rng(0).permutation(len(x))
    risks = np.zeros(len(x))
    for fold in range(FOLDS):
        test = order[fold::FOLDS]
        train = np.setdiff1d(order, test)
        weights, intercept = fit_logistic(x[train], 1.0 - right[train])
        risks[test] = x[test] @ weights + intercept
    return risks


def best_limit(risks: Floats, gains: Floats, goal: Goal) -> float | None:
    """The limit on risk that serves the goal best; None to answer everything.

    ``gains``: what giving an answer changes in RS, compared with declining; positive if right.
    """
    import numpy as np

    order = np.argsort(risks, kind="stable")
    ordered, gained = risks[order], gains[order]
    if goal.precision is not None:
        precise = np.cumsum(gained > 0) / np.arange(1, len(gained) + 1)
        enough = np.flatnonzero(precise >= goal.precision)
        count = int(enough[-1]) + 1 if len(enough) else 0
    else:
        total = np.cumsum(gained)
        count = int(np.argmax(total)) + 1 if total.max(initial=0.0) > 0 else 0
    if count == len(ordered):
        return None
    if count == 0:
        return float(ordered[0]) - 1.0
    # Halfway to the next, so that rounding does not decide.
    return float(ordered[count - 1] + ordered[count]) / 2.0


def _gains(records: Sequence[Record], goal: Goal) -> Floats:
    import numpy as np

    # Declining earns 1 where there is no answer, so answering there costs one more.
    given = [r.outcome.reliability(goal.penalty) for r in records]
    base = [0.0 if r.gold is not None else 1.0 for r in records]
    gains: Floats = np.array(given) - np.array(base)
    return gains


def isotonic(risks: Floats, right: Floats, *, block: int = 10) -> tuple[tuple[float, float], ...]:
    """(risk, probability of being right) points that fall with risk: pool adjacent violators,
    starting from blocks of ``block`` answers. A pool gives a point at either end. Its share is
    shrunk by half an answer of either kind (Jeffreys), so that no sample gives certainty.
    """
    import numpy as np

    order = np.argsort(risks, kind="stable")
    pools: list[tuple[float, float, float, int]] = []  # (first risk, last risk, right, number)
    for start in range(0, len(order), block):
        part = order[start : start + block]
        ends = float(risks[part[0]]), float(risks[part[-1]])
        pool = (*ends, float(right[part].sum()), len(part))
        while pools and pools[-1][2] / pools[-1][3] <= pool[2] / pool[3]:
            first, _, good, n = pools.pop()
            pool = (first, pool[1], good + pool[2], n + pool[3])
        pools.append(pool)
    points: list[tuple[float, float]] = []
    for first, last, good, n in pools:
        p = (good + 0.5) / (n + 1)
        # Shrinking may undo the order between pools of different size.
        p = round(min(p, points[-1][1]) if points else p, 6)
        points += [(round(first, 6), p), (round(last, 6), p)]
    return tuple(dict.fromkeys(points))


def _summary(risks: Floats, right: Floats, limit: float | None) -> dict[str, float]:
    kept = right if limit is None else right[risks <= limit]
    return {
        "kept": len(kept),
        "right": int(kept.sum()),
        "wrong": int(len(kept) - kept.sum()),
        "dropped_right": int(right.sum() - kept.sum()),
        "dropped_wrong": int((len(right) - right.sum()) - (len(kept) - kept.sum())),
    }


def _ignored(record: Record, thresholds: Thresholds) -> bool:
    """Was a reason ignored in the run that these thresholds would obey?"""
    kinds = {k.removeprefix("ignored_") for k in record.scores if k.startswith("ignored_")}
    soft = {"low_confidence", "unused_word"}  # what the limit itself decides
    return bool(kinds - soft - set(thresholds.ignore))


def apply(records: Sequence[Record], thresholds: Thresholds) -> list[Record]:
    """The records as they would be under ``thresholds``: risky answers withheld."""
    from dataclasses import replace

    out = []
    for record in records:
        over = _ignored(record, thresholds)
        over |= any(record.scores.get(k, 0.0) > v for k, v in thresholds.limits.items())
        if thresholds.limit is not None:
            over = over or risk(record.scores, thresholds) > thresholds.limit
        if record.status == "answered" and over:
            record = replace(record, status="abstained", correct=False, prediction=None)
        out.append(record)
    return out


def tune(data: Path, split: str, db: Path, out: Path, goal: Goal | None = None) -> Thresholds:
    """Measure the model on ``split`` with every soft check off (records in ``out``, resumable),
    choose thresholds for ``goal`` and return them; ``write`` stores them beside the model."""
    from ehrqa_cli.evaluate.ehrsql import RECORDS, run_ehrsql
    from ehrqa_cli.evaluate.records import read_records

    report = run_ehrsql(data, split, db, out=out, thresholds=Thresholds.off())
    kept = ("dataset", "split", "version", "dataset_sha256", "database_sha256", "predictor")
    source = {key: report.header[key] for key in kept}
    return choose(read_records(out / RECORDS), goal, source=source)
