"""Rows of two queries compared."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from ehrqa_papers.spider.execution import (
    Databases,
    is_ordered,
    same_rows,
    same_rows_when_run,
)
from ehrqa_papers.spider.reading import read_sql
from ehrqa_papers.spider.schemas import SpiderSchema

from ehrqa_cli.contracts.errors import EvaluationError

ROWS = [("ann", 30), ("bob", 40), ("bob", 40)]
BACK = ROWS[::-1]


@pytest.mark.parametrize(
    ("given", "wanted", "ordered", "same"),
    [
        (ROWS, ROWS, True, True),
        (BACK, ROWS, False, True),
        (BACK, ROWS, True, False),
        ([row[::-1] for row in ROWS], ROWS, True, True),
        ([row[::-1] for row in BACK], ROWS, False, True),
        (ROWS[:2], ROWS, False, False),  # a multiset, not a set
        ([("ann", 40), ("bob", 30), ("bob", 40)], ROWS, False, False),  # columns agree, rows do not
        ([(1,), (2,)], [(1, 1), (2, 2)], False, False),
        ([], [], True, True),
        ([(None,)], [(0,)], False, False),
        ([(1.0,)], [(1,)], False, True),
        # three columns of the same values: only one arrangement fits
        ([(1, 2, 3), (2, 3, 1)], [(2, 3, 1), (3, 1, 2)], True, True),
        ([(1, 2, 3), (2, 3, 1)], [(3, 2, 1), (1, 2, 3)], True, False),
    ],
)
def test_same_rows(
    given: list[tuple[object, ...]], wanted: list[tuple[object, ...]], ordered: bool, same: bool
) -> None:
    assert same_rows(given, wanted, ordered) is same  # type: ignore[arg-type]


def test_only_an_order_of_the_whole_counts(schema: SpiderSchema) -> None:
    def ordered(sql: str) -> bool:
        return is_ordered(read_sql(sql, schema))

    assert ordered("SELECT name FROM singer ORDER BY age")
    assert ordered("SELECT name FROM singer UNION SELECT city FROM venue ORDER BY city")
    assert not ordered("SELECT name FROM singer")
    assert not ordered(
        "SELECT name FROM singer WHERE age IN (SELECT age FROM singer ORDER BY age LIMIT 1)"
    )


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[Databases]:
    folder = tmp_path / "database"
    (folder / "shows").mkdir(parents=True)
    with sqlite3.connect(folder / "shows" / "shows.sqlite") as connection:
        connection.execute("CREATE TABLE singer (singer_id INTEGER, name TEXT, age INTEGER)")
        connection.executemany(
            "INSERT INTO singer VALUES (?, ?, ?)", [(1, "Ann", 30), (2, "Bob", 40)]
        )
    connection.close()
    found = Databases(folder)
    yield found
    found.close()


GOLD = "SELECT name FROM singer WHERE age > 35"


@pytest.mark.parametrize(
    ("prediction", "same", "why"),
    [
        ('SELECT name FROM singer WHERE name = "Bob";', True, None),
        ("SELECT lower(name) FROM singer WHERE age > 35", False, None),
        ("SELECT city FROM singer", False, "no such column"),
        ("", False, "empty"),
        ("DROP TABLE singer", False, "not a SELECT"),
        ("SELECT name FROM singer WHERE age > 35; DROP TABLE singer", False, "one SELECT|several"),
        ("ATTACH 'x.sqlite' AS x", False, "not a SELECT"),
        ("SELECT a.name FROM singer a" + ", singer b" * 40, False, "longer than|took|rows|terms"),
    ],
)
def test_run_read_only_within_limits(
    prediction: str,
    same: bool,
    why: str | None,
    databases: Databases,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import re

    from ehrqa_papers.spider import execution

    from ehrqa_cli.contracts.types import Limits

    monkeypatch.setattr(execution, "LIMITS", Limits(seconds=1.0, rows=1000))
    found, said = same_rows_when_run(databases, "shows", GOLD, prediction, False)
    assert found is same
    assert (said is None) if why is None else re.search(why, said or "")
    assert len(databases.rows("shows", "SELECT name FROM singer")) == 2  # nothing was changed


def test_gold_that_does_not_run_is_an_error(databases: Databases) -> None:
    with pytest.raises(EvaluationError, match=r"does not run on .*shows\.sqlite"):
        same_rows_when_run(databases, "shows", "SELECT city FROM singer", GOLD, False)


def test_names_do_not_lead_out_of_the_folder(databases: Databases) -> None:
    assert databases.find("shows") is not None
    assert databases.find("../database/shows") is None
