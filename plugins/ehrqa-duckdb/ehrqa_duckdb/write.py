"""Tables of plain values written to a DuckDB file, by way of CSV: rows one by one are slow."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb

from ehrqa_cli.contracts.sample import SampleTable

_TYPES = {"integer": "BIGINT", "real": "DOUBLE", "timestamp": "TIMESTAMP"}
_NULL = "\\N"


def write(path: Path, tables: Sequence[SampleTable]) -> Path:
    """Write ``tables`` to a new file at ``path`` and return it. Raises DuckDB's errors."""
    with duckdb.connect(str(path)) as connection, tempfile.TemporaryDirectory() as folder:
        for table in tables:
            listed = ", ".join(
                f"{_quoted(name)} {_TYPES.get(kind, 'VARCHAR')}" for name, kind in table.columns
            )
            connection.execute(f"CREATE TABLE {_quoted(table.name)} ({listed})")
            if not table.rows:
                continue
            file = Path(folder) / "rows.csv"
            with file.open("w", encoding="utf-8", newline="") as out:
                rows = csv.writer(out)
                for row in table.rows:
                    rows.writerow([_NULL if value is None else value for value in row])
            source = "'" + str(file).replace("'", "''") + "'"
            connection.execute(
                f"COPY {_quoted(table.name)} FROM {source} "
                "(AUTO_DETECT false, HEADER false, DELIMITER ',', QUOTE '\"', ESCAPE '\"', "
                f"NULLSTR '{_NULL}')"
            )
    return path


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
