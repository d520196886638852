"""The notes of an EHR, beside its database in ``DB.notes.sqlite``.

Beside and not in it, so that the EHR's fingerprint stays what it was, an EHR that may only be read
can have notes, and a patient known only from notes exists. The file can be read by its owner only.

Tables: ``note``; ``alias`` (other ids of a note that came twice); ``placed``, the lines as offsets
into ``note.text``, with ``term`` for the names of sections and kinds; ``line``, a view of both.
Ids are never used twice, so an index built over lines that are gone finds nothing rather than
another line.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.contracts.notes import Line, Note
from ehrqa_cli.notes.files import NotesFile, connect
from ehrqa_cli.notes.place import beside
from ehrqa_cli.sqlitefile import database, make_private

if TYPE_CHECKING:
    from ehrqa_cli.sqlitefile import Database

SUFFIX = ".notes.sqlite"
VERSION = "1"
_MANY = 500  # ids in one statement

# Their ids are never used twice.
_COUNTED = """
CREATE TABLE note (
    id INTEGER PRIMARY KEY AUTOINCREMENT, note_id TEXT NOT NULL UNIQUE,
    patient_id INTEGER NOT NULL, hadm_id INTEGER, charttime TEXT, category TEXT NOT NULL,
    sha256 TEXT NOT NULL, source TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE placed (
    id INTEGER PRIMARY KEY AUTOINCREMENT, note INTEGER NOT NULL, number INTEGER NOT NULL,
    start INTEGER NOT NULL, end INTEGER NOT NULL, section INTEGER NOT NULL, kind INTEGER NOT NULL);
"""
_LINE = """
SELECT id, note, number, start, end,
    (SELECT name FROM term WHERE term.id = section) AS section,
    (SELECT name FROM term WHERE term.id = kind) AS kind FROM placed
"""
_NOTE = "note_id, patient_id, text, hadm_id, charttime, category"
_BY_TIME = "ORDER BY charttime IS NULL, charttime, note_id"


def notes_path(db_path: Path) -> Path:
    """Where the notes of the EHR at ``db_path`` are kept."""
    return beside(db_path, SUFFIX)


def digest(text: str) -> str:
    """The SHA-256 of a note's text, by which two notes are known to be the same."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class NoteStore(NotesFile):
    """The notes beside one EHR. Use ``open``."""

    @classmethod
    def open(cls, db_path: Path, create: bool = False, writable: bool = False) -> NoteStore:
        """Open the notes of the EHR at ``db_path``; ``create`` makes an empty store if needed.

        Raises DatabaseError when there is none, or it cannot be opened.
        """
        path = notes_path(db_path)
        if not path.is_file() and not create:
            raise DatabaseError(
                f"{db_path} has no notes", f"run `ehrqa notes import FILE --db {db_path}`"
            )
        try:
            if create:
                make_private(path)
        except OSError as error:
            raise DatabaseError(f"cannot open {path}: {error}", "check the file") from error
        # Opened for writing where that is allowed, also to read: SQLite must be able to undo what
        # an import that was killed left half done.
        mode = "rw" if os.access(path, os.W_OK) else "ro"
        store = cls(path, connect(path, mode, create or writable))
        try:
            store._check(create)
        except BaseException:
            store.close()
            raise
        return store

    def __enter__(self) -> NoteStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, create: bool) -> None:
        with self.faults():
            tables = {row[0] for row in self.connection.execute("SELECT name FROM sqlite_master")}
            if create and not tables:
                with database(self.connection).atomic() as db:
                    _make(db)
                return
        found = self.meta("version") if {"meta", "note", "placed"} <= tables else None
        if found != VERSION:
            raise DatabaseError(
                f"{self.path} is not a notes file of this version of ehrqa",
                "move it away and run `ehrqa notes import` again",
            )

    def fault(self, error: Exception) -> DatabaseError:
        """As NotesFile says."""
        if isinstance(error, sqlite3.OperationalError):
            hint = "is the disk full, or another import running?"
            return DatabaseError(f"{self.path}: {error}", hint)
        hint = "move it away and run `ehrqa notes import` again"
        return DatabaseError(f"{self.path} is damaged: {error}", hint)

    def count(self) -> int:
        """How many notes there are."""
        return int(self.query("SELECT count(*) FROM note")[0][0])

    def patients(self) -> list[int]:
        """The ids of the patients who have notes, ascending."""
        rows = self.query("SELECT DISTINCT patient_id FROM note ORDER BY patient_id")
        return [int(row[0]) for row in rows]

    def notes(self, patient_id: int) -> list[Note]:
        """The patient's notes in the order of time; none for a patient without notes."""
        rows = self.query(
            f"SELECT {_NOTE} FROM note WHERE patient_id = ? {_BY_TIME}", (patient_id,)
        )
        return [Note(*row) for row in rows]

    def note(self, note_id: str) -> Note | None:
        """The note with this id, or of which this is another id; None when there is none."""
        rows = self.query(f"SELECT {_NOTE} FROM note WHERE note_id = ?", (note_id,)) or self.query(
            f"SELECT {_NOTE} FROM note WHERE id = (SELECT note FROM alias WHERE note_id = ?)",
            (note_id,),
        )
        return Note(*rows[0]) if rows else None

    def lines(self, patient_id: int) -> list[Line]:
        """The lines of all of the patient's notes, notes in the order of time."""
        rows = self.query(
            f"SELECT id, note_id, text FROM note WHERE patient_id = ? {_BY_TIME}", (patient_id,)
        )
        return [line for row in rows for _, line in self._lines_of(*row)]

    def note_lines(self, note: int) -> list[tuple[int, Line]]:
        """The lines of the note in row ``note``, each with its id in ``line``."""
        rows = self.query("SELECT id, note_id, text FROM note WHERE id = ?", (note,))
        return self._lines_of(*rows[0]) if rows else []

    def _lines_of(self, note: int, note_id: str, text: str) -> list[tuple[int, Line]]:
        rows = self.query(
            "SELECT id, number, start, end, section, kind FROM line WHERE note = ? ORDER BY number",
            (note,),
        )
        return [
            (key, Line(note_id, number, start, end, text[start:end], section, kind))
            for key, number, start, end, section, kind in rows
        ]

    def lines_by_id(self, ids: Iterable[int]) -> Mapping[int, Line]:
        """The lines with these ids in ``line``; an id of a line that is gone is left out."""
        wanted, found = list(dict.fromkeys(ids)), {}
        for first in range(0, len(wanted), _MANY):
            some = wanted[first : first + _MANY]
            rows = self.query(
                "SELECT line.id, note, number, start, end, section, kind FROM line"
                f" WHERE line.id IN ({', '.join('?' * len(some))}) ORDER BY note",
                some,
            )
            note, note_id, text = None, "", ""
            for key, of, number, start, end, section, kind in rows:
                if of != note:
                    note = of
                    note_id, text = self.query(
                        "SELECT note_id, text FROM note WHERE id = ?", (of,)
                    )[0]
                found[key] = Line(note_id, number, start, end, text[start:end], section, kind)
        return {key: found[key] for key in wanted if key in found}

    def settle(self) -> None:
        """Write the fingerprint down, which takes a while to compute over many notes."""
        with self.faults():
            said = {"key": "fingerprint", "value": self.fingerprint()}
            database(self.connection).table("meta").upsert(said, pk="key")

    def fingerprint(self) -> str:
        """A SHA-256 of what the notes say and whose they are, whatever order they came in."""
        kept = self.meta("fingerprint")
        if kept is not None:
            return kept
        summed = hashlib.sha256(f"notes {VERSION}\n".encode())
        with self.faults():
            for row in self.connection.execute(
                "SELECT note_id, patient_id, hadm_id, charttime, category, sha256 FROM note"
                " ORDER BY note_id"
            ):
                summed.update(repr(row).encode())
            for row in self.connection.execute(
                "SELECT alias.note_id, note.note_id FROM alias JOIN note ON note.id = alias.note"
                " ORDER BY alias.note_id"
            ):
                summed.update(repr(row).encode())
        return summed.hexdigest()


def _make(db: Database) -> None:
    db.table("meta").insert({"key": "version", "value": VERSION}, pk="key", not_null={"value"})
    db.executescript(_COUNTED)
    db.table("note").create_index(("patient_id",), "note_patient")
    db.table("placed").create_index(("note",), "placed_note")
    db.table("alias").create({"note_id": str, "note": int}, pk="note_id", not_null={"note"})
    db.table("term").create({"id": int, "name": str}, pk="id", not_null={"name"})
    db.table("term").create_index(("name",), "term_name", unique=True)
    db.create_view("line", _LINE)
