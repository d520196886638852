"""Chooses how much risk to accept, and what a risk means, from records whose truth is known.

The records come from runs with Thresholds.off(), so that every answer the model would give is
scored. A logistic regression weighs the standardised scores into one risk (the negative log-odds
of being right); no weight may be negative, since more of any signal means more risk. The limit
maximises RS(penalty), or holds a stated precision on each source, on risks of questions that the
weights did not see: whole groups (templates, families) are left out together. Centred isotonic
regression turns risk into a probability, and the Brier score says how good that is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.engine.risk import Thresholds, goal_key, risk, too_risky
from ehrqa_cli.evaluate.fitting import FOLDS, brier, fit_logistic, isotonic
from ehrqa_cli.evaluate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Scores of which more means more risk.
SIGNALS = (
    "max_entropy",
    "max_allowed_entropy",
    "mean_entropy",
    "ref_entropy",
    "decision_entropy",
    "mean_decision_entropy",
    "p_abstain",
    "max_removed",
    "unused_links",
    "link_doubt",
    "alias_doubt",
    "spelling_doubt",
    "null_share",
    "unanswerable_logit",
    "unfaithful_logit",
    "rival",
)
TELLING = 2  # wrong answers that a precision allows of a source, for it to have a say of its own
ENOUGH_WRONG = 25  # fewer wrong answers do not tell how to weigh the signals
STORED_GOALS = (
    "penalty=0", "penalty=5", "penalty=10", "penalty=n", "precision=0.95", "precision=0.99",
)  # fmt: skip
PER = 1167  # questions of EHRSQL-2024's test split, for "wrong answers expected in"


@dataclass(frozen=True)
class Goal:
    """What the limit is chosen for: the reliability score with ``penalty``, or, if ``precision``
    (0 to 1) is given, the most answers with at least that share right. ``per_question`` takes the
    number of questions as the penalty, RS(N)."""

    penalty: float = 10.0
    precision: float | None = None
    per_question: bool = False

    @classmethod
    def parse(cls, text: str) -> Goal:
        """From ``penalty=10``, ``penalty=n`` or ``precision=0.99``. Raises UsageError."""
        name, _, value = goal_key(text).partition("=")
        if name == "precision":
            return cls(precision=float(value))
        return cls(per_question=True) if value == "n" else cls(float(value))

    @property
    def key(self) -> str:
        """As ``parse`` reads it."""
        if self.precision is not None:
            return f"precision={self.precision:g}"
        return "penalty=n" if self.per_question else f"penalty={self.penalty:g}"

    def __str__(self) -> str:
        if self.precision is not None:
            return f"most answers at P_exe >= {100 * self.precision:g}%"
        return "highest RS(N)" if self.per_question else f"highest RS({self.penalty:g})"


@dataclass(frozen=True)
class Known:
    """A record to learn from: ``group`` is left out together with all of its kind, ``source``
    tells the sets apart, ``weight`` is how much it counts."""

    record: Record
    group: str = ""
    source: str = ""
    weight: float = 1.0


def choose(
    records: Sequence[Record],
    goal: Goal | None = None,
    *,
    signals: Sequence[str] = SIGNALS,
    source: dict[str, Any] | None = None,
) -> Thresholds:
    """Thresholds for ``goal`` from ``records`` of one set, each a group of its own."""
    known = [Known(r, str(i)) for i, r in enumerate(records)]
    return choose_known(known, goal, signals=signals, source=source)


def choose_known(
    known: Sequence[Known],
    goal: Goal | None = None,
    *,
    signals: Sequence[str] = SIGNALS,
    source: dict[str, Any] | None = None,
    base: Thresholds | None = None,
) -> Thresholds:
    """Thresholds for ``goal`` from the answered records. ``source`` is kept with them. With
    ``base`` and fewer than ENOUGH_WRONG wrong answers its weights are kept: only limits and
    calibration are chosen anew.

    Raises EvaluationError when the records hold no right or no wrong answers to learn from.
    """
    goal = goal or Goal()
    # What another check withholds anyway has no say in where the limit lies.
    answered = [
        k
        for k in known
        if k.record.status == "answered" and k.record.scores and not _ignored(k.record)
    ]
    used = [n for n in signals if len({k.record.scores.get(n, 0.0) for k in answered}) > 1]
    wrong = sum(not k.record.correct for k in answered)
    if not used or wrong in (0, len(answered)):
        raise EvaluationError(
            "the records hold no scored answers of both kinds, right and wrong",
            "run on a set of enough questions, some of which are hard or have no answer",
        )
    kept = base if base is not None and wrong < ENOUGH_WRONG else None
    weights, intercept, risks = _weigh(answered, used, kept)
    chosen = _with_limits(known, answered, risks, goal, source or {})
    chosen = replace(chosen, weights=weights, intercept=intercept)
    if kept is not None:
        method = "weights kept, limits and calibration chosen anew"
        chosen = replace(chosen, source={**chosen.source, "method": method})
    return chosen


def _weigh(
    answered: Sequence[Known], used: Sequence[str], kept: Thresholds | None
) -> tuple[dict[str, float], float, Floats]:
    """Weights, intercept, and the risk of each answer by weights that did not see it."""
    import numpy as np

    if kept is not None:
        risks = np.array([risk(k.record.scores, kept) for k in answered])
        return dict(kept.weights), kept.intercept, risks
    x = np.array([[k.record.scores.get(n, 0.0) for n in used] for k in answered])
    wrong = np.array([not k.record.correct for k in answered], dtype=np.float64)
    weight = np.array([k.weight for k in answered])
    found, intercept = fit_logistic(x, wrong, weight=weight)
    weights = {n: round(float(w), 6) for n, w in zip(used, found, strict=True) if w > 0}
    held_out = _held_out(x, wrong, weight, [k.group for k in answered])
    return weights, round(float(intercept), 6), held_out


def _with_limits(
    known: Sequence[Known],
    answered: Sequence[Known],
    risks: Floats,
    goal: Goal,
    source: dict[str, Any],
) -> Thresholds:
    """Limits, calibration and what is told of them, from risks; the weights are still to come."""
    import numpy as np

    right = np.array([k.record.correct for k in answered], dtype=np.float64)
    weight = np.array([k.weight for k in answered])
    limits: dict[str, float | None] = {}
    for key in dict.fromkeys((*STORED_GOALS, goal.key)):
        aim = Goal.parse(key)
        limit = _on_each_set(answered, risks, _gains(answered, aim, len(known)), aim)
        limits[key] = None if limit is None else round(limit, 6)
    told = {
        **source,
        "goal": goal.key,
        "questions": len(known),
        "answers": len(answered),
        "method": f"logistic regression without negative weights, limit on risks held out in "
        f"{FOLDS} folds of groups, centred isotonic calibration",
        "brier": round(brier(risks, right, weight), 5),
        "held_out": _told_all(known, answered, risks, limits[goal.key]),
    }
    return Thresholds(
        limit=limits[goal.key],
        calibration=isotonic(risks, right, weight=weight),
        source=told,
        limits_by_goal=limits,
    )


def write(thresholds: Thresholds, path: Path) -> None:
    """Write the file that engine.risk.Thresholds.load reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(thresholds.as_dict(), indent=1) + "\n", encoding="utf-8")


def _held_out(x: Floats, wrong: Floats, weight: Floats, groups: Sequence[str]) -> Floats:
    """The risk of every answer by weights that saw nothing of its group."""
    import numpy as np

    names = sorted(set(groups))
    order = np.random.default_rng(0).permutation(len(names))
    fold_of = {names[place]: i % FOLDS for i, place in enumerate(order)}
    folds = np.array([fold_of[g] for g in groups])
    risks = np.zeros(len(x))
    for fold in range(FOLDS):
        test, train = folds == fold, folds != fold
        if not test.any():
            continue
        weights, intercept = fit_logistic(x[train], wrong[train], weight=weight[train])
        risks[test] = x[test] @ weights + intercept
    return risks


def _on_each_set(
    answered: Sequence[Known], risks: Floats, gains: Floats, goal: Goal
) -> float | None:
    """The limit for all; a precision is to hold on each source too that has answers enough to tell
    it, not on the mean of an easy and a hard one. Of several sources, whose gold has its own
    slips, it holds within a standard error."""
    import numpy as np

    sources = {k.source for k in answered}
    errors = float(len(sources) > 1)
    limits = [best_limit(risks, gains, goal, errors=errors)]
    for name in sources if goal.precision is not None else ():
        part = np.array([k.source == name for k in answered])
        if part.sum() * (1.0 - (goal.precision or 0.0)) >= TELLING:
            limits.append(best_limit(risks[part], gains[part], goal, errors=errors))
    return min((limit for limit in limits if limit is not None), default=None)


def best_limit(risks: Floats, gains: Floats, goal: Goal, *, errors: float = 0.0) -> float | None:
    """The limit on risk that serves the goal best; None to answer everything.

    ``gains``: what giving an answer changes in RS, compared with declining; positive if right.
    For a precision, their sizes are how much each answer counts, and the share may be so many
    standard ``errors`` of a proportion below it.
    """
    import numpy as np

    order = np.argsort(risks, kind="stable")
    ordered, gained = risks[order], gains[order]
    if goal.precision is not None:
        size = np.abs(gained)
        precise = np.cumsum(size * (gained > 0)) / np.maximum(np.cumsum(size), 1e-12)
        spread = goal.precision * (1.0 - goal.precision) / np.arange(1, len(ordered) + 1)
        enough = np.flatnonzero(precise >= goal.precision - errors * np.sqrt(spread))
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


def _gains(answered: Sequence[Known], goal: Goal, questions: int) -> Floats:
    import numpy as np

    if goal.precision is not None:
        gains: Floats = np.array([k.weight * (1 if k.record.correct else -1) for k in answered])
        return gains
    penalty = float(questions) if goal.per_question else goal.penalty
    # Declining earns 1 where there is no answer, so answering there costs one more.
    base = [0.0 if k.record.gold is not None else 1.0 for k in answered]
    given = [k.record.outcome.reliability(penalty) for k in answered]
    gains = (np.array(given) - np.array(base)) * np.array([k.weight for k in answered])
    return gains


def _told_all(
    known: Sequence[Known], answered: Sequence[Known], risks: Floats, limit: float | None
) -> dict[str, Any]:
    """What the limit keeps, overall and in each source."""
    sources = dict.fromkeys(k.source for k in known if k.source)
    found: dict[str, Any] = {"all": _summary(known, answered, risks, limit)}
    for name in sources:
        part = [i for i, k in enumerate(answered) if k.source == name]
        found[name] = _summary(
            [k for k in known if k.source == name], [answered[i] for i in part], risks[part], limit
        )
    return {**found.pop("all"), **({"sources": found} if found else {})}


def _summary(
    known: Sequence[Known], answered: Sequence[Known], risks: Floats, limit: float | None
) -> dict[str, float]:
    kept = [limit is None or bool(r <= limit) for r in risks]
    right = [k.record.correct for k in answered]
    total = sum(k.weight for k in known)
    wrong = sum(
        k.weight for k, keep in zip(answered, kept, strict=True) if keep and not k.record.correct
    )
    answerable = sum(k.record.gold is not None for k in known)
    both = list(zip(kept, right, strict=True))
    return {
        "questions": len(known),
        "kept": sum(kept),
        "right": sum(k and r for k, r in both),
        "wrong": sum(k and not r for k, r in both),
        "dropped_right": sum(r and not k for k, r in both),
        "dropped_wrong": sum(not r and not k for k, r in both),
        "coverage": round(sum(k and r for k, r in both) / max(answerable, 1), 4),
        f"wrong_in_{PER}": round(PER * wrong / total, 1) if total else 0.0,
    }


def _ignored(record: Record, obeyed: Iterable[str] = ()) -> bool:
    """Was a reason ignored in the run that thresholds (which ignore ``obeyed``) would obey?"""
    kinds = {k.removeprefix("ignored_") for k in record.scores if k.startswith("ignored_")}
    return bool(kinds - {"low_confidence"} - set(obeyed))  # that one the limit decides


def apply(records: Sequence[Record], thresholds: Thresholds) -> list[Record]:
    """The records as they would be under ``thresholds``: risky answers withheld."""
    out = []
    for record in records:
        over = _ignored(record, thresholds.ignore) or too_risky(record.scores, thresholds)
        if record.status == "answered" and over:
            record = replace(record, status="abstained", correct=False, prediction=None)
        out.append(record)
    return out


def hashes(provenance: Mapping[str, str]) -> dict[str, str]:
    """What a thresholds file says of the model it was chosen for."""
    return {"model": provenance.get("model", "?"), "model_sha256": provenance.get("sha256", "?")}
