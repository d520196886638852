"""Tables as files of a folder: TABLE.parquet, TABLE.csv, TABLE.csv.gz, or a folder TABLE of parts.

PhysioNet ships tables in folders by module (hosp/, icu/), so those are looked into. A CSV file has
no types; they are found by reading it once when it is opened, whole, because a code such as 0040
must stay text even where a thousand rows before it look like numbers.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

import duckdb

from ehrqa_cli.contracts.errors import DatabaseError

_PARQUET = ".parquet"
_CSV = (".csv", ".csv.gz")
# Columns of EHRSQL and MIMIC that are text even where every value looks like a number.
_ALWAYS_TEXT = frozenset(
    {"abbreviation", "dose_unit_rx", "dose_val_rx", "drug", "icd_code", "image_id", "label"}
)
_WHOLE = "^-?(0|[1-9][0-9]{0,17})$"
_NUMBER = "^-?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$"
_CODE = "^-?0[0-9]"
_TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?$"


def is_duckdb(path: Path) -> bool:
    """Does it begin as DuckDB's files do?"""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(12)[8:12] == b"DUCK"
    except (OSError, ValueError):
        return False  # whoever opens it says what is wrong with it


def has_tables(folder: Path) -> bool:
    """Does a folder hold tables as Parquet or CSV files, itself or in folders within? Raises
    DatabaseError for one that cannot be read."""
    if not folder.is_dir():
        return False
    try:
        inside = [folder, *(p for p in folder.iterdir() if p.is_dir())]
        return any(f.name.lower().endswith((_PARQUET, *_CSV)) for d in inside for f in d.iterdir())
    except OSError as error:
        raise DatabaseError(f"cannot read {folder}: {error}", "check its permissions") from error


def tables_in(folder: Path) -> dict[str, list[Path]]:
    """Table name (lower case) to its files. Raises DatabaseError for two that claim one name."""
    out: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        for name, parts in _found(path):
            if name in out:
                both = f"{out[name][0].relative_to(folder)} and {parts[0].relative_to(folder)}"
                raise DatabaseError(f"two tables are called {name}: {both}", "take one away")
            out[name] = parts
    if not out:
        raise DatabaseError(
            f"{folder} holds no Parquet or CSV files", "name the folder that has TABLE.parquet"
        )
    return out


def _found(path: Path) -> Iterator[tuple[str, list[Path]]]:
    if path.is_file() and (name := _table_of(path)):
        yield name, [path]
    if not path.is_dir() or path.name.startswith("."):
        return
    inside = sorted(p for p in path.rglob("*") if p.is_file() and _table_of(p))
    parts = [p for p in inside if p.suffix == _PARQUET]
    if parts and all(_is_part(p) for p in parts):
        yield path.name.lower(), parts  # written in parts, by Spark or DuckDB
        return
    for part in sorted(p for p in path.iterdir() if p.is_file()):
        if name := _table_of(part):
            yield name, [part]


def _is_part(path: Path) -> bool:
    stem = path.name.lower()
    return stem.startswith(("part-", "part_", "data_")) or stem[:1].isdigit()


def _table_of(path: Path) -> str:
    name = path.name.lower()
    for ending in (_PARQUET, *_CSV):
        if name.endswith(ending) and not name.startswith((".", "_")):
            return name[: -len(ending)]
    return ""


def view(table: str, parts: list[Path], connection: duckdb.DuckDBPyConnection) -> str:
    """CREATE VIEW of a table over its files. Raises DuckDB's errors for a file it cannot read."""
    listed = "[" + ", ".join(_text(str(part)) for part in parts) + "]"
    name = '"' + table.replace('"', '""') + '"'
    if parts[0].suffix == _PARQUET:
        return f"CREATE VIEW {name} AS SELECT * FROM read_parquet({listed})"
    types = _csv_types(parts[0], listed, connection)
    columns = ", ".join(f"{_text(column)}: {_text(type_)}" for column, type_ in types.items())
    return (
        f"CREATE VIEW {name} AS SELECT * FROM read_csv({listed}, header = true, delim = ',', "
        f"quote = '\"', escape = '\"', auto_detect = false, columns = {{{columns}}})"
    )


def _header(path: Path) -> list[str]:
    """The names of a CSV file's columns. Raises DatabaseError without any."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file), [])
    except (OSError, EOFError, UnicodeError, csv.Error) as error:
        raise DatabaseError(f"cannot read {path}: {error}", "is it CSV in UTF-8?") from error
    if not names:
        raise DatabaseError(f"{path} has no header", "its first line must name the columns")
    return names


def _csv_types(first: Path, listed: str, connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """What every value of a column can be read as."""
    names = _header(first)
    texts = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names)
    read = (
        f"read_csv({listed}, header = true, delim = ',', quote = '\"', escape = '\"', "
        f"auto_detect = false, columns = {{{texts}}})"
    )
    tests: list[str] = []
    for name in names:
        column = '"' + name.replace('"', '""') + '"'
        tests += [
            f"BOOL_AND(REGEXP_MATCHES({column}, '{_WHOLE}'))",
            f"BOOL_AND(REGEXP_MATCHES({column}, '{_NUMBER}') AND NOT "
            f"REGEXP_MATCHES({column}, '{_CODE}'))",
            f"BOOL_AND(REGEXP_MATCHES({column}, '{_TIME}'))",
        ]
    found = connection.execute(f"SELECT {', '.join(tests)} FROM {read}").fetchone() or ()
    out: dict[str, str] = {}
    for i, name in enumerate(names):
        whole, number, time = found[3 * i : 3 * i + 3]
        if name.lower() in _ALWAYS_TEXT:
            whole = number = time = False
        out[name] = (
            "BIGINT" if whole else "DOUBLE" if number else "TIMESTAMP" if time else "VARCHAR"
        )
    return out


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
