"""Logical-form coverage of EHRSQL-2024, on the database and on a perturbed copy.

``python tests/benchmarks/form_coverage.py --data DIR/ehrsql-2024``: for every answerable query,
is there a form whose compiled SQL gives the same rows? The perturbed copy has its rows shuffled
and its values, names and dates changed, so that agreement by accident shows.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import click
from shared import gold_queries

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.logical_form import compile_sql, parse, print_form
from ehrqa_cli.neuralsql import Context
from ehrqa_cli.neuralsql import bind as bind_names
from ehrqa_cli.sets.inverse import Unrecognised, invert

NOW = Context("2100-12-31 23:59:00")
_EXCHANGED = {
    "prescriptions": ("drug", "route"),
    "microbiologyevents": ("spec_type_desc", "test_name", "org_name"),
    "transfers": ("careunit",),
    "admissions": ("insurance", "marital_status", "admission_type", "admission_location"),
    "d_labitems": ("label",),
    "diagnoses_icd": ("icd_code",),
    "procedures_icd": ("icd_code",),
    "labevents": ("itemid",),
    "inputevents": ("itemid",),
    "outputevents": ("itemid",),
}
_SCALED = ("valuenum", "totalamount", "value", "cost", "dose_val_rx")
_WHOLE_STAYS = ("admissions", "icustays", "transfers", "patients")
Rows = list[list[object]]


def perturb(source: Path, out: Path, seed: int) -> None:
    """Write a copy with shuffled rows, exchanged names, scaled values and moved times."""
    rng = random.Random(seed)
    moved: dict[object, int] = {}
    uri = f"file:{source}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as old, closing(sqlite3.connect(out)) as new:
        tables = old.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        for name, ddl in tables:
            new.execute(ddl)
            cursor = old.execute(f"SELECT * FROM {name}")
            columns = [d[0] for d in cursor.description]
            rows: Rows = [list(r) for r in cursor]
            rng.shuffle(rows)
            _exchange(rows, [columns.index(c) for c in _EXCHANGED.get(name, ())], rng)
            _scale(rows, columns, rng)
            _move(rows, columns, name in _WHOLE_STAYS, moved, rng)
            marks = ",".join("?" * len(columns))
            new.executemany(f"INSERT OR IGNORE INTO {name} VALUES ({marks})", rows)
        new.commit()


def _exchange(rows: Rows, columns: list[int], rng: random.Random) -> None:
    for column in columns:
        chosen = [r for r in rows if rng.random() < 0.3]
        values = [r[column] for r in chosen]
        rng.shuffle(values)
        for row, value in zip(chosen, values, strict=True):
            row[column] = value


def _scale(rows: Rows, columns: list[str], rng: random.Random) -> None:
    for index, column in enumerate(columns):
        for row in rows:
            value = row[index]
            if column == "age" and isinstance(value, int):
                row[index] = max(18, value + rng.randint(-9, 9))
            elif column in _SCALED and isinstance(value, float) and rng.random() < 0.5:
                row[index] = round(value * rng.choice([0.5, 0.8, 1.25, 2]), 2)


def _move(
    rows: Rows, columns: list[str], whole: bool, moved: dict[object, int], rng: random.Random
) -> None:
    times = [i for i, c in enumerate(columns) if c.endswith("time") or c == "dod"]
    for row in rows:
        who = row[columns.index("subject_id")] if times else None
        for index in times:
            text = row[index]
            if not isinstance(text, str) or not text:
                continue
            days = moved.setdefault(who, rng.randint(-40, 5))
            jitter = 0 if whole else rng.choice([0, 0, 0, 60, -600, 1440, -4320])
            time = datetime.fromisoformat(text) + timedelta(days=days, minutes=jitter)
            row[index] = time.replace(year=min(time.year, 2100)).isoformat(" ")


def measure(db: Path, gold: dict[str, str]) -> tuple[Counter[str], list[str]]:
    """How many gold queries have no form, a form with other rows, or the same rows."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as ehr:
        for key, sql in gold.items():
            try:
                text = print_form(invert(sql))
                found = _rows(ehr, compile_sql(parse(text)))
            except (Unrecognised, EhrqaError) as error:
                counts["no form"] += 1
                wrong.append(f"{key}: {error}")
                continue
            same = found == _rows(ehr, sql)
            counts["same rows" if same else "other rows"] += 1
            if not same:
                wrong.append(f"{key}: {text}")
    return counts, wrong


def _rows(db: sqlite3.Connection, sql: str) -> list[str]:
    rows = db.execute(bind_names(sql, NOW)).fetchall()
    return sorted(repr([round(v, 3) if isinstance(v, float | int) else v for v in r]) for r in rows)


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--seed", default=1, show_default=True)
def main(data: Path, seed: int) -> None:
    """Print coverage for train and valid, on the original and on a perturbed database."""
    original = data / "mimic_iv.sqlite"
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "perturbed.sqlite"
        perturb(original, copy, seed)
        for split in ("train", "valid"):
            gold = gold_queries(data, split)
            for name, db in (("original", original), ("perturbed", copy)):
                counts, wrong = measure(db, gold)
                share = 100 * counts["same rows"] / len(gold)
                click.echo(f"{split:6} {name:10} {share:6.2f}% of {len(gold)}  {dict(counts)}")
                for line in wrong[:10]:
                    click.echo(f"    {line}")


if __name__ == "__main__":
    main()
