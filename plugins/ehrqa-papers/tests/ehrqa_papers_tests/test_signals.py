"""Signals, and thresholds on them, on sets small enough to count."""

from __future__ import annotations

import math

import pytest
from ehrqa_papers.abstention import signals
from ehrqa_papers.abstention.signals import (
    NO_FILTER,
    Method,
    Signal,
    filtered,
    measure,
    parts,
)

from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.evaluate.records import Record

INF = math.inf


def test_the_filter_takes_at_least_the_ratio() -> None:
    strongest = [(8.0, 0.0, 0.0), (7.9, 9.9, 3.9), (0.0, 0.0, 4.0)]
    assert filtered(strongest, (8.0, 10.0, 4.0)).tolist() == [True, False, True]
    assert not filtered(strongest, NO_FILTER).any()
    assert filtered([], NO_FILTER).shape == (0,)


def record(
    key: str, *, right: bool, gold: bool = True, question: str = "q", status: str = "answered",
    **scores: float,
) -> Record:  # fmt: skip
    return Record(key, question, "SELECT 1" if gold else None, None, status, right, scores=scores)


def graded() -> list[Record]:
    """Entropy 0.0, 0.1, ... ; the 8th and every later answer is wrong, the 10th unanswerable."""
    out = [record(str(i), right=i < 7, max_entropy=i / 10) for i in range(9)]
    return [*out, record("9", right=False, gold=False, max_entropy=0.9)]


def test_the_threshold_has_the_best_recall_at_the_precision() -> None:
    valid, _ = parts(graded(), None)
    made = measure(Method("Entropy", signals.ENTROPY), valid, None, 99.0)
    assert made.choice.met and made.choice.limit == pytest.approx(0.65)
    assert made.test is None
    assert (made.valid.p_exe, made.valid.answered) == (100.0, 7)
    assert made.valid.r_exe == pytest.approx(100 * 7 / 9)
    looser = measure(Method("Entropy", signals.ENTROPY), valid, None, 70.0)
    assert looser.valid.answered == 7, "one more wrong answer adds no recall"


def test_it_goes_to_the_test_set_unchanged() -> None:
    test = [record("a", right=True, max_entropy=0.64), record("b", right=False, max_entropy=0.66)]
    valid, held = parts(graded(), test)
    made = measure(Method("Entropy", signals.ENTROPY), valid, held)
    assert made.test is not None and (made.test.answered, made.test.correct) == (1, 1)


def test_a_precision_out_of_reach_gives_the_highest() -> None:
    records = [record("0", right=False, max_entropy=0.0)]
    records += [record(str(i), right=True, max_entropy=float(i)) for i in range(1, 5)]
    valid, _ = parts(records, None)
    made = measure(Method("Entropy", signals.ENTROPY), valid, None)
    assert not made.choice.met and made.choice.limit == INF
    assert made.valid.p_exe == pytest.approx(80.0)


def test_equal_values_go_together() -> None:
    records = [record(str(i), right=i > 0, flag=0.0) for i in range(3)]
    records.append(record("3", right=True, flag=1.0))
    valid, _ = parts(records, None)
    made = measure(Method("flag", Signal.of_score("flag")), valid, None, 70.0)
    assert made.valid.answered == 4 and made.choice.limit == INF
    strict = measure(Method("flag", Signal.of_score("flag")), valid, None, 99.0)
    assert not strict.choice.met and strict.valid.answered == 4


def test_a_surer_score_counts_downwards() -> None:
    low, high = (
        record("a", right=True, mean_logprob=-0.1),
        record("b", right=True, mean_logprob=-2.0),
    )
    assert signals.BEAM.value(low) < signals.BEAM.value(high)
    assert signals.BEAM.value(record("c", right=True)) == INF
    agrees, differs = (record("d", right=True, agreement=x) for x in (1.0, 0.0))
    assert Signal.of_score("agreement").value(agrees) < Signal.of_score("agreement").value(differs)
    assert Signal.of_score("disagreement").value(agrees) == 0.0


def questions() -> list[Record]:
    """Wrong answers share a word that right ones lack; the signal says nothing."""
    right = [record(f"r{i}", right=True, question=f"lab {i}", noise=0.0) for i in range(20)]
    wrong = [
        record(f"w{i}", right=False, gold=False, question=f"phone {i}", noise=0.0) for i in range(6)
    ]
    return right + wrong


def test_the_filter_helps_where_patterns_give_it_away() -> None:
    valid, test = parts(questions(), [record("t", right=False, gold=False, question="my phone")])
    alone = measure(Method("noise", Signal.of_score("noise")), valid, test)
    joined = measure(
        Method("noise + ngram", Signal.of_score("noise"), (6.0, 6.0, 6.0)), valid, test
    )
    assert not alone.choice.met and joined.choice.met
    assert joined.valid.r_exe == 100.0 and joined.valid.p_exe == 100.0
    assert test is not None and joined.test is not None and joined.test.answered == 0


def test_the_filter_alone_chooses_its_ratios() -> None:
    valid, _ = parts(questions(), None)
    made = measure(Method("Ngram", None), valid, None)
    assert made.choice.met and made.valid.r_exe == 100.0
    fixed = measure(Method("ngram 7", None, (7.0, 7.0, 7.0), limit=INF), valid, None)
    assert fixed.valid.answered == 26 and not fixed.choice.met


def test_ngrams_of_the_test_set_are_never_learnt() -> None:
    unseen = [record(f"t{i}", right=False, gold=False, question="email") for i in range(9)]
    _, test = parts(questions(), unseen)
    assert test is not None and test.strongest == [(0.0, 0.0, 0.0)] * 9


def test_what_the_model_declined_is_never_answered() -> None:
    records = [*graded(), record("d", right=False, gold=False, status="abstained", max_entropy=0.0)]
    valid, _ = parts(records, None)
    assert measure(Method("Entropy", signals.ENTROPY), valid, None).valid.answered == 7


def test_own_signals_are_the_scores_that_differ() -> None:
    records = [
        record("a", right=True, same=1.0, differs=0.0),
        record("b", right=False, same=1.0, differs=1.0, ignored_empty_result=1.0),
    ]
    assert signals.recorded(records) == ["differs", "ignored_empty_result"]
    found = {s.name: s for s in signals.own_signals(records, ["differs"], Thresholds())}
    assert [found["checks"].value(r) for r in records] == [0.0, 1.0]
    assert signals.RISK_SHIPPED in found
    withheld = signals.as_shipped(Thresholds(limit=None))
    assert [withheld.value(r) for r in records] == [0.0, 1.0]


def test_the_risk_is_fitted_on_the_validation_part() -> None:
    assert signals.fitted_risk([record("a", right=True, max_entropy=1.0)]) is None
    records = [
        record(f"{i}", right=i % 4 > 0, max_entropy=(i % 4 == 0) * 2 + i / 400) for i in range(200)
    ]
    fitted = signals.fitted_risk(records)
    assert fitted is not None
    right, wrong = (Signal.of_risk("risk", fitted).value(records[i]) for i in (1, 0))
    assert right < wrong
