"""Which questions of a batch were asked before, by what two have in common that share an answer."""

from __future__ import annotations

import hashlib
import json
import sqlite3

from ehrqa_cli.contracts.types import Question


class Seen:
    """Which questions were asked and where their row begins, on disk: there may be millions."""

    def __init__(self) -> None:
        self._rows = sqlite3.connect("", isolation_level=None)  # a file of SQLite's own, unnamed
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("CREATE TABLE seen (key BLOB PRIMARY KEY, place INT) WITHOUT ROWID")

    def add(self, key: bytes) -> bool:
        """Is it new? Then it is known from now on."""
        done = self._rows.execute("INSERT OR IGNORE INTO seen VALUES (?, NULL)", (key,))
        return done.rowcount > 0

    def put(self, key: bytes, place: int) -> None:
        """The row of this question begins here."""
        self._rows.execute("UPDATE seen SET place = ? WHERE key = ?", (place, key))

    def place(self, key: bytes) -> int | None:
        """Where the row of this question begins."""
        found = self._rows.execute("SELECT place FROM seen WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    def close(self) -> None:
        """Give the space back."""
        self._rows.close()


def key_of(question: Question) -> bytes:
    """What two questions share that have the same answer."""
    told = [
        *(" ".join(question.text.split()), question.patient_id, question.study_id),
        *(list(question.images), list(question.choices), question.as_of),
    ]
    return hashlib.sha256(json.dumps(told).encode()).digest()[:16]
