"""Intervals, Brier score, reliability bins and curves, against values computed by hand."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.evaluate import plots
from ehrqa_cli.evaluate.calibration import (
    auroc,
    bootstrap,
    brier,
    reliability,
    risk_coverage,
    wilson,
)
from ehrqa_cli.evaluate.metrics import Outcome, intervals, score
from ehrqa_cli.evaluate.records import Record


def test_the_bootstrap_has_the_width_of_theory() -> None:
    values = np.array([[1.0]] * 900 + [[0.0]] * 100)
    low, high = bootstrap(values, lambda sums: sums[:, 0] / 1000)
    half = 1.96 * (0.9 * 0.1 / 1000) ** 0.5
    assert (low, high) == pytest.approx((0.9 - half, 0.9 + half), abs=0.003)
    assert (low, high) == bootstrap(values, lambda sums: sums[:, 0] / 1000)
    with pytest.raises(ValueError):
        bootstrap(np.zeros((0, 1)), lambda sums: sums[:, 0])


def test_intervals_hold_every_score() -> None:
    outcomes = [Outcome(True, True, True)] * 150 + [Outcome(True, True)] * 5
    outcomes += [Outcome(True, False)] * 20 + [Outcome(False, False)] * 50 + [Outcome(False, True)]
    made, found = score(outcomes), intervals(outcomes)
    assert list(found) == ["RS(0)", "RS(5)", "RS(10)", "RS(N)", "F1_exe"]
    told = {f"RS({c})": value for c, value in made.rs.items()}
    told |= {"RS(N)": made.rs_n, "F1_exe": made.f1_exe or 0.0}
    for name, (low, high) in found.items():
        assert low < told[name] < high, name
    # A wrong answer costs 11 times as much, so the interval is wider.
    assert np.diff(found["RS(10)"]) > 2 * np.diff(found["RS(0)"])
    assert intervals([]) == {}
    declined = intervals([Outcome(False, False)] * 3)
    assert declined["F1_exe"] == (0.0, 0.0) and declined["RS(0)"] == (100.0, 100.0)


def test_brier_by_hand() -> None:
    assert brier([0.9, 0.2], [True, False]) == pytest.approx((0.01 + 0.04) / 2)
    assert brier([], []) is None


def test_an_interval_of_a_share_has_a_width_at_its_ends() -> None:
    for n in range(1, 2000, 7):
        assert wilson(0.0, n)[0] == 0.0 < wilson(0.0, n)[1]
        assert wilson(1.0, n)[0] < wilson(1.0, n)[1] == 1.0
    assert wilson(0.0, 1163)[1] == pytest.approx(3.84 / 1163, rel=0.01)
    assert wilson(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-3)


def test_bins_hold_equally_many_and_keep_equal_ones_together() -> None:
    told = [0.1] * 10 + [0.9] * 30
    right = [False] * 9 + [True] + [True] * 27 + [False] * 3
    found = reliability(told, right, 4)
    assert [(b.n, round(b.told, 3), round(b.true, 3)) for b in found] == [
        (10, 0.1, 0.1),
        (30, 0.9, 0.9),
    ]
    assert all(b.low < b.true < b.high for b in found)
    assert sum(b.n for b in reliability(np.linspace(0, 1, 103), [True] * 103)) == 103
    assert len(reliability(np.linspace(0, 1, 103), [True] * 103)) == 10
    assert reliability([], []) == []


def test_risk_and_coverage_by_hand() -> None:
    curve = risk_coverage([0.3, 0.1, 0.2, 0.2], [False, True, True, False], 8)
    assert curve.coverage == (12.5, 37.5, 50.0)
    assert curve.risk == pytest.approx((0.0, 100 / 3, 50.0))
    assert risk_coverage([], [], 8).coverage == ()


def test_auroc_by_hand() -> None:
    assert auroc([2, 3], [0, 1]) == 1.0 and auroc([0], [0]) == 0.5
    assert auroc([1, 0], [0, 1]) == 0.5 and auroc([0, 2], [1]) == 0.5
    assert auroc([float("inf")], [3.0]) == 1.0 and auroc([], [1]) is None


def size(path: Path) -> tuple[int, int]:
    raw = path.read_bytes()
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", raw[16:24])
    return width, height


def records() -> list[Record]:
    made = [
        Record(str(i), "q", "g", "p", "answered", i % 9 > 0, confidence=0.5 + i / 80,
               scores={"max_entropy": (40 - i) / 10, "mean_logprob": -1.0 / (i + 1)})
        for i in range(40)
    ]  # fmt: skip
    withheld = Record("w", "q", "g", None, "abstained", False, scores={"max_entropy": 5.0})
    declined = Record("n", "q", None, None, "abstained", False)
    return [*made, replace(withheld, withheld_right=True), declined]


def test_plots_of_a_run_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn = plots.draw_run(records(), tmp_path / "new", "data v1")
    assert [p.name for p in drawn] == ["risk_coverage.png", "calibration.png"]
    assert all(min(size(path)) > 300 for path in drawn)
    before = [path.read_bytes() for path in drawn]
    plots.draw_run(records(), tmp_path / "new", "data v1")
    assert [path.read_bytes() for path in drawn] == before, "the same figures, the same bytes"
    (tmp_path / "file").write_text("")
    with pytest.raises(EvaluationError, match="cannot write"):
        plots.draw_run(records(), tmp_path / "file", "data v1")


def test_withheld_answers_are_in_the_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(plots, "draw_risk_coverage", lambda panels, *_: seen.update(panels))
    monkeypatch.setattr(plots, "draw_calibration", lambda panels, *_: seen.update(panels))
    weights = Thresholds(weights={"max_entropy": 1.0}, calibration=((0.0, 0.9), (9.0, 0.1)))
    plots.draw_run(records(), tmp_path, "t", weights)
    (curves,) = (v for k, v in seen.items() if k.startswith("n = 42: 40 answered, 1 withheld"))
    for name in ("maximum entropy", "risk (all signals)"):
        assert curves[name].coverage[-1] == pytest.approx(100 * 41 / 42)
        assert curves[name].risk[-1] == pytest.approx(100 * 5 / 41)
    assert curves["as answered"].risk == (100 * 5 / 40,)
    told, right = seen["answers given and withheld"]
    assert len(told) == 41 and right[-1] and told[-1] == pytest.approx(0.9 - 0.8 * 5 / 9, abs=1e-3)


def test_a_run_without_a_wrong_answer_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    right = [replace(r, correct=True) for r in records() if r.gold]
    assert len(plots.draw_run(right, tmp_path, "t")) == 2


def test_records_without_scores_have_no_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plain = [Record("a", "q", "g", "p", "answered", True)]
    assert plots.draw_run(plain, tmp_path, "t") == [] and plots.draw_run([], tmp_path, "t") == []
