"""Comparing answers with gold however it was written down, and swapping ids."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.asked import GoldQuestion, read_gold, swap_ids
from ehrqa_cli.evaluate.rows import plain_rows


@pytest.mark.parametrize(
    ("given", "gold"),
    [
        (((1, "Sodium"), (2.00004, None)), ((2, None), (1, "sodium"))),
        (((1,),), (("yes",),)),
        (((0,),), (("No",),)),
        (((141.5,),), (("141.50",),)),
        (((-0.0,),), ((0,),)),
        (((" a  b",),), (("A b",),)),
    ],
)
def test_the_same_answers(given: tuple, gold: tuple) -> None:  # type: ignore[type-arg]
    assert plain_rows(given) == plain_rows(gold)


@pytest.mark.parametrize(
    ("given", "gold"),
    [(((1, 2),), ((2, 1),)), (((1,),), ((1,), (2,))), (((None,),), ((0,),)), ((("1a",),), ((1,),))],
)
def test_other_answers(given: tuple, gold: tuple) -> None:  # type: ignore[type-arg]
    assert plain_rows(given) != plain_rows(gold)


def test_files_are_read_as_those_of_eval_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "question,gold_sql,answer,answerable,patient_id,group,tier\n"
        "a?,SELECT 1,,,7,g,1\n"
        'b?,,"[1, 2]",true,,,1\n'
        "c?,,,no,,,2\n"
    )
    assert read_gold(path) == [
        GoldQuestion("a?", {"sql": "SELECT 1"}, 7, "g"),
        GoldQuestion("b?", {"rows": [[1], [2]]}, group="b?"),
        GoldQuestion("c?", group="c?"),
    ]
    path.write_text("question,answer\na?,\n")
    with pytest.raises(EvaluationError, match=r"question 1 of .* has no gold"):
        read_gold(path)


def test_ids_are_swapped_for_real_ones_and_nothing_else() -> None:
    ids, rng = (10018081, 10039831), random.Random(1)
    found = swap_ids("has patient 28447 or 5828's sister got 20 mg since 2100 at 10:30?", ids, rng)
    words = found.replace("'s", "").split()
    assert {words[2], words[4]} <= {str(i) for i in ids}
    assert "20 mg since 2100 at 10:30?" in found
    assert swap_ids("no id on 2100-03-04, 1.5000 ml", ids, rng) == "no id on 2100-03-04, 1.5000 ml"
