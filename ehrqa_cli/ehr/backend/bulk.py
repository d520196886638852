"""An EHR as a SQLite file: a new one, filled in bulk, that appears complete under its name or not
at all, and the changing of one that is there."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.schema import META_TABLE, EhrTable
from ehrqa_cli.sqlitefile import database

_CACHE_KIB = 64 * 1024
_SAMPLE = 1000  # rows of an index that ANALYZE looks at
_BUSY_SECONDS = 5.0
_VALUES = 5000  # of one statement


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


@contextmanager
def changed(db: Path) -> Iterator[sqlite3.Connection]:
    """A transaction on the database ``db``, which is there: kept when the block ends, and undone
    by an error or Ctrl-C. Raises ImportFailed where it cannot be written."""
    uri = db.resolve().as_uri() + "?mode=rw"
    try:
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_SECONDS)
    except sqlite3.Error as error:
        raise ImportFailed(f"cannot write {db}: {error}", "check its permissions") from error
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        hint = "the file must be writable and in no other use, and the disk not full"
        raise ImportFailed(f"cannot write {db}: {error}", hint) from error
    finally:
        connection.close()  # what is not committed is undone


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
    connection: sqlite3.Connection,
    table: EhrTable,
    rows: Iterable[Sequence[object]],
    names: Sequence[str] = (),
) -> int:
    """Insert rows of the columns ``names`` (of all but ``row_id``), which are numbered from 0; how
    many.

    By hand: sqlite-utils takes three times as long for the rows.
    """
    names = names or [n for n in table.names() if n != table.key]
    marks = f"({', '.join('?' * len(names))})"
    into = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES "
    stream = iter(rows)
    first = next(stream, None)
    if first is None:
        return 0
    # SQLite numbers on from the last row by itself, which is quicker than being told each number
    named = f"INSERT INTO {table.name} ({table.key}, {', '.join(names)}) VALUES (0, {marks[1:]}"
    connection.execute(named, first)
    # Some rows a statement take half the time of one each.
    most = min(_VALUES, connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER))
    together = max(1, most // len(names))
    rest: list[Sequence[object]] = []

    def several() -> Iterator[list[object]]:
        while len(some := list(islice(stream, together))) == together:
            yield list(chain.from_iterable(some))
        rest.extend(some)

    made = connection.executemany(into + ", ".join([marks] * together), several()).rowcount
    return 1 + max(made, 0) + max(connection.executemany(into + marks, rest).rowcount, 0)


def write_meta(connection: sqlite3.Connection, values: Mapping[str, str]) -> None:
    """Write ``ehrqa_meta``: what the file is and what "now" means in it."""
    rows = ({"key": key, "value": value} for key, value in sorted(values.items()))
    database(connection).table(META_TABLE).upsert_all(rows, pk="key", not_null={"value"})


def index(
    connection: sqlite3.Connection,
    tables: Sequence[EhrTable],
    note: Callable[[int, int], None] = lambda _done, _of: None,
) -> None:
    """Make the indexes and statistics of ``tables``; ``note(done, of)`` after each."""
    db = database(connection)
    wanted = [(table.name, *one) for table in tables for one in table.every_index()]
    for done, (table, name, columns, unique) in enumerate(wanted):
        note(done, len(wanted))
        try:
            db.table(table).create_index(columns, name, unique, if_not_exists=True)
        except sqlite3.IntegrityError as error:
            what = str(error).rpartition(": ")[2]
            raise ImportFailed(
                f"{what} is not unique: a row stands twice in its file", "download it again"
            ) from error
    connection.execute(f"PRAGMA analysis_limit={_SAMPLE}").fetchall()
    for name in (table.name for table in tables):
        db.analyze(name)
    note(len(wanted), len(wanted))


def last_event(connection: sqlite3.Connection, tables: Sequence[EhrTable]) -> str:
    """The latest time of any event, "" when there is none."""
    latest = ""
    for table in tables:
        if table.time is not None:
            found = connection.execute(f"SELECT max({table.time}) FROM {table.name}").fetchone()[0]
            latest = max(latest, found or "")
    return latest
