"""SQLite files that the program makes: private to their owner, made and changed by sqlite-utils.

Only this module imports sqlite-utils, and only when a file is made or brought up to date: the
import takes longer than most questions. What reads such a file, or adds a row to it, goes by plain
``sqlite3``.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database as Database

Step = Callable[["Database"], None]


def database(connection: sqlite3.Connection) -> Database:
    """The tables of an open file, to make and to change; no plugins of sqlite-utils take part."""
    from sqlite_utils import Database

    return Database(connection, recursive_triggers=False, execute_plugins=False)


def make_private(path: Path) -> None:
    """Make the file if there is none, and take everybody else's permissions from it.

    SQLite would give a new file the umask's wider permissions. Raises OSError.
    """
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if hasattr(os, "fchmod"):  # not on Windows
            os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


def version_of(connection: sqlite3.Connection) -> int:
    """The version that the file says it has; 0 for a new one. Raises sqlite3.Error."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def upgrade(connection: sqlite3.Connection, steps: Sequence[Step]) -> int:
    """Make the tables of a new file, or those that an older one lacks; the version it then has.

    Version n is what the first n steps make. They are taken together or not at all, by one
    process; a file of a later version is left as it is. Raises sqlite3.Error.
    """
    if version_of(connection) < len(steps):
        db = database(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = version_of(connection)  # another process may have been here
            for step in steps[version:]:
                step(db)
            connection.execute(f"PRAGMA user_version = {max(version, len(steps))}")
            connection.execute("COMMIT")
        except BaseException:
            db.rollback()
            raise
    return version_of(connection)
