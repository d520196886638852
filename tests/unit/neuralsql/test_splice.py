"""What a query becomes when its calls are answered: pairs as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli.neuralsql import calls
from ehrqa_cli.neuralsql.splice import Answered, Splicer

FIXTURE = Path(__file__).parents[2] / "fixtures" / "neuralsql" / "splice.sql"


def pairs() -> Iterator[tuple[str, str, str]]:
    for block in FIXTURE.read_text().strip().split("\n\n"):
        title, given, expected = block.splitlines()
        yield title, given.removesuffix(";"), expected.removesuffix(";")


@pytest.mark.parametrize(("title", "given", "expected"), list(pairs()))
def test_splice(title: str, given: str, expected: str) -> None:
    parsed = calls.parse(given)
    answered = {
        call.k: Answered(True, yes=(7, 9))
        if call.question.startswith("Is ")
        else Answered(False, values={7: ("picc",)})
        for call in parsed.calls
    }
    assert Splicer(parsed, answered).whole() == expected, title


def test_a_study_without_an_image_is_neither_yes_nor_no() -> None:
    parsed = calls.parse("SELECT FUNC_VQA('Is there edema?', s) AS a FROM t")
    sql = Splicer(parsed, {1: Answered(True, yes=(7,), missing=(8,))}).whole()
    assert "CASE WHEN s IN ( 8 ) THEN NULL ELSE s IN ( SELECT study FROM vqa_1 ) END" in sql
