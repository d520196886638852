"""The gold logical forms of EHRSQL-2024 on another database: do they give the published answers?

``python tests/benchmarks/backend_coverage.py --data DIR/ehrsql-2024 --backend duckdb``: the
database is copied into the backend (by its plugin's own ``sample``), and every answerable question
of train and valid is answered there by its form, compiled and translated, and compared with the
published query's rows on SQLite. Rows are compared without their order; real numbers to 9 digits,
because a sum in another order is another in the last ones. ``--questions sql`` translates the
published queries themselves. A run that was broken off goes on where it ended (``--out``).
``--target`` asks a database that holds the same rows already (`ehrqa db import FILE --to ADDRESS`
makes one in a server, with its indexes).
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from shared import gold_queries, rows_of

from ehrqa_cli import registry
from ehrqa_cli.contract_suite.database import same_rows, sample_tables, wrapped
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.logical_form import compile_sql, parse, print_form
from ehrqa_cli.neuralsql import Context, bind
from ehrqa_cli.sets.inverse import Unrecognised, invert

NOW = Context("2100-12-31 23:59:00")
LIMITS = Limits(seconds=120.0, rows=100_000)


def gold(data: Path, most: int, seed: int) -> Iterator[tuple[str, str]]:
    """(split/id, published SQL) of the answerable questions; a sample of ``most`` of them."""
    found: list[tuple[str, str]] = []
    for split in ("train", "valid"):
        found += [(f"{split}/{key}", sql) for key, sql in gold_queries(data, split).items()]
    random.Random(seed).shuffle(found)
    yield from found[:most] if most else found


def answered(sql: str, questions: str, target: Database, reference: Database) -> dict[str, Any]:
    """One question on both: ``same``, ``other`` or ``error``, and the seconds of each."""
    published = bind(sql, NOW)
    try:
        form = print_form(invert(sql)) if questions == "forms" else ""
        asked = bind(compile_sql(parse(form)), NOW) if form else published
        wanted = reference.execute(published, LIMITS)
        started = time.monotonic()
        target.spelled(asked)
        written = time.monotonic()
        found = target.execute(asked, LIMITS)
    except (Unrecognised, EhrqaError) as error:
        return {"outcome": "error", "why": str(error), "sql": sql}
    same = same_rows(found.rows, wanted.rows, ordered=False)
    shown: dict[str, Any] = {} if same else {"form": form, "found": found.rows[:3]}
    seconds = {
        "translate": written - started,
        "sqlite": wanted.elapsed,
        "backend": found.elapsed,
    }
    return {"outcome": "same" if same else "other", "seconds": seconds, **shown}


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--backend", default="duckdb", show_default=True)
@click.option("--questions", type=click.Choice(["forms", "sql"]), default="forms")
@click.option("--sample", "most", default=0, help="This many questions [default: all].")
@click.option("--seed", default=7, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="JSON Lines of outcomes, to go on.")
@click.option("--target", help="Where the rows are already [default: a copy is made].")
def main(
    data: Path,
    backend: str,
    questions: str,
    most: int,
    seed: int,
    out: Path | None,
    target: str | None,
) -> None:
    """Print how many questions give the published rows on a backend."""
    plugin = registry.load(registry.DATABASE, backend, Database)  # type: ignore[type-abstract]
    done = {record["id"]: record for record in rows_of(out)} if out is not None else {}
    original = data / "mimic_iv.sqlite"
    with tempfile.TemporaryDirectory() as folder:
        made = target or plugin.sample(Path(folder), sample_tables(original))
        if made is None:
            raise click.ClickException(f"{backend} cannot make a database here")
        reference, copy = SqliteDatabase.open(original), wrapped(plugin.open(made))
        for key, sql in gold(data, most, seed):
            if key in done:
                continue
            done[key] = {"id": key, **answered(sql, questions, copy, reference)}
            if out is not None:
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(done[key]) + "\n")
        copy.close()
        reference.close()
    _report(backend, questions, list(done.values()))


def _report(backend: str, questions: str, records: list[dict[str, Any]]) -> None:
    counts = Counter(record["outcome"] for record in records)
    share = 100 * counts["same"] / max(1, len(records))
    click.echo(f"{backend} {questions}: {share:.2f}% of {len(records)}  {dict(counts)}")
    for name in ("translate", "sqlite", "backend"):
        took = sorted(r["seconds"][name] for r in records if "seconds" in r)
        if took:
            median, worst = took[len(took) // 2] * 1000, took[-1] * 1000
            click.echo(f"    {name:9} median {median:7.1f} ms, most {worst:8.1f} ms")
    for record in [r for r in records if r["outcome"] != "same"][:10]:
        click.echo(f"    {json.dumps(record)[:600]}")


if __name__ == "__main__":
    main()
