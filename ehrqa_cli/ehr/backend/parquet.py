"""Tables as Parquet files, written by DuckDB, which the plugin ehrqa-duckdb brings.

It is not among the program's own requirements: nothing that reads an EHR needs it here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.ehr.schema import TIME_TYPE, EhrTable

if TYPE_CHECKING:
    import duckdb

# Rows of a part of a file that is read, or passed over, as a whole.
ROW_GROUP = 122_880
_TYPES = {"INT": "BIGINT", "DOUBLE PRECISION": "DOUBLE", TIME_TYPE: "TIMESTAMP"}


def connect(memory: str | None = None, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """A connection to nothing, within ``memory`` ("2GB") and ``threads``.

    Raises UsageError where DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise UsageError(
            "Parquet files need DuckDB, which is not installed",
            "install ehrqa-duckdb with pip, or name a SQLite file or --format csv",
        ) from None
    connection = duckdb.connect(":memory:", config={"preserve_insertion_order": True})
    if memory is not None:
        connection.execute(f"SET memory_limit = '{memory}'")
    if threads is not None:
        connection.execute(f"SET threads = {int(threads)}")
    return connection


def type_of(column_type: str) -> str:
    """DuckDB's type for one of ``ehr.schema``'s; text for all but numbers and times."""
    return _TYPES.get(column_type, "VARCHAR")


def from_csv(table: EhrTable, source: Path, out: Path, order: str = "") -> None:
    """Write ``out`` from a CSV file with a header and the columns of ``table``; an empty field is
    NULL. The file appears when it is whole. Raises DuckDB's errors."""
    columns = ", ".join(f"'{c.name}': '{type_of(c.type)}'" for c in table.columns)
    with connect() as connection:
        copy(
            connection,
            f"SELECT * FROM read_csv({quoted(source)}, header = true, auto_detect = false, "
            f"delim = ',', quote = '\"', escape = '\"', columns = {{{columns}}})"
            + (f" ORDER BY {order}" if order else ""),
            out,
        )


def copy(connection: duckdb.DuckDBPyConnection, select: str, out: Path) -> None:
    """Write the rows of ``select`` to ``out``, which appears when it is whole."""
    part = out.with_name(f".{out.name}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
        connection.execute(
            f"COPY ({select}) TO {quoted(part)} "
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})"
        )
        os.replace(part, out)
    finally:
        part.unlink(missing_ok=True)


def quoted(path: Path) -> str:
    """A path as SQL's text."""
    return "'" + str(path).replace("'", "''") + "'"
