"""Scene graphs kept in a SQLite file beside the database: an image is looked at once per model.

A graph is kept by the image's SHA-256 and the model's key (its SHA-256 and its card's). A file's
size and time of change stand beside its hash, so that an unchanged file is not hashed again. The
cache holds findings about patients: only its owner can read it (0600).
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.sqlitefile import make_private

VERSION = 1
SUFFIX = ".scene-graphs.sqlite"

_TABLES = """
CREATE TABLE IF NOT EXISTS file (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL, image TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS graph (
    image TEXT NOT NULL, model TEXT NOT NULL, probabilities BLOB NOT NULL, view REAL, sex REAL,
    heart REAL, in_distribution INTEGER NOT NULL, problem TEXT NOT NULL, error TEXT NOT NULL,
    PRIMARY KEY (image, model)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS study (
    study_id INTEGER NOT NULL, model TEXT NOT NULL, path TEXT NOT NULL, image_id TEXT NOT NULL,
    PRIMARY KEY (study_id, model)
) WITHOUT ROWID;
"""
_GRAPH = "image, probabilities, view, sex, heart, in_distribution, problem, error"
_STUDIES = f"""
SELECT study.study_id, study.path, study.image_id, file.size, file.mtime,
    {", ".join("graph." + name for name in _GRAPH.split(", "))}
FROM study JOIN file ON file.path = study.path
    JOIN graph ON graph.image = file.image AND graph.model = study.model
WHERE study.model = ? AND study.study_id IN (SELECT value FROM json_each(?))
"""


@dataclass(frozen=True)
class Entry:
    """What is known of one image: float32 ``probabilities`` of the model's relations as bytes, or
    the ``error`` that kept it from being read. ``problem`` says why it is out of distribution."""

    image: str
    probabilities: bytes = b""
    pa: float | None = None
    female: float | None = None
    heart: float | None = None
    in_distribution: bool = True
    problem: str = ""
    error: str = ""

    def rest(self) -> tuple[int, str, str]:
        """The last columns of the graph table."""
        return int(self.in_distribution), self.problem, self.error

    @classmethod
    def of(cls, row: Sequence[Any]) -> Entry:
        """From a row of the graph table."""
        image, probabilities, pa, female, heart, known, problem, error = row
        return cls(image, probabilities, pa, female, heart, bool(known), problem, error)


@dataclass(frozen=True)
class File:
    """A file as it was when its image was read; ``mtime`` in nanoseconds."""

    path: str
    size: int
    mtime: int
    image: str

    def unchanged(self) -> bool:
        """Is the file still the same, as far as size and time tell?"""
        try:
            now = os.stat(self.path)
        except OSError:
            return False
        return now.st_size == self.size and now.st_mtime_ns == self.mtime


@dataclass(frozen=True)
class Chosen:
    """The image that stands for a study, and what ``tb_cxr`` called it when it was chosen."""

    file: File
    image_id: str
    entry: Entry


def cache_path(db: Path) -> Path:
    """Where the graphs of the database at ``db`` are kept; the file may not exist."""
    return db.with_name(db.name + SUFFIX)


class GraphCache:
    """The cache of one database; safe to use from several threads.

    ``note`` says why nothing is kept after this process, when that is so.
    """

    def __init__(self, connection: sqlite3.Connection, note: str = "") -> None:
        """Use ``open``."""
        self._db = connection
        self._lock = threading.Lock()
        self.note = note
        if self._one("PRAGMA user_version") not in (0, VERSION):
            for table in ("file", "graph", "study"):
                self._db.execute(f"DROP TABLE IF EXISTS {table}")
        self._db.executescript(_TABLES)
        self._db.execute(f"PRAGMA user_version = {VERSION}")
        self._db.commit()

    @classmethod
    def open(cls, db: Path | None) -> GraphCache:
        """The cache of the database at ``db``; without one, or where none can be written, one in
        memory that begins with what can be read."""
        if db is None:
            return cls(_memory())
        path = cache_path(db)
        try:
            make_private(path)
            connection = sqlite3.connect(path, check_same_thread=False, timeout=30)
        except (OSError, sqlite3.Error) as error:
            return cls(_copied(path), f"scene graphs are not kept: {path}: {_said(error)}")
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            return cls(connection)
        except sqlite3.Error as error:
            connection.close()
            return cls(_copied(path), f"scene graphs are not kept: {path}: {_said(error)}")

    def studies(self, studies: Sequence[int], model: str) -> dict[int, Chosen]:
        """What is kept of these studies."""
        with self._lock:
            rows = self._db.execute(_STUDIES, (model, json.dumps(list(studies)))).fetchall()
        return {
            row[0]: Chosen(File(row[1], row[3], row[4], row[5]), row[2], Entry.of(row[5:]))
            for row in rows
        }

    def image_of(self, path: Path, size: int, mtime: int) -> str | None:
        """The SHA-256 of a file that has not changed since it was hashed."""
        sql = "SELECT image FROM file WHERE path = ? AND size = ? AND mtime = ?"
        found = self._one(sql, (str(path), size, mtime))
        return str(found) if found is not None else None

    def graphs(self, images: Iterable[str], model: str) -> Mapping[str, Entry]:
        """What is kept of images, by their SHA-256."""
        sql = (
            f"SELECT {_GRAPH} FROM graph WHERE model = ? AND image IN "
            "(SELECT value FROM json_each(?))"
        )
        with self._lock:
            rows = self._db.execute(sql, (model, json.dumps(list(images)))).fetchall()
        return {row[0]: Entry.of(row) for row in rows}

    def keep(self, files: Iterable[File], entries: Iterable[Entry], model: str) -> None:
        """Keep what was read; it is on the disk when this returns."""
        rows = [
            (e.image, model, e.probabilities, e.pa, e.female, e.heart, *e.rest()) for e in entries
        ]
        with self._lock, self._db:
            self._db.executemany(
                "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?)",
                [(f.path, f.size, f.mtime, f.image) for f in files],
            )
            marks = ", ".join("?" * 9)
            self._db.executemany(f"INSERT OR REPLACE INTO graph VALUES ({marks})", rows)

    def choose(self, chosen: Mapping[int, tuple[str, str]], model: str) -> None:
        """Keep which image stands for each study: its path, and its id in ``tb_cxr``."""
        rows = [(study, model, path, image_id) for study, (path, image_id) in chosen.items()]
        with self._lock, self._db:
            self._db.executemany("INSERT OR REPLACE INTO study VALUES (?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock, suppress(sqlite3.Error):
            self._db.close()

    def _one(self, sql: str, values: Sequence[Any] = ()) -> Any:
        with self._lock:
            row = self._db.execute(sql, values).fetchone()
        return row[0] if row else None


def _memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def _copied(path: Path) -> sqlite3.Connection:
    """In memory, with what a cache that cannot be written holds."""
    with suppress(OSError, sqlite3.Error):
        uri = path.resolve().as_uri() + "?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as source:
            target = _memory()
            source.backup(target)
            return target
    return _memory()


def _said(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
