"""Raw MIMIC-IV through its mapping: does it answer as the imported database does?

``python tests/benchmarks/mapping_coverage.py --data SHARED --work DIR``: ``mimic-iv-demo`` is
imported with the defaults, and loaded as it is into SQLite (typed, with an index on every id) and
DuckDB. First all tables are compared row by row. Then the logical form of every answerable
question of EHRSQL-2024 (train and valid) is answered on both. The demo's times are MIMIC's own, so
the year 2100 of a question becomes the year of the first visit of the patient it names (else one
drawn by its number), and "now" the end of that year: else most answers would be empty.

``--target csv`` asks the folder itself. ``--published`` asks the forms as they are, at EHRSQL's own
"now", and compares with the published answers. Raw MIMIC-IV has other times, more visits and more
names than EHRSQL's database; which of these makes an answer differ is told by importing the demo
with one convention of EHRSQL's more at a time: the first import that gives the published answer.
"""

from __future__ import annotations

import csv
import gzip
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from shared import gold_queries

from ehrqa_cli.contract_suite.database import same_rows
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.mimic.importer import import_mimic
from ehrqa_cli.ehr.mimic.options import ImportOptions
from ehrqa_cli.ehr.open import open_database
from ehrqa_cli.logical_form import compile_sql, parse, print_form
from ehrqa_cli.neuralsql import Context, bind
from ehrqa_cli.sets.inverse import Unrecognised, invert

LIMITS = Limits(seconds=120.0, rows=3_000_000, length=1 << 30)
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_CODES = ("icd_code", "dose_val_rx", "drug", "label", "abbreviation")


def load_raw(source: Path, out: Path) -> None:
    """The CSV files of ``source`` as tables of a SQLite file: empty is NULL, ids have an index."""
    with closing(sqlite3.connect(out)) as made:
        for path in sorted(source.glob("*/*.csv.gz")):
            with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file))
            header, table = rows.pop(0), path.name.split(".")[0]
            kinds = [_kind(name, [row[i] for row in rows]) for i, name in enumerate(header)]
            listed = ", ".join(f"{n} {k}" for n, k in zip(header, kinds, strict=True))
            made.execute(f"CREATE TABLE {table} ({listed})")
            marks = ",".join("?" * len(header))
            made.executemany(
                f"INSERT INTO {table} VALUES ({marks})", ([v or None for v in row] for row in rows)
            )
            for name in header:
                if name in ("subject_id", "hadm_id", "stay_id", "itemid"):
                    made.execute(f"CREATE INDEX ix_{table}_{name} ON {table}({name})")
        made.commit()
        made.execute("ANALYZE")


def _kind(name: str, values: list[str]) -> str:
    present = [value for value in values if value]
    if name in _CODES or not present:
        return "TEXT"
    if all(_WHOLE.fullmatch(value) for value in present):
        return "INTEGER"
    return "REAL" if all(_NUMBER.fullmatch(value) for value in present) else "TEXT"


def to_duckdb(source: Path, out: Path) -> None:
    """The CSV files of ``source`` as tables of a DuckDB file, with types as DuckDB finds them;
    yes and no stay text."""
    import duckdb

    with duckdb.connect(str(out)) as made:
        for path in sorted(source.glob("*/*.csv.gz")):
            codes = ", types = {'icd_code': 'VARCHAR'}" if "icd" in path.name else ""
            made.execute(
                f"CREATE TABLE {path.name.split('.')[0]} AS SELECT * FROM "
                f"read_csv('{path}', sample_size = -1, auto_type_candidates = "
                f"['BIGINT', 'DOUBLE', 'DATE', 'TIMESTAMP', 'VARCHAR']{codes})"
            )


def forms(data: Path) -> Iterator[tuple[str, str, str]]:
    """(split/id, published SQL, SQL of its form) of the answerable questions."""
    for split in ("train", "valid"):
        for key, sql in gold_queries(data, split).items():
            try:
                yield f"{split}/{key}", sql, compile_sql(parse(print_form(invert(sql))))
            except (Unrecognised, EhrqaError) as error:
                click.echo(f"{split}/{key}: {error}")


def same_tables(found: Database, wanted: Database) -> dict[str, str]:
    """Tables whose rows differ (without row_id, in any order), and how."""
    wrong: dict[str, str] = {}
    for table, names in wanted.schema().items():
        columns = ", ".join(c for c in names if c != "row_id")
        sql = f"SELECT {columns} FROM {table}"
        one, other = (Counter(map(_shown, d.execute(sql, LIMITS).rows)) for d in (found, wanted))
        if one != other:
            only = [sorted((one - other).elements())[:2], sorted((other - one).elements())[:2]]
            wrong[table] = f"{(one - other).total()} and {(other - one).total()} only: {only}"
    return wrong


def _shown(row: tuple[object, ...]) -> str:
    return repr([*map(_plain, row)])


def _plain(value: object) -> object:
    """A number as such: a column of text may be read as numbers where a CSV has no types."""
    try:
        return round(float(str(value)), 9)
    except ValueError:
        return value


def answers(
    cases: list[tuple[str, str, str, str]], found: Database, wanted: Database
) -> tuple[Counter[str], list[float], list[float], list[str], int]:
    """Outcomes, seconds of each, what differs, and how many answers held something."""
    counts: Counter[str] = Counter()
    took: tuple[list[float], list[float]] = ([], [])
    wrong: list[str] = []
    filled = 0
    for key, asked, reference, now in cases:
        rows: list[Any] = []
        for database, sql, seconds in ((found, asked, took[0]), (wanted, reference, took[1])):
            started = time.monotonic()
            try:
                rows.append(database.execute(bind(sql, Context(now)), LIMITS).rows)
            except EhrqaError as error:
                rows.append(str(error))
            seconds.append(time.monotonic() - started)
        error = next((r for r in rows if isinstance(r, str)), None)
        outcome = "error" if error else "same" if _same(rows) else "other"
        counts[outcome] += 1
        filled += bool(not error and any(v not in (None, 0) for row in rows[1] for v in row))
        if outcome != "same":
            shown = error or f"{rows[0][:3]} instead of {rows[1][:3]}"
            wrong.append(f"{key}: {shown} {asked[:900]}")
    return counts, *took, wrong, filled


def _same(rows: list[Any]) -> bool:
    return same_rows(rows[0], rows[1], ordered=False)


def moved(data: Path, reference: Database) -> Iterator[tuple[str, str, str, str]]:
    """The forms, each at the time of a patient's own."""
    first = dict(
        reference.execute(
            "SELECT subject_id, min(strftime('%Y', admittime)) FROM admissions GROUP BY subject_id",
            LIMITS,
        ).rows
    )
    years = sorted(set(first.values()))
    for number, (key, _, sql) in enumerate(forms(data)):
        who = re.search(r"subject_id = (\d+)", sql)
        own = first.get(int(who[1])) if who else None
        year = str(own or years[number % len(years)])
        yield key, *[sql.replace("2100-", f"{year}-").replace("'2100'", f"'{year}'")] * 2, year


def compare_published(found: Database, source: Path, ehrsql: Path, work: Path) -> None:
    """Print how many published answers the mapping gives, and why not the others."""
    reference = SqliteDatabase.open(ehrsql / "mimic_iv.sqlite")
    people = reference.execute("SELECT subject_id FROM patients", LIMITS).rows
    whole = ImportOptions().as_ehrsql()
    stages = {
        "times and visits (--time-shift ehrsql)": ImportOptions(time_shift="ehrsql"),
        "names, titles, doses, units, discharges (--ehrsql)": whole,
        "four patients that EHRSQL left out": replace(
            whole, patients=frozenset(int(str(row[0])) for row in people)
        ),
    }
    imports: dict[str, Database] = {}
    for number, (name, options) in enumerate(stages.items()):
        path = work / f"stage{number}.sqlite"
        if not path.exists():
            import_mimic(source, path, options)
        imports[name] = SqliteDatabase.open(path)
    counts: Counter[str] = Counter()
    lost: list[str] = []
    for key, gold, form in forms(ehrsql):
        now = Context("2100-12-31 23:59:00")
        wanted = reference.execute(bind(gold, now), LIMITS).rows
        asked = bind(form, now)
        if found.lacking(asked):
            counts["declined: costs"] += 1
        elif _same([found.execute(asked, LIMITS).rows, wanted]):
            counts["the published answer"] += 1
        else:
            told = (n for n, d in imports.items() if _same([d.execute(asked, LIMITS).rows, wanted]))
            cause = next(told, "unexplained")
            counts[cause] += 1
            lost += [f"{key}: {asked[:600]}"] if cause == "unexplained" else []
    for name, count in counts.most_common():
        click.echo(f"{count:6,} {name}")
    for line in lost[:20]:
        click.echo(f"    {line}")


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--work", type=click.Path(path_type=Path), required=True, help="For the databases.")
@click.option("--target", type=click.Choice(["sqlite", "duckdb", "csv"]), default="sqlite")
@click.option("--published", is_flag=True, help="Compare with the published answers.")
@click.option("--most", default=0, help="Only this many questions.")
def main(data: Path, work: Path, target: str, published: bool, most: int) -> None:
    """Print how many answers are the same."""
    work.mkdir(parents=True, exist_ok=True)
    source, ehrsql = data / "mimic-iv-demo", data / "ehrsql-2024"
    places = {"sqlite": work / "raw.sqlite", "duckdb": work / "raw.duckdb", "csv": source}
    if not places[target].exists():
        (load_raw if target == "sqlite" else to_duckdb)(source, places[target])
    imported = work / "imported.sqlite"
    if not imported.exists():
        import_mimic(source, imported, ImportOptions())
    if published:
        compare_published(open_database(places[target]), source, ehrsql, work)
        return
    found, wanted = open_database(places[target]), open_database(imported)
    cases = [(k, a, b, f"{y}-12-31 23:59:00") for k, a, b, y in moved(ehrsql, wanted)]
    for table, why in same_tables(found, wanted).items():
        click.echo(f"{table}: {why[:1500]}")
    counts, mine, theirs, wrong, filled = answers(cases[: most or None], found, wanted)
    click.echo(f"{target}: {dict(counts)} of {len(mine)}; {filled} answers hold something")
    for name, seconds in (("mapped", sorted(mine)), ("reference", sorted(theirs))):
        middle, worst = seconds[len(seconds) // 2] * 1000, seconds[-1] * 1000
        click.echo(f"    {name:9} median {middle:7.1f} ms, most {worst:8.1f} ms")
    for line in wrong[:40]:
        click.echo(f"    {line}")


if __name__ == "__main__":
    main()
