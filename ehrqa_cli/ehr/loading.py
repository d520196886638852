"""A SQLite EHR written into a server, or into files of another kind, table by table, by the plugin
for these."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from ehrqa_cli.contracts.errors import ImportFailed, UsageError
from ehrqa_cli.contracts.loading import Loaded, LoadTable
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Row
from ehrqa_cli.ehr.backend import servers
from ehrqa_cli.ehr.open import plugin_of
from ehrqa_cli.ehr.schema import BY_NAME, META_TABLE

_OFTEN = 5000  # rows between two notes of progress
_WORDS = (("INT", "integer"), ("DOUBLE", "real"), ("REAL", "real"), ("TIMESTAMP", "timestamp"))


def load_sqlite(
    source: Path,
    target: str,
    *,
    replace: bool = False,
    note: Callable[[str, int, int], None] | None = None,
) -> Loaded:
    """Write the EHR in the SQLite file ``source`` into the server that ``target`` names.

    ``note(table, done, of)`` is told the rows written. Raises UsageError for a target that is not
    written to, PluginError without its plugin, DatabaseError and ImportFailed.
    """
    plugin, rest = writer_of(target)
    try:
        connection = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise ImportFailed(f"cannot read {source}: {error}", "check the path") from error
    try:
        tables = [_table(connection, name, note) for name in _names(connection, source)]
        loaded = plugin.load(rest, tables, replace=replace)
    except sqlite3.Error as error:
        raise ImportFailed(f"cannot read {source}: {error}", "is it a SQLite EHR?") from error
    finally:
        connection.close()
    if loaded is None:
        raise UsageError(f"{target} is not written to", "name a server such as postgresql://...")
    return loaded


def check_room(target: str) -> None:
    """Raise ImportFailed where ``target`` has tables of an EHR already or is a file that is there,
    DatabaseError where it cannot be reached: before hours of reading, not after."""
    plugin, rest = writer_of(target)
    if plugin.in_files:
        if Path(rest).exists():
            raise ImportFailed(
                f"{rest} exists already", "choose another name, or replace it with --force"
            )
        return
    opened = plugin.open(rest)
    try:
        present = [name for name in BY_NAME if name in opened.schema()]
    finally:
        opened.close()
    if present:
        raise ImportFailed(
            f"the table {present[0]} exists already",
            "name another database, or replace its tables with --force",
        )


def writer_of(target: str) -> tuple[type[Database], str]:
    """The plugin that writes to ``target``, and what it is to open.

    Raises UsageError for one that is not written to or has a password in it, PluginError.
    """
    servers.check(target)
    plugin, rest = plugin_of(target)
    if plugin.load.__func__ is Database.load.__func__:  # type: ignore[attr-defined]
        raise UsageError(
            f"--to cannot write to {target}",
            "name a server such as postgresql://..., or make a SQLite file with --out FILE",
        )
    return plugin, rest


def _names(connection: sqlite3.Connection, source: Path) -> list[str]:
    """Tables in the order of the schema, others of the file behind them."""
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' ORDER BY name"
    ).fetchall()
    present = {str(row[0]) for row in rows}
    if not present & set(BY_NAME):
        raise ImportFailed(f"{source} holds no EHR", "name a folder of MIMIC-IV or a SQLite EHR")
    return [*(n for n in BY_NAME if n in present), *sorted(present - set(BY_NAME))]


def _table(
    connection: sqlite3.Connection, name: str, note: Callable[[str, int, int], None] | None
) -> LoadTable:
    columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
    kinds = tuple((str(c[1]), _kind(str(c[2]))) for c in columns)
    known = BY_NAME.get(name)
    present = {column for column, _ in kinds}
    return LoadTable(
        name,
        kinds,
        _rows(connection, name, note),
        key=next((str(c[1]) for c in columns if c[5]), None),
        required=frozenset(str(c[1]) for c in columns if c[3]),
        unique=(known.unique,) if known and known.unique in present else (),
        indexes=tuple(i for i in known.indexes if set(i) <= present) if known else (),
    )


def _kind(type_: str) -> str:
    return next((kind for word, kind in _WORDS if word in type_.upper()), "text")


def _rows(
    connection: sqlite3.Connection, name: str, note: Callable[[str, int, int], None] | None
) -> Iterator[Row]:
    (of,) = connection.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()
    order = "key" if name == META_TABLE else "rowid"
    for done, row in enumerate(connection.execute(f'SELECT * FROM "{name}" ORDER BY {order}')):
        if note is not None and done % _OFTEN == 0:
            note(name, done, of)
        yield row
    if note is not None:
        note(name, of, of)
