"""The copy that questions are run on."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.sets.own import working as module
from ehrqa_cli.sets.own.questions import Questions, Sources
from ehrqa_cli.sets.own.sheet import Labels
from ehrqa_cli.sets.own.working import Working, is_empty

NOW = "2100-12-31 23:59:00"


@pytest.fixture
def ties(tmp_path: Path) -> Path:
    """Two rows with the same time, in an order that an index on hadm_id turns round."""
    path = tmp_path / "ties.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE events (hadm_id INT, time TEXT, value TEXT)")
        connection.executemany(
            "INSERT INTO events VALUES (?, ?, ?)",
            [(2, "2100-01-01", "b"), (1, "2100-01-01", "a"), (1, "2100-01-02", "c")],
        )
    connection.close()
    return path


def test_an_answer_that_depends_on_the_order_of_equal_rows_is_not_confirmed(ties: Path) -> None:
    working = Working(ties, NOW)
    first = "SELECT value FROM events WHERE hadm_id > 0 ORDER BY time LIMIT 1"
    rows = working.rows(first)
    assert rows == (("a",),) and not working.confirm(first, rows)
    last = "SELECT value FROM events WHERE hadm_id > 0 ORDER BY time DESC LIMIT 1"
    rows = working.rows(last)
    assert rows == (("c",),) and working.confirm(last, rows)
    working.close()


def test_a_query_that_never_ends_or_is_wrong_has_no_rows(ties: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "_LOOKS", 3)
    working = Working(ties, NOW)
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
    )
    assert working.rows(endless) is None
    assert working.rows("SELECT nothing FROM events") is None
    assert working.rows("SELECT value FROM events", most=2) is None
    assert len(working.rows("SELECT value FROM events") or ()) == 3
    working.close()


def test_what_counts_as_empty() -> None:
    assert is_empty(()) and is_empty(((None,),)) and is_empty(((1, None),))
    assert not is_empty(((0,),))


def test_a_file_too_large_to_copy_gives_the_same_questions_and_is_not_written_to(
    pictured, monkeypatch
) -> None:
    before = hashlib.sha256(pictured.db.read_bytes()).hexdigest()
    monkeypatch.setattr(module, "COPIED", 0)
    working = Working(pictured.db, pictured.sources.working.as_of)
    labels = Labels(pictured.vqa, working)
    labels.into(working)
    sources = Sources(pictured.sources.vocabulary, working, labels)
    large, small = (Questions(s, 40, seed=6) for s in (sources, pictured.sources))
    assert [large.attempt(None) for _ in range(40)] == [small.attempt(None) for _ in range(40)]
    working.close()
    assert hashlib.sha256(pictured.db.read_bytes()).hexdigest() == before


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello, this is no database at all" * 50)
    with pytest.raises(DatabaseError, match="cannot read"):
        Working(tmp_path / "x", NOW)
