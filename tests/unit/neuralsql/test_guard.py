"""The guard refuses everything but one SELECT of data, and no gold query."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.neuralsql.guard import MAX_LENGTH

FIXTURES = Path(__file__).parents[2] / "fixtures" / "neuralsql"
REFUSED = [
    line
    for line in (FIXTURES / "refused.sql").read_text().splitlines()
    if line and not line.startswith("--")
]


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(sql: str) -> None:
    with pytest.raises(Refused) as caught:
        neuralsql.check(sql)
    assert caught.value.hint
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "   ",
        "SELECT 1 -- " + "x" * MAX_LENGTH,
        "SELECT 1\x00",
        "SELECT " + "(" * 8000 + "1" + ")" * 8000,
    ],
    ids=["empty", "blank", "long", "nul", "brackets"],
)
def test_refused_for_its_form(sql: str) -> None:
    with pytest.raises(Refused):
        neuralsql.check(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "select 1;",
        "WITH a AS (SELECT 1 AS x) SELECT x FROM a",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5) SELECT x FROM c",
        "SELECT 1 UNION SELECT 2",
        "SELECT 'DROP TABLE patients; --' FROM patients",
        "SELECT replace(gender, 'f', 'x') FROM patients",
        "SELECT DENSE_RANK() OVER (ORDER BY COUNT(*) DESC) FROM labevents GROUP BY itemid",
    ],
)
def test_allowed(sql: str) -> None:
    neuralsql.check(sql)


@pytest.mark.parametrize("split", ["train", "valid"])
def test_no_gold_query_is_refused(shared_data: Path, split: str) -> None:
    labels = json.loads((shared_data / "ehrsql-2024" / split / "label.json").read_text())
    gold = sorted({sql for sql in labels.values() if sql != "null"})[::5]
    assert len(gold) > 100
    for sql in gold:
        neuralsql.check(sql)
