"""EHRSQL's scores on outcomes small enough to compute by hand."""

from __future__ import annotations

import pytest

from ehrqa_cli.evaluate.metrics import Outcome, interval, score
from ehrqa_cli.evaluate.rows import comparable

RIGHT = Outcome(answerable=True, answered=True, correct=True)
WRONG = Outcome(answerable=True, answered=True)
DECLINED = Outcome(answerable=True, answered=False)
REFUSED = Outcome(answerable=False, answered=False)
MADE_UP = Outcome(answerable=False, answered=True)
FAULT = Outcome(answerable=False, answered=False, failed=True)


def test_scores_by_hand() -> None:
    found = score([RIGHT] * 6 + [WRONG] + [DECLINED] * 3 + [REFUSED] * 3 + [MADE_UP])
    assert found.rs == {0: pytest.approx(900 / 14), 5: pytest.approx(-100 / 14), 10: -1100 / 14}
    assert found.rs_n == pytest.approx(100 * (9 - 2 * 14) / 14)
    assert (found.answered, found.wrong_on_answerable, found.answered_unanswerable) == (8, 1, 1)
    assert found.p_exe == pytest.approx(75.0)
    assert found.r_exe == pytest.approx(60.0)
    assert found.f1_exe == pytest.approx(2 * 75 * 60 / 135)
    p_ans, r_ans = 100 * 7 / 8, 70.0
    assert found.f1_ans == pytest.approx(2 * p_ans * r_ans / (p_ans + r_ans))
    assert found.unanswerable_recall == pytest.approx(75.0)
    assert found.coverage == pytest.approx(70.0)


def test_declining_everything_scores_the_unanswerable() -> None:
    found = score([DECLINED] * 931 + [REFUSED] * 232)
    assert found.rs[10] == pytest.approx(100 * 232 / 1163)
    assert found.p_exe is None and found.f1_ans is None


def test_a_fault_is_neither_an_answer_nor_declining() -> None:
    found = score([FAULT, REFUSED])
    assert found.rs[0] == 50.0 and found.failed == 1
    assert found.unanswerable_recall == 50.0


def test_comparable_is_the_official_text() -> None:
    assert comparable([("b", 1.23456), ("a", 2)]) == "[['a', '2'], ['b', '1.235']]"
    assert comparable([(None,)]) == "[['None']]"
    assert comparable([]) == "[]"
    assert comparable([(i,) for i in range(200)]).count("[") == 101


def test_interval_holds_the_score_and_repeats() -> None:
    outcomes = [RIGHT] * 80 + [WRONG] * 20
    low, high = interval(outcomes, 0)
    assert low < 80 < high and (low, high) == interval(outcomes, 0)
