"""Whether a release is too large for SQLite, by the size of its files and rates that were measured
(docs/scale.md)."""

from __future__ import annotations

from pathlib import Path

_MANY = 30_000_000  # rows from which questions about groups wait for SQLite
_CSV_BYTES = {".csv": 90, ".gz": 11}  # of a row in MIMIC-IV's files
_A_SECOND = 250_000  # rows imported, indexes and all, on one core
_BYTES = {"SQLite": 150, "DuckDB": 36}  # of a row


def advice(source: Path) -> str:
    """What to do with more rows than SQLite answers quickly, in a line; "" for fewer."""
    files = [file for file in source.glob("*/*.csv*") if file.suffix in _CSV_BYTES]
    rows = sum(file.stat().st_size // _CSV_BYTES[file.suffix] for file in files)
    if rows < _MANY:
        return ""
    hours, gigabytes = rows / _A_SECOND / 3600, {k: rows * b / 1e9 for k, b in _BYTES.items()}
    return (
        f"about {rows / 1e6:,.0f} million rows: {hours:.1f} h and {gigabytes['SQLite']:,.0f} GB in "
        "SQLite, where questions about groups will take minutes; --to duckdb (or parquet) makes "
        f"about {gigabytes['DuckDB']:,.0f} GB of them and answers in seconds"
    )
