"""How fast are group questions on data of any size? Twenty of them, as logical forms.

``python tests/benchmarks/scale.py --from demo.sqlite --copies 24 --out DIR``: the demo EHR of
``ehrqa db demo`` is written to a folder of Parquet as often as asked, each time with other patients
(all ids moved on), and every question is asked three times through the door that ``ehrqa ask``
uses, linking and the model left out. Prints the median of each, and of all. ``--db TARGET`` asks an
EHR that is there already, on any backend.
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path

import click

from ehrqa_cli import neuralsql
from ehrqa_cli.contract_suite.database import sample_tables
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.open import now_in, open_database
from ehrqa_cli.logical_form import compile_sql, parse

# Counts, top-n, survival, cost, values, and sequences of two events.
QUESTIONS = (
    "count_patients admission current",
    'count_patients rx "heparin"',
    'count_patients dx "hyperlipidemia, unspecified" since_ago "6 month"',
    'count lab "creatinine"',
    'count specimen "blood culture" this_year',
    "top 5 dx",
    'top 4 rx since_ago "1 year"',
    "top 3 lab this_year",
    "top 3 vital",
    'top 5 rx with ( dx "essential (primary) hypertension" ) samevisit',
    'top 3 lab after ( proc "ultrasonography of heart with aorta, transesophageal" ) samevisit',
    'top_mortality 3 "3 month" dx',
    'survival "6 month" dx "unspecified atrial fibrillation" followed ( rx "heparin" )',
    'cost rx "heparin"',
    'avg_total bill involving ( dx "type 2 diabetes mellitus without complications" )',
    'max_total bill involving ( lab "glucose" ) since_ago "1 year"',
    'count_patients rx "heparin" after ( dx "unspecified atrial fibrillation" ) samevisit',
    'count_patients dx "hyperlipidemia, unspecified" after '
    '( dx "essential (primary) hypertension" ) within "2 month"',
    'max_count per_month dx "essential (primary) hypertension"',
    'avg_count per_day dx "hyperlipidemia, unspecified" since "2100"',
)
LIMITS = Limits(seconds=300.0, rows=1000)
_IDS = ("subject_id", "hadm_id", "stay_id", "row_id", "event_id", "transfer_id")
_DICTIONARIES = ("d_items", "d_labitems", "d_icd_diagnoses", "d_icd_procedures", "ehrqa_meta")


def write(source: Path, out: Path, copies: int) -> None:
    """A folder of Parquet with ``copies`` times the patients of a SQLite EHR."""
    import duckdb
    from ehrqa_duckdb.write import write as write_duckdb

    out.mkdir(parents=True)
    tables = sample_tables(source)
    made = write_duckdb(out / "one.duckdb", tables)
    with duckdb.connect(str(made), read_only=True) as connection:
        connection.execute("SET preserve_insertion_order = false")
        step = 1 + max(
            int(connection.execute(f"SELECT max({c}) FROM {t.name}").fetchall()[0][0] or 0)
            for t in tables
            for c, _ in t.columns
            if c in _IDS
        )
        for table in tables:
            once = table.name in _DICTIONARIES
            columns = [
                f"{c} + k.k * {step} AS {c}" if c in _IDS and not once else c
                for c, _ in table.columns
            ]
            many = "" if once else f", range({copies}) AS k(k)"
            connection.execute(
                f"COPY (SELECT {', '.join(columns)} FROM {table.name}{many}) "
                f"TO '{out / table.name}.parquet' (FORMAT parquet, COMPRESSION zstd)"
            )
    made.unlink()


def ask(database: Database, form: str, as_of: str, times: int) -> tuple[list[float], str]:
    """Seconds of each run of a question, and what it gave."""
    took: list[float] = []
    told = ""
    for _ in range(times):
        started = time.monotonic()
        try:
            result, _sql = neuralsql.run(
                compile_sql(parse(form)), database, as_of=as_of, limits=LIMITS
            )
            told = f"{len(result.rows)} rows, {result.rows[:1]}"
        except EhrqaError as error:
            told = f"ERROR {error}"
        took.append(time.monotonic() - started)
    return took, told


@click.command()
@click.option("--from", "source", type=click.Path(path_type=Path, exists=True))
@click.option("--copies", default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the Parquet files.")
@click.option("--db", type=click.Path(path_type=Path), help="Ask this one instead.")
@click.option("--times", default=3, show_default=True)
@click.option("--json", "json_file", type=click.Path(path_type=Path))
def main(
    source: Path | None,
    copies: int,
    out: Path | None,
    db: Path | None,
    times: int,
    json_file: Path | None,
) -> None:
    """Print how long each question takes."""
    if db is None:
        if source is None or out is None:
            raise click.UsageError("name --from and --out, or --db")
        started = time.monotonic()
        write(source, out, copies)
        click.echo(f"written in {time.monotonic() - started:.0f} s")
        db = out
    started = time.monotonic()
    database = open_database(db)
    opened = time.monotonic() - started
    as_of = now_in(database)
    events = sum(
        int(database.execute(f"SELECT COUNT(*) FROM {t}", LIMITS).rows[0][0] or 0)
        for t in database.schema()
    )
    click.echo(f"{db}: {events:,} rows in all, opened in {opened:.2f} s")
    medians: dict[str, float] = {}
    for form in QUESTIONS:
        took, told = ask(database, form, as_of, times)
        medians[form] = statistics.median(took)
        click.echo(f"{medians[form]:8.3f} s  {form[:70]:70}  {told[:60]}")
    median, worst = statistics.median(medians.values()), max(medians.values())
    click.echo(f"median {median:.3f} s, longest {worst:.3f} s, of {len(medians)} questions")
    if json_file is not None:
        json_file.write_text(json.dumps({"rows": events, "seconds": medians}, indent=1))
    database.close()


if __name__ == "__main__":
    main()
