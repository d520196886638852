"""Thresholds learnt from records whose truth is known."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.engine.confidence import Thresholds, probability
from ehrqa_cli.evaluate.metrics import score
from ehrqa_cli.evaluate.records import Record
from ehrqa_cli.evaluate.thresholds import (
    Goal,
    apply,
    best_limit,
    choose,
    fit_logistic,
    isotonic,
    write,
)


def records(n: int = 400, seed: int = 1) -> list[Record]:
    draw = random.Random(seed)
    out = []
    for i in range(n):
        entropy, noise = draw.random() * 2, draw.random()
        right = draw.random() > (0.02 if entropy < 1 else 0.7)
        scores = {"max_entropy": entropy, "elsewhere_words": noise}
        gold = "g" if right or draw.random() < 0.5 else None
        out.append(Record(str(i), "q", gold, "p", "answered", right, scores=scores))
    return out


def test_the_logistic_finds_the_line_it_was_drawn_from() -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(20_000, 2))
    y = (draw.random(20_000) < 1 / (1 + np.exp(-(2 * x[:, 0] - x[:, 1] + 0.5)))).astype(float)
    weights, intercept = fit_logistic(x, y)
    assert weights == pytest.approx([2.0, -1.0], abs=0.1)
    assert intercept == pytest.approx(0.5, abs=0.1)


def test_chosen_thresholds_help_on_questions_they_never_saw() -> None:
    chosen = choose(records(seed=1))
    fresh = records(seed=2)
    before, after = (
        score([r.outcome for r in fresh]),
        score([r.outcome for r in apply(fresh, chosen)]),
    )
    assert after.rs[10] > before.rs[10] + 50
    assert chosen.weights["max_entropy"] > 0
    assert all(weight >= 0 for weight in chosen.weights.values()), "no signal reassures"
    assert chosen.source["answers"] == 400 and "RS(10)" in chosen.source["goal"]


def test_a_stated_precision_is_held() -> None:
    chosen = choose(records(), Goal(precision=0.95))
    held = chosen.source["held_out"]
    assert held["right"] / held["kept"] >= 0.95
    assert held["kept"] > 100


def test_best_limit_by_hand() -> None:
    risks = np.array([0.1, 0.2, 0.3, 0.4])
    assert best_limit(risks, np.array([1.0, 1.0, -10.0, 1.0]), Goal()) == pytest.approx(0.25)
    assert best_limit(risks, np.array([1.0] * 4), Goal()) is None
    nothing = best_limit(risks, np.array([-10.0] * 4), Goal())
    assert nothing is not None and nothing < 0.1


def test_calibration_falls_with_risk_and_is_never_certain() -> None:
    made = records()
    chosen = choose(made)
    points = chosen.calibration
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [p for _, p in points] == sorted((p for _, p in points), reverse=True)
    assert all(0 < p < 1 for _, p in points)
    fresh = [(probability(r.scores, chosen) or 0.0, r.correct) for r in records(seed=3)]
    for low, high in ((0.0, 1.0), (0.9, 1.0), (0.0, 0.5)):
        part = [(p, right) for p, right in fresh if low <= p <= high]
        told = sum(p for p, _ in part) / len(part)
        true = sum(right for _, right in part) / len(part)
        assert told == pytest.approx(true, abs=0.07), (low, high)


def test_isotonic_pools_what_goes_the_wrong_way() -> None:
    points = isotonic(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 0.0, 1.0, 0.0]), block=1)
    assert points == ((0.0, 0.75), (1.0, 0.5), (2.0, 0.5), (3.0, 0.25))


def test_records_of_one_kind_teach_nothing() -> None:
    right = [r for r in records() if r.correct]
    with pytest.raises(EvaluationError):
        choose(right)
    with pytest.raises(EvaluationError):
        choose([])


def test_ignored_reasons_count_as_declining() -> None:
    record = records()[0]
    record.scores["ignored_unused_value"] = 1.0
    assert apply([record], Thresholds(limit=None))[0].status == "abstained"
    assert apply([record], Thresholds.off())[0].status == "answered"


def test_the_file_is_what_the_engine_reads(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "models" / "thresholds.json"
    chosen = choose(records())
    write(chosen, path)
    assert Thresholds.load(path) == chosen
