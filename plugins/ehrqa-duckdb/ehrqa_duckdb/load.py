"""An EHR written into a DuckDB file, or into a folder of Parquet files (`ehrqa db import --to`).

Rows go by way of CSV, a part of a table at a time, in a private folder beside the result, which
appears when it is whole.
"""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import duckdb

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.contracts.loading import Loaded, LoadTable
from ehrqa_cli.contracts.types import Row
from ehrqa_duckdb import settings

_TYPES = {"integer": "BIGINT", "real": "DOUBLE", "timestamp": "TIMESTAMP"}
_NULL = "\\N"
_PART = 500_000  # rows of a CSV file
_ROW_GROUP = 122_880  # rows of a part of a Parquet file that is passed over as a whole


def load(target: str, tables: Iterable[LoadTable], *, replace: bool = False) -> Loaded:
    """Write ``tables`` to the DuckDB file ``target``, or into a folder if it ends in a slash.

    ``replace`` takes what is there away first. Raises ImportFailed, and then leaves nothing new.
    """
    out = Path(target)
    if out.exists() and not (replace and _replaceable(out)):
        raise ImportFailed(
            f"{out} exists already", "choose another name, or replace an EHR of ours with --force"
        )
    try:
        with tempfile.TemporaryDirectory(prefix=".ehrqa-load-", dir=out.parent) as work:
            made = Path(work) / "ehr"
            done = _write(Path(work), made, tables, folder=target.endswith("/"))
            if out.is_dir():
                shutil.rmtree(out)
            os.replace(made, out)
    except (OSError, duckdb.Error) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise ImportFailed(f"cannot write {out}: {first}", "is the disk full?") from error
    return done


def _replaceable(out: Path) -> bool:
    """Is it a file, or a folder with nothing but Parquet files in it?"""
    return out.is_file() or all(p.suffix == ".parquet" for p in out.iterdir())


def _write(work: Path, made: Path, tables: Iterable[LoadTable], *, folder: bool) -> Loaded:
    file = work / "ehr.duckdb"
    if folder:
        made.mkdir(mode=0o700)
    count = rows = 0
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"SET memory_limit = '{settings.memory()}'")
        connection.execute(f"SET temp_directory = {_text(work / 'temp')}")
        for table in tables:
            rows += _fill(connection, table, work / "rows.csv")
            count += 1
            if folder:
                _to_parquet(connection, table.name, made / f"{table.name}.parquet")
    if not folder:
        os.chmod(file, 0o600)
        os.replace(file, made)
    return Loaded(count, rows)


def _fill(connection: duckdb.DuckDBPyConnection, table: LoadTable, file: Path) -> int:
    """Make a table and fill it; how many rows."""
    name = _quoted(table.name)
    required = dict.fromkeys(table.required, " NOT NULL")
    listed = ", ".join(
        f"{_quoted(column)} {_TYPES.get(kind, 'VARCHAR')}{required.get(column, '')}"
        for column, kind in table.columns
    )
    connection.execute(f"CREATE TABLE {name} ({listed})")
    rows, done = iter(table.rows), 0
    while part := list(islice(rows, _PART)):
        _to_csv(file, part)
        connection.execute(
            f"COPY {name} FROM {_text(file)} (AUTO_DETECT false, HEADER false, DELIMITER ',', "
            f"QUOTE '\"', ESCAPE '\"', NULLSTR '{_NULL}')"
        )
        done += len(part)
    return done


def _to_csv(file: Path, rows: list[Row]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(
            [_NULL if v is None else v for v in row] for row in rows
        )


def _to_parquet(connection: duckdb.DuckDBPyConnection, table: str, out: Path) -> None:
    connection.execute(
        f"COPY {_quoted(table)} TO {_text(out)} "
        f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP})"
    )
    os.chmod(out, 0o600)
    connection.execute(f"DROP TABLE {_quoted(table)}")


def _text(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
