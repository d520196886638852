"""``ehrqa sql``: a SELECT of the user's own, through the guard and limits every query has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from ehrqa_cli.cli import diagnostics, output
from ehrqa_cli.cli.answer_options import time_given
from ehrqa_cli.cli.options import as_of_option, database_path, db_option, json_option, open_database
from ehrqa_cli.contracts.errors import LimitExceeded, UsageError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result

Command = TypeVar("Command", bound=Callable[..., Any])
MAX_ROWS = 1_000_000


def query_options(command: Command) -> Command:
    """Add the options of sql and neuralsql to ``command``."""
    for option in reversed(
        [
            db_option,
            as_of_option,
            json_option,
            click.option("--csv", "as_csv", is_flag=True, help="Print CSV with a header."),
            click.option(
                "--seconds",
                type=click.FloatRange(min=0, min_open=True, max=3600),
                default=10.0,
                show_default=True,
                help="End the query after this time.",
            ),
            click.option(
                "--rows",
                type=click.IntRange(1, MAX_ROWS),
                default=1000,
                show_default=True,
                help="Refuse results with more rows.",
            ),
        ]
    ):
        command = option(command)
    return command


@click.command(short_help="Run a SELECT of your own, under the same guard and limits.")
@click.argument("query", metavar="SELECT")
@query_options
def sql(query: str, **flags: Any) -> int:
    """Run one SELECT ("-" reads it from standard input) on the EHR, which is opened read-only.

    current_time and 'now' mean --as-of. Everything but one SELECT is refused, and so are
    sqlite_master and pragma functions. A table on a terminal, tab-separated text in a pipe.

    \b
    Examples:
      ehrqa sql "SELECT gender, count(*) FROM patients GROUP BY gender" --db ehr.sqlite
      ehrqa sql "SELECT * FROM labevents" --rows 100000 --csv --db ehr.sqlite > labs.csv

    \b
    Exit codes: 0 with rows, 1 refused, wrong, or ended by a limit, 2 usage.
    """
    from ehrqa_cli.neuralsql import bind_time

    def run(text: str, database: Database, as_of: str, limits: Limits) -> Result:
        return database.execute(bind_time(text, as_of), replace(limits, now=as_of))

    return run_query(query, flags, run)


def run_query(
    query: str, flags: dict[str, Any], run: Callable[[str, Database, str, Limits], Result]
) -> int:
    """Read, run and print a query. Raises LimitExceeded when there are too many rows."""
    from ehrqa_cli.ehr.backend.now import now_in

    text = sys.stdin.read() if query == "-" else query
    if not text.strip():
        raise UsageError("the query is empty", 'write for example "SELECT count(*) FROM patients"')
    given = time_given(flags["as_of"])
    limits = Limits(seconds=flags["seconds"], rows=flags["rows"])
    path: Path = database_path(flags["db"])
    database = open_database(path)
    try:
        result = run(text, database, given or now_in(database), limits)
        if lacking := database.lacking(text):
            diagnostics.warn(f"this database does not record {lacking}")
    finally:
        database.close()
    if result.truncated:
        raise LimitExceeded(
            f"the query gives more than {limits.rows:,} rows",
            f"add a LIMIT to it, or raise --rows (up to {MAX_ROWS:,})",
        )
    _print(result, flags["as_json"], flags["as_csv"])
    return 0


def _print(result: Result, as_json: bool, as_csv: bool) -> None:
    if as_json:
        rows = [list(row) for row in result.rows]
        output.json_line({"columns": list(result.columns), "rows": rows})
    elif as_csv:
        output.csv_rows(result.columns, result.rows)
    else:
        first = result.rows[0] if result.rows else ()
        numeric = [i for i, cell in enumerate(first) if isinstance(cell, int | float)]
        output.table(result.columns, result.rows, numeric)
