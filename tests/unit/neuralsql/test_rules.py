"""Each rule against its file of pairs, and all of them on EHRSQL's gold queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ehrqa_cli import neuralsql
from ehrqa_cli.neuralsql.rules import vqa

FIXTURES = Path(__file__).parents[2] / "fixtures" / "neuralsql"
AS_OF = "2100-12-31 23:59:00"
RULES: dict[str, Callable[[str], str]] = {
    "bind_time": lambda sql: neuralsql.bind_time(sql, AS_OF),
    "bind_vital_bounds": lambda sql: neuralsql.bind_vital_bounds(sql, neuralsql.Context(AS_OF)),
    "quote_questions": vqa.quote_questions,
    "plain_answers": vqa.plain_answers,
}


def pairs() -> Iterator[tuple[str, str, str]]:
    for name in RULES:
        for block in (FIXTURES / f"{name}.sql").read_text().strip().split("\n\n"):
            _title, given, expected = block.splitlines()
            yield name, given.removesuffix(";"), expected.removesuffix(";")


@pytest.mark.parametrize(("rule", "given", "expected"), list(pairs()))
def test_rule(rule: str, given: str, expected: str) -> None:
    assert RULES[rule](given) == expected
    assert RULES[rule](expected) == expected, "a rule finds nothing more in its own output"


def test_as_of_is_quoted() -> None:
    assert neuralsql.bind_time("SELECT current_time", "2100'") == "SELECT '2100'''"


@pytest.mark.parametrize("split", ["train", "valid"])
def test_gold_queries_stay_byte_identical_but_for_their_names(
    shared_data: Path, split: str
) -> None:
    labels = json.loads((shared_data / "ehrsql-2024" / split / "label.json").read_text())
    gold = sorted({sql for sql in labels.values() if sql != "null"})[::10]
    bounds = {"heart_rate": (60, 100), "diastolic_bp": (60, 90), "sao2": (95, 100),
              "respiration": (12, 18), "temperature": (35.5, 38.1)}  # fmt: skip
    for sql in gold:
        expected = sql.replace("current_time", f"'{AS_OF}'")
        for name, (low, high) in bounds.items():
            expected = expected.replace(f"{name}_lower", f"{low:.1f}")
            expected = expected.replace(f"{name}_upper", f"{high:.1f}")
        assert neuralsql.bind(sql, neuralsql.Context(AS_OF)) == expected
