"""A new database file, filled in bulk: it appears complete under its name, or not at all."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.schema import META_TABLE, EhrTable

_CACHE_KIB = 64 * 1024
_SAMPLE = 1000  # rows of an index that ANALYZE looks at


@contextmanager
def new_database(out: Path, force: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection to ``OUT.part`` that becomes ``out`` when the block ends without an error.

    The file is private to its owner (it holds patients' data). Raises ImportFailed when ``out``
    exists and ``force`` is not given, or the place cannot be written.
    """
    if out.exists() and not force:
        raise ImportFailed(
            f"{out} exists already", "choose another name, or replace it with --force"
        )
    if out.is_dir():
        raise ImportFailed(f"{out} is a folder", "give the name of a file")
    part = out.with_name(out.name + ".part")
    try:
        _remove(part)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(part, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise ImportFailed(f"cannot write {part}: {error}", "choose another place") from error
    # large sorts go to files; they belong beside the result, not on a small /tmp
    before = os.environ.get("SQLITE_TMPDIR")
    os.environ["SQLITE_TMPDIR"] = str(out.parent.resolve())
    try:
        _tune(connection)
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")
        connection.close()
        _publish(part, out)
    except sqlite3.OperationalError as error:
        raise ImportFailed(f"cannot write {part}: {error}", "is the disk full?") from error
    finally:
        connection.close()
        _remove(part)
        _remove(part.with_name(part.name + "-journal"))
        if before is None:
            os.environ.pop("SQLITE_TMPDIR", None)
        else:
            os.environ["SQLITE_TMPDIR"] = before


def _tune(connection: sqlite3.Connection) -> None:
    for pragma in (
        "page_size=8192",
        "threads=2",  # for sorting, when indexes are made
        "journal_mode=OFF",  # an interrupted file is thrown away, so nothing need be undone
        "synchronous=OFF",
        "locking_mode=EXCLUSIVE",
        f"cache_size=-{_CACHE_KIB}",
        "foreign_keys=OFF",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _publish(part: Path, out: Path) -> None:
    with part.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(part, out)
    if hasattr(os, "O_DIRECTORY"):  # not on Windows
        folder = os.open(out.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def insert(
    connection: sqlite3.Connection, table: EhrTable, rows: Iterable[Sequence[object]]
) -> None:
    """Insert rows of all columns but ``row_id``, which is numbered from 0."""
    names = [n for n in table.names() if n != table.key]
    marks = ", ".join("?" * len(names))
    statement = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks})"
    stream = iter(rows)
    first = next(stream, None)
    if first is None:
        return
    # SQLite numbers on from the last row by itself, which is quicker than being told each number
    named = f"INSERT INTO {table.name} ({table.key}, {', '.join(names)}) VALUES (0, {marks})"
    connection.execute(named, first)
    connection.executemany(statement, stream)


def write_meta(connection: sqlite3.Connection, values: Mapping[str, str]) -> None:
    """Write ``ehrqa_meta``: what the file is and what "now" means in it."""
    connection.execute(f"CREATE TABLE {META_TABLE} (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    connection.executemany(f"INSERT INTO {META_TABLE} VALUES (?, ?)", sorted(values.items()))


def index(
    connection: sqlite3.Connection, tables: Sequence[EhrTable], note: Callable[[int, int], None]
) -> None:
    """Make every table's indexes and statistics; ``note(done, of)`` after each."""
    statements = list(chain.from_iterable(t.index_ddl() for t in tables))
    for done, statement in enumerate(statements):
        note(done, len(statements))
        try:
            connection.execute(statement)
        except sqlite3.IntegrityError as error:
            what = str(error).rpartition(": ")[2]
            raise ImportFailed(
                f"{what} is not unique: a row stands twice in its file", "download it again"
            ) from error
    connection.execute(f"PRAGMA analysis_limit={_SAMPLE}").fetchall()
    connection.execute("ANALYZE")
    note(len(statements), len(statements))


def last_event(connection: sqlite3.Connection, tables: Sequence[EhrTable]) -> str:
    """The latest time of any event, "" when there is none."""
    latest = ""
    for table in tables:
        if table.time is not None:
            found = connection.execute(f"SELECT max({table.time}) FROM {table.name}").fetchone()[0]
            latest = max(latest, found or "")
    return latest
