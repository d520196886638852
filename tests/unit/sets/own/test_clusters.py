"""Wordings grouped by edit distance."""

from __future__ import annotations

import random

from ehrqa_cli.sets.own.clusters import divided, groups

KINDS = {
    "is there": ["is there a finding", "is there any finding", "is there a finding here"],
    "please": ["please list what you see", "please list all that you see", "please list it all"],
    "AP": ["AP or PA", "AP or PA view", "PA or AP view"],
    "does": ["does the radiograph show anything wrong", "does the radiograph show something wrong"],
}
TEXTS = [text for texts in KINDS.values() for text in texts]


def test_what_is_alike_is_together() -> None:
    found = {frozenset(TEXTS[at] for at in group) for group in groups(TEXTS)}
    assert found == {frozenset(texts) for texts in KINDS.values()}


def test_a_whole_group_is_kept_back() -> None:
    for seed in range(6):
        train, back = divided(TEXTS, random.Random(seed))
        assert sorted(train + back) == list(range(len(TEXTS)))
        assert {TEXTS[at] for at in back} in [set(texts) for texts in KINDS.values()]
        assert divided(TEXTS, random.Random(seed)) == (train, back)


def test_few_texts() -> None:
    assert divided(["one"], random.Random(1)) == ([0], [0])
    train, back = divided(["one", "another"], random.Random(1))
    assert sorted(train + back) == [0, 1] and len(train) == len(back) == 1
    assert groups(["same", "same", "other"]) == [[0, 1], [2]]
