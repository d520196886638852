"""N-grams and the splits against them, on sets small enough to count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.bias import split
from ehrqa_cli.evaluate.bias.ngrams import Patterns, ngrams, words
from ehrqa_cli.evaluate.ehrsql.load import Dataset, Item, load_ehrsql


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
