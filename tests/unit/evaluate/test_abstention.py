"""N-grams, splits and thresholds of the abstention study, on sets small enough to count."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.evaluate.abstention import signals, split
from ehrqa_cli.evaluate.abstention.ngrams import NO_FILTER, Patterns, filtered, ngrams, words
from ehrqa_cli.evaluate.abstention.signals import Method, Signal, measure, parts
from ehrqa_cli.evaluate.load import Dataset, Item, load_ehrsql
from ehrqa_cli.evaluate.records import Record

INF = math.inf


def test_ngrams_are_lower_cased_words_without_punctuation() -> None:
    assert words("What's the Patient's  e-mail, in 2100?") == [
        "what's", "the", "patient's", "e", "mail", "in", "2100",
    ]  # fmt: skip
    assert ngrams("a b a b", 2) == {"a b", "b a"}
    assert ngrams("a", 2) == frozenset()


def test_ratios_are_those_of_table_1() -> None:
    """39 to 1 is 39; where no answerable question has it, the number of unanswerable ones."""
    questions = [("which department", False)] * 39 + [("department", True)]
    questions += [("appointment today", False)] * 25 + [("today today", True)] * 50
    found = Patterns(questions)
    by_text = {p.text: p for p in found.predominant(1)}
    assert by_text["department"].ratio == 39 and by_text["appointment"].ratio == 25
    assert by_text["today"].answerable == 50, "questions are counted, not occurrences"
    assert by_text["today"].ratio == pytest.approx(0.5)
    assert [p.text for p in found.predominant(1, 25)] == ["department", "which"]
    assert found.strongest("The department today") == (39, 0, 0)
    assert found.strongest("appointment today") == (25, 25, 0)


def test_the_filter_takes_at_least_the_ratio() -> None:
    strongest = [(8.0, 0.0, 0.0), (7.9, 9.9, 3.9), (0.0, 0.0, 4.0)]
    assert filtered(strongest, (8.0, 10.0, 4.0)).tolist() == [True, False, True]
    assert not filtered(strongest, NO_FILTER).any()
    assert filtered([], NO_FILTER).shape == (0,)


def items() -> list[Item]:
    """30 unanswerable questions about a phone number, 10 about weather, 8 odd ones; 100 others."""
    texts = [f"phone number of ward {i}" for i in range(30)]
    texts += [f"weather in town {i} on the phone" for i in range(10)]
    none = [Item(f"n{i}", text, None) for i, text in enumerate([*texts, *"abcdefgh"])]
    return none + [Item(f"a{i}", f"last lab of ward {i}", f"SELECT {i}") for i in range(100)]


def test_the_debiased_split_confines_patterns_to_the_test_set() -> None:
    settings = split.SplitSettings(unigram=20, bigram=16, kept=5)
    made = split.debiased(items(), settings, seed=3)
    # "number" 30, "phone" 40; "phone number" 30, "number of" 30; "of ward" 30/100 is none.
    assert [p.text for p in made.patterns] == ["phone", "number", "number of", "phone number"]
    kept = {
        p.text: sum(p.text in ngrams(i.question, p.size) for i in made.valid) for p in made.patterns
    }
    assert all(n >= 5 for n in kept.values()) and kept["number"] == 5
    counts = made.counts()
    assert counts["valid"] == {"answerable": 50, "unanswerable": 8 + kept["phone"]}
    assert counts["test"] == {"answerable": 50, "unanswerable": 40 - kept["phone"]}
    ids = [i.id for i in (*made.valid, *made.test)]
    assert sorted(ids) == sorted(i.id for i in items())
    assert {i.id for i in made.valid} >= {f"n{i}" for i in range(40, 48)}, "the rest stays"
    assert made == split.debiased(items(), settings, seed=3)
    assert made != split.debiased(items(), settings, seed=4)


def test_thresholds_of_the_split_are_exceeded_not_met() -> None:
    assert not split.debiased(items(), split.SplitSettings(40, 30, 5)).patterns
    assert len(split.debiased(items(), split.SplitSettings(39, 30, 5)).patterns) == 1


def test_more_kept_than_there_are_keeps_all() -> None:
    made = split.debiased(items(), split.SplitSettings(20, 16, 100))
    assert made.counts()["test"]["unanswerable"] == 0


def test_the_random_split_halves_both_kinds() -> None:
    made = split.at_random(items(), seed=1)
    half = {"answerable": 50, "unanswerable": 24}
    assert made.counts() == {"valid": half, "test": half} and made.name == "random"


def test_a_written_split_is_read_back(tmp_path: Path) -> None:
    source = Dataset("ehrsql-2024", "valid", "v1", "f" * 64, tuple(items()))
    made = split.debiased(source.items, seed=2)
    card = split.write_split(made, source, tmp_path / "out")
    for part, expected in (("valid", made.valid), ("test", made.test)):
        found = load_ehrsql(tmp_path / "out", part)
        assert found.items == expected
        assert found.sha256 == card["sha256"][part]
        assert found.version.startswith("v1-debiased-20-16-5-seed2-")
    written = json.loads((tmp_path / "out" / "card.json").read_text())
    assert written["seed"] == 2 and written["settings"]["kept"] == 5
    assert written["counts"] == made.counts() and written["source"]["sha256"] == "f" * 64
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(EvaluationError, match="cannot write"):
        split.write_split(made, source, blocked)


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
