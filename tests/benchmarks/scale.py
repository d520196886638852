"""How fast are group questions on data of any size? Twenty of them, as logical forms.

``ehrqa db demo --format parquet --images --share 0.15 --patients N --out DIR`` makes the data: 100
events and 1.48 admissions a patient. ``python tests/benchmarks/scale.py --db DIR`` asks every
question three times through the door that ``ehrqa ask`` uses, linking and the model left out, and
prints the median and the fastest of each, and the median of all. ``--db TARGET`` takes an EHR on
any backend; ``--json FILE`` keeps the figures for scale_plot.py. ``--sqlite FILE`` first copies the
folder into a SQLite EHR with its indexes. Other work on the machine counts: the load is printed.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.images import ImageReader
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr import schema
from ehrqa_cli.ehr.backend import bulk
from ehrqa_cli.ehr.backend.now import now_in
from ehrqa_cli.ehr.open import open_database
from ehrqa_cli.logical_form import compile_sql, parse
from ehrqa_cli.vqa.tables import reader_of

COUNT, TOP, SURVIVAL = "count", "top", "survival"
COST, SEQUENCE, IMAGE = "cost", "sequence", "image"
QUESTIONS: tuple[tuple[str, str], ...] = (
    (COUNT, "count_patients admission current"),
    (COUNT, 'count_patients dx "hyperlipidemia, unspecified" since_ago "6 month"'),
    (COUNT, 'count lab "creatinine"'),
    (COUNT, 'avg_count per_day dx "hyperlipidemia, unspecified" since "2100"'),
    (TOP, "top 5 dx"),
    (TOP, "top 3 lab this_year"),
    (TOP, 'top 4 rx since_ago "1 year"'),
    (TOP, 'top 5 rx with ( dx "essential (primary) hypertension" ) samevisit'),
    (SURVIVAL, 'top_mortality 3 "3 month" dx'),
    (
        SURVIVAL,
        'survival "6 month" dx "unspecified atrial fibrillation" followed ( rx "heparin" )',
    ),
    (COST, 'cost rx "heparin"'),
    (COST, 'avg_total bill involving ( dx "type 2 diabetes mellitus without complications" )'),
    (COST, 'max_total bill involving ( lab "glucose" ) since_ago "1 year"'),
    (
        SEQUENCE,
        'count_patients rx "heparin" after ( dx "unspecified atrial fibrillation" ) samevisit',
    ),
    (
        SEQUENCE,
        'count_patients dx "hyperlipidemia, unspecified" after '
        '( dx "essential (primary) hypertension" ) within "2 month"',
    ),
    (
        SEQUENCE,
        'top 3 lab after ( proc "ultrasonography of heart with aorta, transesophageal" ) samevisit',
    ),
    (IMAGE, 'count_patients study showing ( "pneumonia" at "left lung" ) since "2100-06"'),
    (IMAGE, 'count_patients study showing ( "pleural effusion" ) female aged "60+"'),
    (IMAGE, "count_patients study showing ( abnormality ) this_year"),
    (
        IMAGE,
        'count_patients rx "furosemide" after ( study showing ( "pulmonary edema/hazy opacity" ) ) '
        "samevisit",
    ),
)
SECONDS = 120.0
LIMITS = Limits(seconds=600.0, rows=1000)  # of everything but the questions
EVENTS = (
    *("diagnoses_icd", "procedures_icd", "labevents", "prescriptions", "chartevents"),
    *("inputevents", "outputevents", "microbiologyevents", "icustays", "transfers"),
)


@dataclass(frozen=True)
class Often:
    """How often a question is asked, and the seconds after which it is given up."""

    times: int = 3
    seconds: float = SECONDS


@dataclass
class Asked:
    """One question: its kind and form, the seconds of each run, those of all processors of this
    process, which other work on the machine hardly changes, and what it gave."""

    kind: str
    form: str
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    told: str = ""
    error: str = ""


def ask(
    database: Database, graphs: ImageReader | None, kind: str, form: str, as_of: str, often: Often
) -> Asked:
    """Ask one question so many times; once when it fails."""
    asked = Asked(kind, form)
    limits = replace(LIMITS, seconds=often.seconds)
    for _ in range(often.times):
        started, before = time.monotonic(), time.process_time()
        try:
            result, _sql = neuralsql.run(
                compile_sql(parse(form)), database, as_of=as_of, limits=limits, graphs=graphs
            )
            asked.told = f"{len(result.rows)} rows, {result.rows[:1]}"
        except EhrqaError as error:
            asked.error = asked.told = f"ERROR {error}"
        asked.seconds.append(time.monotonic() - started)
        asked.cpu.append(time.process_time() - before)
        if asked.error:
            break
    return asked


def rows_of(database: Database) -> dict[str, int]:
    """How many rows each table has."""
    return {
        table: int(database.execute(f"SELECT COUNT(*) FROM {table}", LIMITS).rows[0][0] or 0)
        for table in database.schema()
    }


def to_sqlite(folder: Path, out: Path) -> None:
    """Copy a folder of Parquet into a SQLite EHR with the importer's tables and indexes."""
    import duckdb

    made = []
    with duckdb.connect() as source, bulk.new_database(out) as target:
        for known in (*schema.TABLES, *schema.OPTIONAL_TABLES):
            parts = folder / known.name
            path = parts / "*.parquet" if parts.is_dir() else folder / f"{known.name}.parquet"
            if not (parts.is_dir() or path.is_file()):
                continue
            rows_of_it = f"FROM read_parquet('{path}')"
            present = source.execute(f"DESCRIBE SELECT * {rows_of_it}").fetchall()
            table = known.only([name for name, *_ in present])
            made.append(table)
            times = {c.name for c in table.columns if c.type == schema.TIME_TYPE}
            columns = ", ".join(
                f"strftime({n}, '%Y-%m-%d %H:%M:%S')" if n in times else n for n in table.names()
            )
            target.execute(table.ddl())
            found = source.execute(f"SELECT {columns} {rows_of_it} ORDER BY row_id")
            marks = ", ".join("?" * len(table.columns))
            while rows := found.fetchmany(100_000):
                target.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)
        bulk.index(target, made)
        meta = source.execute(f"SELECT key, value FROM '{folder}/ehrqa_meta.parquet'").fetchall()
        bulk.write_meta(target, dict(meta))


def size_of(db: Path) -> int:
    """Bytes on the disk."""
    files = [p for p in db.rglob("*") if p.is_file()] if db.is_dir() else [db]
    return sum(p.stat().st_size for p in files if p.exists())


@click.command()
@click.option("--db", required=True, help="The EHR: a folder, a file, or a server's address.")
@click.option("--sqlite", type=click.Path(path_type=Path), help="Copy the folder to this file.")
@click.option("--times", default=3, show_default=True)
@click.option("--seconds", default=SECONDS, show_default=True, help="When one is given up.")
@click.option("--only", default="", help="Only questions of this kind.")
@click.option("--json", "json_file", type=click.Path(path_type=Path))
@click.option("--name", default="", help="The backend's name in the figures.")
def main(
    db: str,
    sqlite: Path | None,
    times: int,
    seconds: float,
    only: str,
    json_file: Path | None,
    name: str,
) -> None:
    """Print how long each question takes."""
    if sqlite is not None:
        started = time.monotonic()
        to_sqlite(Path(db), sqlite)
        click.echo(f"copied in {time.monotonic() - started:.0f} s")
        db = str(sqlite)
    before = os.getloadavg()[0]
    started = time.monotonic()
    database = open_database(db)
    opened = time.monotonic() - started
    as_of, graphs = now_in(database), reader_of(database)
    rows = rows_of(database)
    events, every = sum(rows.get(t, 0) for t in EVENTS), sum(rows.values())
    click.echo(f"{db}: {events:,} events, {every:,} rows, opened in {opened:.2f} s")
    done: list[Asked] = []
    for kind, form in QUESTIONS:
        if only and kind != only:
            continue
        asked = ask(database, graphs, kind, form, as_of, Often(times, seconds))
        done.append(asked)
        median, least = statistics.median(asked.seconds), min(asked.seconds)
        figures = f"{median:8.3f} {least:8.3f} s {min(asked.cpu):8.3f} cpu"
        click.echo(f"{figures}  {kind:8} {form[:60]:60}  {asked.told[:50]}")
    medians = [statistics.median(a.seconds) for a in done]
    least = [min(a.seconds) for a in done]
    cpu = [min(a.cpu) for a in done]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    load = (before, os.getloadavg()[0])
    click.echo(
        f"median {statistics.median(medians):.3f} s (fastest runs {statistics.median(least):.3f}), "
        f"longest {max(medians):.3f} s ({max(least):.3f}), of {len(done)} questions; "
        f"processors {statistics.median(cpu):.3f} s, longest {max(cpu):.3f} s; "
        f"peak {peak} MB, load {load[0]:.1f} to {load[1]:.1f}"
    )
    if json_file is not None:
        record = {
            "backend": name or database.dialect,
            "events": events,
            "rows": rows,
            "bytes": size_of(Path(db)),
            "opened": opened,
            "peak_mb": peak,
            "load": load,
            "questions": [vars(a) for a in done],
        }
        json_file.write_text(json.dumps(record, indent=1) + "\n")
    database.close()


if __name__ == "__main__":
    main()
