"""``ehrqa db info``: what a database holds, over which time, and what it does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ehrqa_cli.cli import output
from ehrqa_cli.cli.options import (
    TARGET,
    as_path,
    database_path,
    db_option,
    json_option,
    open_database,
    target_of,
)
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits

if TYPE_CHECKING:
    from ehrqa_cli.ehr.schema import EhrTable

COUNTING = Limits(seconds=600.0)  # a count of 300 million rows takes minutes


@click.command()
@click.argument("file", type=TARGET, callback=as_path, required=False)
@db_option
@json_option
def info(file: Path | None, db: Path | None, as_json: bool) -> int:
    """Describe the EHR in FILE or --db: rows and dates of its tables, what it lacks, and 'now'.

    \b
    Examples:
      ehrqa db info ehr.sqlite
      ehrqa db info --db ehr.sqlite --json
    """
    path = database_path(file or db)
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
            "tables": {n: _table(opened, n, list(c)) for n, c in opened.schema().items()},
            "encounters": _encounters(opened),
            "lacks": _absent(opened.schema()),
        }
    finally:
        opened.close()
    if as_json:
        output.json_line(facts)
    else:
        _print(facts)
    return 0


def _print(facts: Mapping[str, Any]) -> None:
    size = "" if facts["bytes"] is None else f", {facts['bytes'] / 1e6:,.1f} MB"
    output.line(f"{facts['file']}: {facts['dialect']}{size}")
    output.line(f"fingerprint {facts['fingerprint']}")
    output.line(f"'now' is {facts['as_of']} unless --as-of says otherwise")
    for key, value in facts["about"].items():
        output.line(f"{key}: {value}")
    rows = []
    for name, table in facts["tables"].items():
        outside = "" if table["outside_visits"] is None else f"{table['outside_visits']:,}"
        span = (table["first"] or "")[:10], (table["last"] or "")[:10]
        lacks = ", ".join(dict.fromkeys(table["lacks"].values()))
        rows.append((name, f"{table['rows']:,}", *span, outside, lacks))
    heads = ("table", "rows", "first", "last", "outside visits", "does not say")
    output.table(heads, rows, numeric=(1, 4))
    if facts["encounters"]:
        kinds = (f"{count:,} {kind}" for kind, count in facts["encounters"].items())
        output.line(f"Encounters: {', '.join(kinds)}")
    if facts["lacks"]:
        told = "; ".join(f"{about} ({name})" for name, about in facts["lacks"].items())
        output.line(f"Not in this database: {told}")


def _table(database: Database, name: str, columns: list[str]) -> dict[str, Any]:
    """Rows of a table, when the first and the last of them were, those of no hospital visit, and
    what it does not say, by column."""
    from ehrqa_cli.ehr.schema import BY_NAME

    known = BY_NAME.get(name.lower())
    have = {c.lower() for c in columns}
    time = known.time if known and known.time in have else None
    visits = known is not None and time is not None and "hadm_id" in have
    asked = ["count(*)"]
    asked += [f"min({time})", f"max({time})"] if time else ["NULL", "NULL"]
    asked += ["count(hadm_id)"] if visits else ["NULL"]
    quoted = name.replace('"', '""')
    sql = f'SELECT {", ".join(asked)} FROM "{quoted}"'
    rows, first, last, within = database.execute(sql, COUNTING).rows[0]
    count = int(rows or 0)
    return {
        "rows": count,
        "columns": columns,
        "first": None if first is None else str(first),
        "last": None if last is None else str(last),
        "outside_visits": count - int(within or 0) if visits else None,
        "lacks": _lacks(database, known, have) if known else {},
    }


def _lacks(database: Database, table: EhrTable, have: set[str]) -> dict[str, str]:
    """What a table does not say, by column, in words; "" is the column where it says nothing."""
    whole = database.lacking(f"SELECT count(*) FROM {table.name}")
    if whole:
        return {"": f"anything: no {whole}"}
    return {
        c.name: c.words
        for c in table.columns
        if (c.extra and c.name not in have)
        or (c.name in have and database.lacking(f"SELECT {c.name} FROM {table.name}"))
    }


def _encounters(database: Database) -> dict[str, int]:
    """How many encounters there are of each kind, the commonest first."""
    sql = "SELECT encounter, count(*) FROM admissions GROUP BY encounter ORDER BY 2 DESC, 1"
    if "encounter" not in database.schema().get("admissions", ()) or database.lacking(sql):
        return {}
    rows = database.execute(sql, COUNTING).rows
    return {str(kind): int(count or 0) for kind, count in rows if kind is not None}


def _absent(schema: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The tables that an EHR may have and this one has not, each with what it would hold."""
    from ehrqa_cli.ehr.schema import OPTIONAL_TABLES

    present = {name.lower() for name in schema}
    return {t.name: t.about for t in OPTIONAL_TABLES if t.about and t.name not in present}


def _size(path: Path) -> int:
    """Bytes of a file, or of the files in a folder."""
    files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)
