"""The pure parts of the engine: words left over, risk, text, time, evidence shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Result
from ehrqa_cli.engine import confidence, evidence, text
from ehrqa_cli.engine.risk import Thresholds, probability, risk
from ehrqa_cli.engine.times import check_time


def test_risk_ignores_what_is_missing_or_not_finite() -> None:
    measured = Thresholds(weights={"a": 2.0, "b": 1.0}, intercept=0.5)
    assert risk({"a": 1.0, "b": float("nan"), "c": 9.0}, measured) == 2.5


def test_single_limits() -> None:
    measured = Thresholds(limit=None, limits={"max_entropy": 0.5})
    reason = confidence.of_scores({"max_entropy": 0.6}, measured)
    assert reason and reason.kind == "low_confidence"
    assert confidence.of_scores({"max_entropy": 0.5}, measured) is None


@pytest.mark.parametrize(("risk", "p"), [(-9, 0.9), (0, 0.9), (1, 0.7), (2, 0.5), (99, 0.5)])
def test_probability_interpolates(risk: float, p: float) -> None:
    measured = Thresholds(weights={"r": 1.0}, calibration=((0.0, 0.9), (2.0, 0.5)))
    assert probability({"r": risk}, measured) == pytest.approx(p)


def test_thresholds_survive_their_file(tmp_path: Path) -> None:
    import json

    measured = Thresholds(weights={"a": 0.1}, limit=None, calibration=((0.0, 0.5),), ignore=("x",))
    path = tmp_path / "thresholds.json"
    path.write_text(json.dumps(measured.as_dict()))
    assert Thresholds.load(path) == measured


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"weights": {"a": "x"}}', "\x00"])
def test_broken_thresholds_are_said(tmp_path: Path, content: str) -> None:
    path = tmp_path / "thresholds.json"
    path.write_text(content)
    with pytest.raises(UsageError, match="thresholds"):
        Thresholds.load(path)


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("2100-12-31", "2100-12-31 23:59:00"),
        ("2100-12-31 08:30", "2100-12-31 08:30:00"),
        ("2100-12-31T08:30:15", "2100-12-31 08:30:15"),
    ],
)
def test_times(given: str, full: str) -> None:
    assert check_time(given) == full


@pytest.mark.parametrize("given", ["", "yesterday", "2100-13-01", "2100-12-31 25:00", "2100'--"])
def test_wrong_times(given: str) -> None:
    with pytest.raises(UsageError):
        check_time(given)


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        (((1,),), 1),
        (((1, "a"),), [1, "a"]),
        (((1,), (2,)), [1, 2]),
        (((1, "a"), (2, "b")), [[1, "a"], [2, "b"]]),
    ],
)
def test_value_shapes(rows: tuple[tuple[int | str, ...], ...], value: object) -> None:
    assert text.value_of(rows) == value


def test_sentences() -> None:
    assert text.sentence(Result(("x",), ((0.1234567,),)), "the last x.") == "The last x: 0.123."
    assert text.sentence(Result(("x",), ((1,),)), "whether y", yes_no=True) == "Whether y: yes."
    assert text.sentence(Result(("x",), ((None,), ("b",))), None) == "The answer: not recorded; b."
    many = text.sentence(Result(("x",), tuple((i,) for i in range(14))), "the x")
    assert many.endswith("9; and 4 more.")


@pytest.mark.parametrize(
    ("sizes", "share"),
    [
        ([], []),
        ([3], [3]),
        ([50], [20]),
        ([50, 2], [18, 2]),
        ([15, 15], [10, 10]),
        ([0, 5], [0, 5]),
    ],
)
def test_evidence_is_shared_fairly(sizes: list[int], share: list[int]) -> None:
    assert evidence._shares(sizes) == share
