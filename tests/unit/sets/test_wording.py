"""The small language of wordings, and what becomes of the words as people type them."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from ehrqa_cli.sets.pairs.surface import Words, render, without_patient
from ehrqa_cli.sets.pairs.times import TimeSampler
from ehrqa_cli.sets.pairs.wording import Phrases, expand, parse_wording


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


LAST_LAB: Words = [
    ("what was the ", False), ("last", True), (" ", False), ("heme (.45 %), the", True),
    (" of patient ", False), ("10012345", True), (" in the hospital with diagnoses and ", False),
    ("since 2100", True),
]  # fmt: skip


def test_values_are_typed_as_they_are() -> None:
    rng = random.Random(4)
    for _ in range(600):
        text = render(LAST_LAB, rng, noise=3.0).lower()
        for value, fixed in LAST_LAB:
            if fixed and value.strip():
                assert value in text, text


def test_a_patient_may_be_named_first_and_then_be_a_pronoun() -> None:
    rng = random.Random(2)
    texts = [render(LAST_LAB, rng, noise=2.0) for _ in range(800)]
    assert all(text.count("10012345") == 1 for text in texts)
    moved = [text for text in texts if text.index("10012345") < text.lower().index("heme")]
    assert 40 < len(moved) < 400
    pronoun = re.compile(r"\b(him|her|them|the patient|this|the pt|the subject)\b", re.IGNORECASE)
    assert sum(bool(pronoun.search(text)) for text in moved) > 0.8 * len(moved)


def test_questions_are_typed_in_many_ways() -> None:
    rng = random.Random(3)
    assert len({render(LAST_LAB, rng) for _ in range(400)}) > 120


def test_a_question_can_lose_its_patient() -> None:
    rng = random.Random(5)
    words = without_patient(LAST_LAB, rng)
    assert words is not None
    text = "".join(piece for piece, _ in words)
    assert "10012345" not in text and "since 2100" in text
    assert without_patient([("how many patients are there", False)], rng) is None
    two: Words = [("who of ", False), ("10012345", True), (" and ", False), ("10054321", True)]
    assert without_patient(two, rng) is None


def test_dates_are_said_so_that_they_are_found() -> None:
    """What is said of a date holds the date itself, as the linker reads it."""
    from ehrqa_cli.text2sql.linking.dates import find_dates

    sampler = TimeSampler((2099, 2100), random.Random(6))
    kinds = ("in_year", "since_year", "in_month", "since_month", "in_day", "since_day", "before",
             "since_md", "before_md", "at_month", "at_md", "at_day", "stamp")  # fmt: skip
    for kind in kinds:
        for _ in range(150):
            spoken = sampler.draw(kind)
            found = [str(link.value) for link in find_dates(spoken.text.lower(), (2098, 2101))]
            assert found == [spoken.form.split(maxsplit=1)[1].split("at ")[-1].strip('"')], spoken


def test_the_length_of_time_is_said_in_many_ways() -> None:
    sampler = TimeSampler((2100,), random.Random(7))
    said = {re.sub(r"\d+", "N", sampler.draw("since_ago").text) for _ in range(2000)}
    assert len(said) > 100
