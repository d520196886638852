"""The small language of wordings."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from ehrqa_cli.build.wording import Phrases, expand, parse_wording


def readings(wording: str, shared: dict[str, str] | None = None, n: int = 400) -> Counter[str]:
    """How often each reading of a wording is drawn."""
    rng = random.Random(1)
    find = Phrases(shared or {}).lookup({})
    node = parse_wording(wording)
    return Counter("".join(text for text, _ in expand(node, rng, find)) for _ in range(n))


def test_branches_nest_and_may_be_empty() -> None:
    assert set(readings("a(b|c(d|)|)")) == {"a", "ab", "acd", "ac"}


def test_weights_make_a_branch_likelier() -> None:
    found = readings("(often*9|seldom)", n=2000)
    assert 0.86 < found["often"] / 2000 < 0.94


def test_slots_are_told_from_words() -> None:
    node = parse_wording("the [ex:adv] of {patient_id}")
    pieces = expand(node, random.Random(0), Phrases({}).lookup({}))
    assert [text for text, is_slot in pieces if is_slot] == ["ex:adv", "patient_id"]


def test_a_templates_own_words_come_before_the_shared_phrases() -> None:
    phrases = Phrases({"thing": "shared", "other": "<thing>!"})
    find = phrases.lookup({"thing": "own"})
    node = parse_wording("<other>")
    assert expand(node, random.Random(0), find) == [("own", False), ("!", False)]


@pytest.mark.parametrize("broken", ["(a|b", "a)b", "(a|(b)"])
def test_unbalanced_brackets_are_refused(broken: str) -> None:
    with pytest.raises(ValueError, match="bracket"):
        parse_wording(broken)


def test_phrases_that_refer_to_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="circle"):
        readings("<a>", {"a": "<b>", "b": "<a>"}, n=1)
