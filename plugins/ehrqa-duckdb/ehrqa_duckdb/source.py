"""Where the tables are: in a DuckDB file, or in files of a folder that are read in place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_duckdb import files, settings

_META = "ehrqa_meta"
_KINDS = (
    (("BOOL",), "boolean"),
    (("TIMESTAMP", "DATE"), "timestamp"),
    (("DECIMAL", "FLOAT", "DOUBLE", "REAL"), "real"),
    (("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINY", "USMALL"), "integer"),
    (("UINTEGER", "UBIGINT", "UHUGEINT"), "integer"),
)
_BLOCK, _BLOCKS = 4096, 64


@dataclass(frozen=True)
class DuckdbSource:
    """A connection from which those that are asked are made (``again``), what its tables' columns
    hold, and the files behind them."""

    path: Path
    connection: duckdb.DuckDBPyConnection
    types: Mapping[str, Mapping[str, str]]
    meta: Mapping[str, str]
    files: tuple[Path, ...]

    def again(self) -> duckdb.DuckDBPyConnection:
        """Another connection to the same."""
        made = self.connection.cursor()
        _shadow(made)  # temporary views are each connection's own
        return made

    def fingerprint(self) -> str:
        """16 hex digits of the names, sizes, times of change and 64 blocks of each file.

        Raises DatabaseError for a file that has gone since it was opened.
        """
        digest = hashlib.sha256()
        try:
            for path in self.files:
                known = path.stat()
                head = f"{path.name}:{known.st_size}:{known.st_mtime_ns}:"
                digest.update(head.encode())
                with path.open("rb") as file:
                    for i in range(_BLOCKS):
                        file.seek(known.st_size * i // _BLOCKS // _BLOCK * _BLOCK)
                        digest.update(file.read(_BLOCK))
        except OSError as error:
            what = f"cannot read {self.path}: {error.strerror}"
            raise DatabaseError(what, "put the file back where it was") from error
        return digest.hexdigest()[:16]


def open_source(path: Path) -> DuckdbSource:
    """Open a DuckDB file or a folder of tables. Raises DatabaseError."""
    try:
        if not path.exists():
            raise DatabaseError(f"there is no database {path}", "check the path")
        return _folder(path.resolve()) if path.is_dir() else _file(path.resolve())
    except (OSError, ValueError) as error:
        raise DatabaseError(f"cannot read {path}: {error}", "check its permissions") from error


def _file(path: Path) -> DuckdbSource:
    try:
        connection = duckdb.connect(str(path), read_only=True, config=dict(settings.opening()))
    except duckdb.Error as error:
        raise _cannot(path, error) from error
    try:
        _shadow(connection)
        return _closed(path, connection, None, (path,))
    except duckdb.Error as error:
        connection.close()
        raise _cannot(path, error) from error


def _folder(path: Path) -> DuckdbSource:
    found = files.tables_in(path)
    connection = duckdb.connect(":memory:", config=dict(settings.opening()))
    try:
        for table, parts in found.items():
            try:
                connection.execute(files.view(table, parts, connection))
            except duckdb.Error as error:
                raise _cannot(parts[0], error) from error
        _shadow(connection)
        every = tuple(part for parts in found.values() for part in parts)
        return _closed(path, connection, str(path), every)
    except BaseException:
        connection.close()
        raise


def _closed(
    path: Path, connection: duckdb.DuckDBPyConnection, folder: str | None, parts: tuple[Path, ...]
) -> DuckdbSource:
    meta = _read_meta(connection)
    types = _types(connection)
    # A second connection to a file shares the first one's settings, which are locked already.
    locked = connection.execute("SELECT current_setting('lock_configuration')").fetchone()
    if not (locked and locked[0]):
        for statement in settings.closing(folder):
            connection.execute(statement)
    return DuckdbSource(path, connection, types, meta, parts)


def _shadow(connection: duckdb.DuckDBPyConnection) -> None:
    """Views in the place of tables with dates or fixed-point numbers: the contract has times and
    real numbers, and a view that casts costs nothing where the column is not asked for."""
    for table, columns in _columns(connection).items():
        made = [_cast(name, type_) for name, _, type_ in columns]
        if all(part == _quoted(name) for part, (name, _, _) in zip(made, columns, strict=True)):
            continue
        catalog = columns[0][1]
        connection.execute(
            f"CREATE TEMP VIEW {_quoted(table)} AS SELECT {', '.join(made)} "
            f"FROM {_quoted(catalog)}.main.{_quoted(table)}"
        )


def _cast(name: str, type_: str) -> str:
    column = _quoted(name)
    if type_ == "DATE" or (type_.startswith("TIMESTAMP") and type_ != "TIMESTAMP"):
        return f"CAST({column} AS TIMESTAMP) AS {column}"
    if type_.startswith("DECIMAL"):
        return f"CAST({column} AS DOUBLE) AS {column}"
    if type_.startswith(("ENUM", "UUID")):
        return f"CAST({column} AS VARCHAR) AS {column}"
    return column


def _columns(
    connection: duckdb.DuckDBPyConnection,
) -> dict[str, list[tuple[str, str, str]]]:
    """Table to (column, catalog, type); a temporary view hides the table of its name."""
    rows = connection.execute(
        "SELECT table_name, column_name, database_name, data_type FROM duckdb_columns()"
        " WHERE NOT internal AND schema_name = 'main' AND database_name <> 'system'"
        " ORDER BY database_name = 'temp', table_oid, column_index"
    ).fetchall()
    out: dict[str, list[tuple[str, str, str]]] = {}
    for table, column, catalog, type_ in rows:
        held = out.setdefault(table, [])
        if held and held[0][1] != catalog:
            held.clear()
        held.append((column, catalog, type_))
    return out


def _types(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    return {
        table: {name: _kind(type_) for name, _, type_ in columns}
        for table, columns in _columns(connection).items()
        if not table.lower().startswith("ehrqa_")
    }


def _kind(type_: str) -> str:
    for starts, kind in _KINDS:
        if type_.startswith(starts):
            return kind
    return "text"


def _read_meta(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    try:
        rows = connection.execute(f"SELECT key, value FROM {_META}").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):
        return {}
    return {str(key): str(value) for key, value in rows}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cannot(path: Path, error: Exception) -> DatabaseError:
    lines: Iterable[str] = str(error).splitlines() or [type(error).__name__]
    text = next(iter(lines))
    hint = "is it a DuckDB file, of this version of DuckDB or an older one?"
    if "lock" in text.lower():
        hint = "another program has it open to write; close that, or try again later"
    return DatabaseError(f"cannot read {path}: {text}", hint)
