"""The index of the notes: which words stand where, and which vectors belong to which note.

Three files beside the notes, all made anew from them by ``ehrqa notes index``: ``DB.notes.index``
(SQLite: words in FTS5, and the table ``indexed``), ``DB.notes.vectors`` and ``DB.notes.faiss``.
They are not in ``DB.notes.sqlite``, so that a broken index harms no note.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.notes.files import NotesFile, connect
from ehrqa_cli.notes.find.lexical import TOKENIZER
from ehrqa_cli.notes.find.vectors import SUFFIX as VECTORS
from ehrqa_cli.notes.find.vectors import VectorFile
from ehrqa_cli.notes.place import beside

SUFFIX = ".notes.index"
FAISS = ".notes.faiss"
VERSION = "1"

# ``first_line`` and ``lines`` say which rows of the notes' ``line`` were indexed; ``first_row``
# is where the note's vectors begin (its passages, then its lines), NULL until they are made.
_SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE indexed (
    note INTEGER PRIMARY KEY, sha256 TEXT NOT NULL, first_line INTEGER NOT NULL,
    lines INTEGER NOT NULL, first_row INTEGER, passages INTEGER);
CREATE INDEX indexed_row ON indexed (first_row);
CREATE VIRTUAL TABLE line_text USING fts5(text, content='', tokenize='{TOKENIZER}');
"""


@dataclass(frozen=True)
class Indexed:
    """What the index holds of one note; ``first_row`` None while it has no vectors."""

    note: int
    sha256: str
    first_line: int
    lines: int
    first_row: int | None
    passages: int | None


def delete(db_path: Path) -> None:
    """Remove the index of the notes of ``db_path``; the notes stay."""
    for suffix in (SUFFIX, SUFFIX + "-journal", SUFFIX + "-wal", SUFFIX + "-shm", VECTORS, FAISS):
        try:
            beside(db_path, suffix).unlink(missing_ok=True)
        except OSError as error:
            raise DatabaseError(
                f"cannot delete {beside(db_path, suffix)}: {error.strerror}", "delete it yourself"
            ) from error


class IndexFile(NotesFile):
    """The opened index."""

    def __init__(self, db_path: Path, connection: sqlite3.Connection) -> None:
        """Use ``open`` or ``create``."""
        super().__init__(beside(db_path, SUFFIX), connection)
        self.db_path = db_path
        self.vectors = VectorFile(beside(db_path, VECTORS))
        self.faiss = beside(db_path, FAISS)

    @classmethod
    def open(cls, db_path: Path, writable: bool = False) -> IndexFile | None:
        """The index of the notes of ``db_path``; None when there is none, or none was begun.

        Raises DatabaseError.
        """
        path = beside(db_path, SUFFIX)
        if not path.is_file():
            return None
        found = cls(db_path, _connect(path, writable))
        try:
            if not found.query("SELECT 1 FROM sqlite_master LIMIT 1"):
                found.close()  # never begun: the disk was full
                return None
            if found.meta("version") != VERSION:
                raise found.damaged("it is not an index of this version of ehrqa")
        except BaseException:
            found.close()
            raise
        return found

    @classmethod
    def create(cls, db_path: Path) -> IndexFile:
        """The index of the notes of ``db_path``, made if there is none."""
        path = beside(db_path, SUFFIX)
        found = cls.open(db_path, writable=True)
        if found is not None:
            return found
        try:
            # Created before SQLite would, which gives a new file the umask's wider permissions.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise DatabaseError(f"cannot make {path}: {error.strerror}", "check the folder") from (
                error
            )
        made = cls(db_path, _connect(path, writable=True))
        try:
            made._begin()
        except BaseException:
            made.close()
            raise
        return made

    def _begin(self) -> None:
        with self.faults():
            # A reader must not wait for an index that takes hours.
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA}"
                f"INSERT INTO meta VALUES ('version', '{VERSION}'); COMMIT;"
            )

    def fault(self, error: Exception) -> DatabaseError:
        """As NotesFile says."""
        if isinstance(error, sqlite3.OperationalError) and "no such table" not in str(error):
            hint = "is the disk full, or is it being indexed right now?"
            return DatabaseError(f"{self.path}: {error}", hint)
        return self.damaged(str(error))

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: written down when the block ends, undone when it fails."""
        with self.faults(), self.connection:
            self.connection.execute("BEGIN IMMEDIATE")
            yield self.connection

    def damaged(self, why: str) -> DatabaseError:
        """The error of an index that cannot be used."""
        return DatabaseError(
            f"the index {self.path} cannot be used: {why}",
            f"run `ehrqa notes index --rebuild --db {self.db_path}`; no note is lost",
        )

    def state(self) -> str:
        """How much is indexed, and by which model: a line is scored otherwise where it is."""
        (counted,) = self.query(
            "SELECT count(*), count(first_row), coalesce(sum(lines), 0), coalesce(max(note), 0)"
            " FROM indexed"
        )
        return f"{':'.join(map(str, counted))} {self.meta('model') or 'words'}"

    def write_meta(self, values: Mapping[str, str]) -> None:
        """Write down ``values`` about the index."""
        with self.writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    def of_note(self, note: int) -> Indexed | None:
        """What the index holds of the note in this row of the notes."""
        rows = self.query("SELECT * FROM indexed WHERE note = ?", (note,))
        return Indexed(*rows[0]) if rows else None

    def of_row(self, row: int) -> Indexed | None:
        """The note one of whose passages this row of the vectors is; None when it is gone."""
        rows = self.query(
            "SELECT * FROM indexed WHERE first_row <= ? AND passages > 0"
            " ORDER BY first_row DESC LIMIT 1",
            (row,),
        )
        found = Indexed(*rows[0]) if rows else None
        return found if found and row < (found.first_row or 0) + (found.passages or 0) else None


def _connect(path: Path, writable: bool) -> sqlite3.Connection:
    can = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    # Where nothing may be written, SQLite cannot make its side files either.
    return connect(path, "rw" if can else "ro&immutable=1", writable)
