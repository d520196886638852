"""What composes gives the right rows: each form of compose.jsonl against SQL that was written for
it by hand, on a small record. The backends' tests run the same forms."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.logical_form import Layout, compile_sql, parse
from ehrqa_cli.neuralsql import Context, bind

FORMS = Path(__file__).parents[2] / "fixtures" / "forms"
CASES = [json.loads(line) for line in (FORMS / "compose.jsonl").read_text().splitlines()]
NOW = Context("2100-12-31 23:59:00")


def cells(rows: list[Any]) -> list[tuple[Any, ...]]:
    """Rows without order, real numbers to six digits."""
    plain = [tuple(round(x, 6) if isinstance(x, float) else x for x in row) for row in rows]
    return sorted(plain, key=repr)


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript((FORMS / "compose.sql").read_text())
        yield db


@pytest.mark.parametrize("case", CASES, ids=[case["form"] for case in CASES])
def test_a_form_gives_its_rows(database: sqlite3.Connection, case: dict[str, str]) -> None:
    layout = Layout({"admissions": frozenset({"row_id", "race"})})
    sql = bind(compile_sql(parse(case["form"]), layout), NOW)
    found = database.execute(sql).fetchall()
    assert cells(found) == cells(database.execute(case["sql"]).fetchall())
