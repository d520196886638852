"""Thresholds learnt from records whose truth is known."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from ehrqa_cli.contracts.errors import EvaluationError, UsageError
from ehrqa_cli.engine.risk import Thresholds, probability
from ehrqa_cli.evaluate.metrics import score
from ehrqa_cli.evaluate.records import Record
from ehrqa_cli.evaluate.thresholds import (
    STORED_GOALS,
    Goal,
    Known,
    apply,
    best_limit,
    choose,
    choose_known,
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
        scores = {"max_entropy": entropy, "unused_links": noise}
        gold = "g" if right or draw.random() < 0.5 else None
        out.append(Record(str(i), "q", gold, "p", "answered", right, scores=scores))
    return out


def test_the_logistic_finds_the_line_it_was_drawn_from() -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(20_000, 2))
    y = (draw.random(20_000) < 1 / (1 + np.exp(-(2 * x[:, 0] + x[:, 1] + 0.5)))).astype(float)
    weights, intercept = fit_logistic(x, y)
    assert weights == pytest.approx([2.0, 1.0], abs=0.1)
    assert intercept == pytest.approx(0.5, abs=0.1)


def test_no_weight_is_negative_and_the_others_are_the_best_without_it() -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(5_000, 3))
    x[:, 2] += x[:, 0]  # so that leaving column 1 out is not the same as clipping it
    y = (draw.random(5_000) < 1 / (1 + np.exp(-(x[:, 0] - x[:, 1] + x[:, 2])))).astype(float)
    weights, intercept = fit_logistic(x, y)
    assert weights[1] == 0.0 and weights[0] > 0.3 and weights[2] > 0.3
    alone, alone_intercept = fit_logistic(x[:, [0, 2]], y)
    assert weights[[0, 2]] == pytest.approx(alone, abs=1e-4)
    assert intercept == pytest.approx(alone_intercept, abs=1e-4)


def test_weighty_records_draw_the_line() -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(4_000, 1))
    y = (draw.random(4_000) < 0.5).astype(float)
    half = np.arange(4_000) < 2_000
    y[half] = (x[half, 0] > 0).astype(float)
    even, _ = fit_logistic(x, y)
    heavy, _ = fit_logistic(x, y, weight=np.where(half, 50.0, 1.0))
    assert heavy[0] > 3 * even[0]


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
    assert chosen.source["answers"] == 400 and chosen.source["goal"] == "penalty=10"


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


def test_a_stated_precision_is_held_on_the_hard_source_too() -> None:
    easy = [Known(r, r.id, "easy") for r in records(1500)]
    hard = [
        Known(
            replace(r, id=f"h{r.id}", correct=r.correct and r.scores["max_entropy"] < 0.5),
            f"h{r.id}",
            "hard",
        )
        for r in records(300, seed=2)
    ]
    chosen = choose_known([*easy, *hard], Goal(precision=0.95))
    for source in (easy, hard):
        given = [r for r in apply([k.record for k in source], chosen) if r.status == "answered"]
        assert sum(r.correct for r in given) / len(given) >= 0.93
    alone = choose_known(easy, Goal(precision=0.95))
    more = [r for r in apply([k.record for k in easy], alone) if r.status == "answered"]
    fewer = [r for r in apply([k.record for k in easy], chosen) if r.status == "answered"]
    assert len(fewer) < len(more)


def test_isotonic_pools_what_goes_the_wrong_way() -> None:
    points = isotonic(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 0.0, 1.0, 0.0]), block=1)
    assert points == ((0.0, 0.75), (1.5, 0.5), (3.0, 0.25))


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


def test_every_stored_goal_has_its_limit_and_costlier_errors_a_stricter_one() -> None:
    chosen = choose(records(800))
    limits = chosen.limits_by_goal
    assert set(STORED_GOALS) <= set(limits) and chosen.limit == limits["penalty=10"]
    open_, strict = (np.inf if limits[k] is None else limits[k] for k in ("penalty=0", "penalty=n"))
    assert open_ > chosen.limit > strict
    assert chosen.for_goal("Penalty=5").limit == limits["penalty=5"]
    with pytest.raises(UsageError, match="penalty=7"):
        chosen.for_goal("penalty=7")


@pytest.mark.parametrize(
    "text", ["", "penalty", "penalty=-1", "precision=1.5", "recall=1", "x=nan"]
)
def test_goals_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        Goal.parse(text)


def test_goals_are_read_as_they_are_written() -> None:
    for text in STORED_GOALS:
        assert Goal.parse(text.upper()).key == text


def test_a_group_is_left_out_as_a_whole() -> None:
    """A score that tells the group's answers by heart is worth nothing on other groups."""
    known = []
    for i, record in enumerate(records()):
        group = i % 4
        record.scores["by_heart"] = float(not record.correct) if group else 0.0
        known.append(Known(record, str(group), "a" if group else "b"))
    alike = choose_known(known, signals=("by_heart", "max_entropy"))
    told = alike.source["held_out"]["sources"]
    assert set(told) == {"a", "b"} and told["b"]["questions"] == 100
    assert told["a"]["wrong"] < told["b"]["wrong"] + told["b"]["dropped_wrong"]


def test_few_wrong_answers_keep_the_weights_they_are_given() -> None:
    made = records(120)
    wrong = [r for r in made if not r.correct][:10]
    few = [*(r for r in made if r.correct), *wrong]
    base = Thresholds(weights={"max_entropy": 3.0}, intercept=-2.0, source={"of": "another set"})
    known = [Known(r, str(i)) for i, r in enumerate(few)]
    chosen = choose_known(known, base=base, source={"of": "mine"})
    assert (chosen.weights, chosen.intercept) == ({"max_entropy": 3.0}, -2.0)
    assert chosen.source["of"] == "mine" and "kept" in chosen.source["method"]
    assert chosen.limit is not None and chosen.calibration
    assert choose_known(known).weights != base.weights
