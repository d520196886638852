"""Splits, answers kept even, templates in turn."""

from __future__ import annotations

from collections import Counter

import pytest

from ehrqa_cli.sets.making.shares import Answers, Turns, splits_of


@pytest.mark.parametrize("count", [3, 4, 10, 94, 1000])
def test_every_split_has_patients_and_the_parts_are_as_said(count: int) -> None:
    found = Counter(splits_of(range(count), seed=1).values())
    assert set(found) == {"train", "valid", "test"}
    assert abs(found["train"] / count - 0.7) <= (1.2 if count < 10 else 0.6) / count


def test_splits_depend_on_the_seed_alone() -> None:
    assert splits_of([5, 9, 7, 1], 1) == splits_of([1, 5, 7, 9], 1)
    assert splits_of(range(50), 1) != splits_of(range(50), 2)


def test_yes_and_no_are_taken_in_turn() -> None:
    answers = Answers()
    answers.add("t", "yes")
    assert not answers.fits("t", "yes") and answers.fits("t", "no") and answers.wants_no("t")
    assert answers.fits("other", "yes")


def test_nothing_at_all_is_an_answer_one_time_in_ten_at_most() -> None:
    answers = Answers()
    for value in range(1, 10):
        answers.add("t", str(value))
    assert not answers.fits("t", "0")
    answers.add("t", "11")
    assert answers.fits("t", "0")


def take(turns: Turns, attempts: int, broken: str | None = None) -> list[str]:
    found = []
    for _ in range(attempts):
        name = turns.next()
        if name is None:
            break
        turns.took(name, name != broken)
        found.append(name)
    return found


def test_each_template_comes_once_before_any_comes_again() -> None:
    found = take(Turns(("a", "b", "c"), seed=1), 9)
    assert [set(found[i : i + 3]) for i in (0, 3, 6)] == [{"a", "b", "c"}] * 3


def test_a_template_with_nothing_left_is_given_up() -> None:
    turns = Turns(("a", "b"), seed=1)
    found = Counter(take(turns, 40, broken="b"))
    assert found["b"] == 3 and list(turns.spent) == ["b"]
    assert take(Turns(("b",), seed=1), 40, broken="b") == ["b"] * 3


def test_questions_without_an_answer_are_spread_evenly() -> None:
    found = take(Turns(("a", "b", "c"), seed=1, share=0.1), 100)
    assert [found[i : i + 10].count("") for i in range(0, 100, 10)] == [1] * 10
