"""A limit of steps ends a query at the same place in every run."""

from __future__ import annotations

import pytest

from ehrqa_cli.contracts.errors import LimitExceeded
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.demo import make as demo


def _count(n: int) -> str:
    return (
        f"WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < {n})"
        " SELECT count(*) FROM t"
    )


def test_steps_and_not_time_end_a_query(tmp_path):
    path = tmp_path / "demo.sqlite"
    demo.build_demo(path, patients=5)
    database = SqliteDatabase.open(path)
    limits = Limits(seconds=60.0, steps=200_000)
    for _ in range(2):
        assert database.execute(_count(1_000), limits).rows == ((1_000,),)
        with pytest.raises(LimitExceeded, match="200,000 steps"):
            database.execute(_count(1_000_000), limits)
    with pytest.raises(LimitExceeded, match=r"0\.05 s"):
        database.execute(_count(10**9), Limits(seconds=0.05))
    assert database.execute(_count(50_000)).rows == ((50_000,),), "no such limit unless asked for"
    database.close()
