"""Fifty questions over a real OMOP CDM 5.4 data set, through its mapping, on three databases.

``python tests/benchmarks/omop.py --data SHARED/omop --work DIR [--on duckdb]``: the CSV files of
Synthea27Nj_5.4.zip (Eunomia, OHDSI, Apache-2.0; not part of this project) are loaded as they are
into SQLite, DuckDB and PostgreSQL, with the CDM's types. omop_questions.jsonl has questions in free
words, by the project's maintainers, each with SQL over OMOP's own tables; the gold is what that
gives on the raw SQLite file. Printed is how many are right, wrong and declined.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from ehrqa_cli import registry
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.ehr.open import open_database
from ehrqa_cli.engine.session import Session
from ehrqa_cli.evaluate.rows import same_rows

QUESTIONS = Path(__file__).with_name("omop_questions.jsonl")
ARCHIVE = "Synthea27Nj_5.4.zip"
ON = ("sqlite", "duckdb", "postgres")
_REAL = ("value_as_number", "range_low", "range_high", "quantity")
_TYPES = {"integer": "INTEGER", "real": "REAL", "timestamp": "TEXT", "text": "TEXT"}


def tables(data: Path) -> Iterator[SampleTable]:
    """The tables of the archive with the CDM's types; dates are times at 00:00:00."""
    with zipfile.ZipFile(data / ARCHIVE) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".csv") and "/" not in name:
                text = io.TextIOWrapper(archive.open(name), encoding="utf-8", newline="")
                header, *rows = csv.reader(text)
                held = zip(*rows, strict=True) if rows else [()] * len(header)
                columns = tuple(map(_column, header, held))
                yield SampleTable(
                    Path(name).stem.lower(),
                    columns,
                    tuple(tuple(map(_cell, row, columns)) for row in rows),
                )


def _column(name: str, values: Sequence[str]) -> tuple[str, str]:
    """Its name and what it holds. Some ids are text: a domain's, a device's."""
    name = name.lower()
    if name.endswith(("_date", "_datetime")):
        return name, "timestamp"
    whole = name.endswith(("_id", "_of_birth")) or name in ("days_supply", "refills")
    if whole and all(v == "" or v.lstrip("-").isdigit() for v in values):
        return name, "integer"
    return name, "real" if name in _REAL else "text"


def _cell(value: str, column: tuple[str, str]) -> Any:
    if value == "":
        return None
    kind = column[1]
    if kind == "timestamp":
        return value if len(value) > 10 else f"{value} 00:00:00"
    return int(value) if kind == "integer" else float(value) if kind == "real" else value


def raw(data: Path, work: Path) -> Path:
    """The archive as a SQLite file, as it is."""
    path = work / "omop.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as made:
        for table in tables(data):
            listed = ", ".join(f'"{name}" {_TYPES[kind]}' for name, kind in table.columns)
            made.execute(f"CREATE TABLE {table.name} ({listed})")
            marks = ",".join("?" * len(table.columns))
            made.executemany(f"INSERT INTO {table.name} VALUES ({marks})", table.rows)
        made.commit()
    return path


def target(on: str, data: Path, work: Path, sqlite: Path) -> Any:
    """What ``on`` opens; None where there is no such server."""
    if on == "sqlite":
        return sqlite
    plugin = registry.load(registry.DATABASE, on, Database)  # type: ignore[type-abstract]
    folder = work / on
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    return plugin.sample(folder, list(tables(data)))


def measure(opened: Any, asked: list[dict[str, str]], sqlite: Path, shown: bool) -> Counter[str]:
    """Ask them all. An answer is right when it has the rows of the gold query."""
    counts: Counter[str] = Counter()
    database = open_database(opened)
    with closing(sqlite3.connect(sqlite)) as ehr, Session(database=database, notes=None) as session:
        for one, answer in zip(asked, session.ask_many(a["question"] for a in asked), strict=True):
            gold = ehr.execute(one["gold_sql"]).fetchall()
            outcome = "failed" if answer.status == "failed" else "declined"
            if answer.status == "answered":
                outcome = "right" if same_rows(answer.rows, gold) else "wrong"
            counts[outcome] += 1
            if shown and outcome != "right":
                told = answer.rows[:3] if outcome == "wrong" else answer.reason or answer.error
                click.echo(f"  {one['id']} {outcome}: {one['question']}")
                click.echo(f"     {answer.description}: {told}; gold {gold[:3]}")
    return counts


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--work", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--on", type=click.Choice(ON), multiple=True, default=ON, show_default=True)
def main(data: Path, work: Path, on: tuple[str, ...]) -> None:
    """Print what became of the questions on each database."""
    work.mkdir(parents=True, exist_ok=True)
    asked = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    sqlite = raw(data, work)
    for shown, name in enumerate(on):
        opened = target(name, data, work, sqlite)
        if opened is None:
            click.echo(f"{name}: no server here")
            continue
        counts = measure(opened, asked, sqlite, shown == 0)
        told = ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
        click.echo(f"{name:9} {len(asked)} questions: {told}")


if __name__ == "__main__":
    main()
