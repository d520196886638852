"""What a SQLite file is and holds, read before any query: its address, schema, notes of its own."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

from ehrqa_cli.contracts.types import Scalar
from ehrqa_cli.ehr import schema as ehr_schema


def uri(path: Path) -> str:
    """The address of the file at ``path``, to be opened for reading. Raises OSError."""
    full = path.resolve()
    with full.open("rb") as file:
        header = file.read(20)
    wal = full.with_name(full.name + "-wal")
    # Reading a database in WAL mode makes -wal and -shm files. When no other program has it
    # open there is nothing in them, so it is read as a file that does not change.
    alone = header[18:20] == b"\x02\x02" and not (wal.exists() and wal.stat().st_size)
    return full.as_uri() + "?mode=ro" + ("&immutable=1" if alone else "")


def decode(raw: bytes) -> str:
    """Text of any bytes, with a mark in the place of those that are no UTF-8."""
    return raw.decode("utf-8", "replace")


def read_schema(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Table or view to columns; internal, virtual and ``ehrqa_`` ones are left out."""
    out: dict[str, tuple[str, ...]] = {}
    listed = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND rootpage IS NOT NULL"
        " AND (type = 'view' OR rootpage > 0) ORDER BY rowid"
    ).fetchall()
    for (name,) in listed:
        if name.lower().startswith(("sqlite_", "ehrqa_")):
            continue
        quoted = name.replace('"', '""')
        try:
            columns = connection.execute(f'PRAGMA table_info("{quoted}")').fetchall()
        except sqlite3.OperationalError:
            continue  # a view of something that is not there any more
        out[name] = tuple(c[1] for c in columns)
    return out


def read_meta(connection: sqlite3.Connection) -> dict[str, str]:
    """What the importer wrote of this file."""
    try:
        rows = connection.execute(f"SELECT key, value FROM {ehr_schema.META_TABLE}").fetchall()
    except sqlite3.OperationalError:
        return {}  # a database that this program did not make
    return {str(k): str(v) for k, v in rows}


def modules(connection: sqlite3.Connection) -> list[str]:
    """Names of the kinds of virtual tables."""
    try:
        return [str(row[0]) for row in connection.execute("PRAGMA module_list")]
    except sqlite3.OperationalError:
        return []


def views(connection: sqlite3.Connection) -> dict[str, str]:
    """View to the statement that it was made by."""
    rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'view'").fetchall()
    return {str(name): str(sql) for name, sql in rows}


def hashed(path: Path, last_rows: list[tuple[str, Scalar]]) -> str:
    """Hex digits of the size, the header, 64 blocks and ``last_rows``. Raises OSError."""
    digest = hashlib.sha256(repr(last_rows).encode())
    block, count = 4096, 64
    size = path.stat().st_size
    with path.open("rb") as file:
        digest.update(f"{size}:".encode() + file.read(92))
        for i in range(count):
            file.seek(size * i // count // block * block)
            digest.update(file.read(block))
    wal = path.with_name(path.name + "-wal")
    if wal.is_file():
        with wal.open("rb") as file:
            digest.update(f"{wal.stat().st_size}:".encode() + file.read(32))
    return digest.hexdigest()
