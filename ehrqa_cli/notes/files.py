"""A SQLite file that belongs to the notes of an EHR, opened: its queries and its faults."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import DatabaseError

_WAIT = 30.0  # seconds for another process, which commits at least every few


def connect(path: Path, mode: str, writable: bool) -> sqlite3.Connection:
    """Open the file in one of SQLite's modes; only ``writable`` lets a query change it. Raises
    DatabaseError."""
    try:
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode={mode}",
            uri=True,
            timeout=_WAIT,
            isolation_level=None,
            check_same_thread=False,
        )
        if not writable:
            connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error as error:
        raise DatabaseError(f"cannot open {path}: {error}", "check the file") from error
    return connection


class NotesFile(ABC):
    """An opened file. Every method raises DatabaseError when the file is damaged."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @abstractmethod
    def fault(self, error: Exception) -> DatabaseError:
        """An error of SQLite as one with the next step."""

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn an error of SQLite inside the block into a DatabaseError with the next step."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # of names, scrambled too
            raise self.fault(error) from error

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one statement; none where a value is a number no row can hold."""
        with self.faults():
            try:
                return self.connection.execute(sql, values).fetchall()
            except OverflowError:
                return []

    def meta(self, key: str) -> str | None:
        """What is written down about the file under ``key``."""
        rows = self.query("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None
