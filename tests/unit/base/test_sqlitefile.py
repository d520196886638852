"""SQLite files are made and brought up to date by steps, all of them or none."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehrqa_cli.sqlitefile import make_private, upgrade, version_of


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(tmp_path / "a.db")
    yield opened
    opened.close()


def add(name):
    return lambda db: db.table(name).create({"id": int}, pk="id")


def tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}


def test_only_the_steps_that_a_file_lacks_are_taken(connection: sqlite3.Connection) -> None:
    assert upgrade(connection, [add("one")]) == 1
    assert upgrade(connection, [add("one"), add("two")]) == 2 == version_of(connection)
    assert tables(connection) == {"one", "two"}
    assert upgrade(connection, [add("one")]) == 2  # of a later version: left alone


def test_a_step_that_fails_leaves_the_file_as_it_was(connection: sqlite3.Connection) -> None:
    upgrade(connection, [add("one")])
    with pytest.raises(sqlite3.OperationalError):
        upgrade(connection, [add("one"), add("two"), add("one")])
    assert version_of(connection) == 1
    assert tables(connection) == {"one"}


def test_a_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    for name in ("new", "old"):
        path = tmp_path / name
        if name == "old":
            path.write_text("kept")
            path.chmod(0o644)
        make_private(path)
        assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "kept"
