"""Whole days between two times are compared in milliseconds: that is what SQLite's text gives."""

from __future__ import annotations

import random
import sqlite3
from datetime import datetime, timedelta

from ehrqa_duckdb.dialect import DuckDb

from ehrqa_cli.dialects import translate

TYPES = {"t": {"a": "timestamp", "b": "timestamp", "c": "text"}}
DAY = 86_400_000


def written(condition: str) -> str:
    made = translate(f"SELECT a FROM t WHERE {condition}", DuckDb, TYPES)
    return made.removeprefix("SELECT a FROM t WHERE ").removesuffix(" ORDER BY ALL")


def test_what_is_written() -> None:
    days = "strftime('%J', a) - strftime('%J', b)"
    apart = "(EPOCH_MS(a) - EPOCH_MS(b))"
    assert written(f"{days} >= 30") == f"({apart} >= 30 * CAST(86400000 AS BIGINT))"
    assert written(f"30 < ({days})") == f"({apart} > 30 * CAST(86400000 AS BIGINT))"
    now = "strftime('%J', '2100-12-31 23:59:00') - strftime('%J', b) < 1"
    assert written(now).startswith("((4133980740000 - EPOCH_MS(b)) < 1 * ")
    # Parts of a day, times below a second and what is no difference stay with the numbers.
    assert "EPOCH_MS(a) +" in written(f"{days} >= 30.5")
    assert "PRINTF" in written("strftime('%J', '2100-01-01 00:00:00.5') - strftime('%J', b) < 1")
    assert "PRINTF" in written("strftime('%J', a) >= 30")


def test_sqlite_agrees_to_the_second() -> None:
    """Random times of four centuries, whole days apart, and a second more or less."""
    rng = random.Random(5)
    connection = sqlite3.connect(":memory:")
    sql = "SELECT strftime('%J', ?) - strftime('%J', ?) {} ?"
    signs = {
        ">=": lambda x, y: x >= y,
        "<": lambda x, y: x < y,
        "=": lambda x, y: x == y,
        "<=": lambda x, y: x <= y,
    }
    agreed = 0
    for _ in range(3000):
        b = datetime(1900, 1, 1) + timedelta(seconds=rng.randrange(400 * 365 * 86_400))
        days = rng.randrange(-800, 800)
        a = b + timedelta(days=days, seconds=rng.choice((0, 0, 1, -1)))
        apart = round((a - b).total_seconds() * 1000)
        for sign, holds in signs.items():
            found = connection.execute(sql.format(sign), (str(a), str(b), days)).fetchone()[0]
            assert bool(found) == holds(apart, days * DAY), (a, b, days, sign)
            agreed += found
    assert agreed > 3000
    connection.close()
