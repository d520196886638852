"""``ehrqa db``: make an EHR database, or describe one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ehrqa_cli.cli import output
from ehrqa_cli.cli.db.demo import demo
from ehrqa_cli.cli.db.importing import import_command
from ehrqa_cli.cli.db.mapping import map_command
from ehrqa_cli.cli.options import (
    TARGET,
    as_path,
    database_path,
    json_option,
    open_database,
    target_of,
)
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits

COUNTING = Limits(seconds=600.0)  # a count of 300 million rows takes minutes


@click.group(short_help="Import MIMIC-IV files, build the demo EHR, describe a database.")
def db() -> None:
    """Make an EHR database, or describe one.

    \b
    Examples:
      ehrqa db demo --out demo.sqlite
      ehrqa db import mimic-iv-2.2 --out ehr.sqlite
      ehrqa db info ehr.sqlite
    """


db.add_command(demo)
db.add_command(import_command)
db.add_command(map_command)


@db.command()
@click.argument("file", type=TARGET, callback=as_path, required=False)
@json_option
def info(file: Path | None, as_json: bool) -> int:
    """Describe the EHR in FILE: its tables, rows, columns, and what 'now' means in it.

    \b
    Examples:
      ehrqa db info ehr.sqlite
      ehrqa db info ehr.sqlite --json
    """
    path = database_path(file)
    shown = target_of(path)
    opened = open_database(path)
    try:
        facts: dict[str, Any] = {
            "file": shown,
            "bytes": None if shown != str(path) else _size(path),
            "dialect": opened.dialect,
            "fingerprint": opened.fingerprint(),
            "as_of": opened.default_as_of(),
            "about": dict(getattr(opened, "meta", {})),
            "tables": {
                table: {"rows": _count(opened, table), "columns": list(columns)}
                for table, columns in opened.schema().items()
            },
        }
    finally:
        opened.close()
    if as_json:
        output.json_line(facts)
        return 0
    size = "" if facts["bytes"] is None else f", {facts['bytes'] / 1e6:,.1f} MB"
    output.line(f"{shown}: {facts['dialect']}{size}")
    output.line(f"fingerprint {facts['fingerprint']}")
    output.line(f"'now' is {facts['as_of']} unless --as-of says otherwise")
    for key, value in facts["about"].items():
        output.line(f"{key}: {value}")
    rows = [
        (name, table["rows"], ", ".join(table["columns"]))
        for name, table in facts["tables"].items()
    ]
    output.table(("table", "rows", "columns"), rows, numeric=(1,))
    return 0


def _size(path: Path) -> int:
    """Bytes of a file, or of the files in a folder."""
    files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def _count(database: Database, table: str) -> int:
    quoted = table.replace('"', '""')
    return int(database.execute(f'SELECT count(*) FROM "{quoted}"', COUNTING).rows[0][0] or 0)
