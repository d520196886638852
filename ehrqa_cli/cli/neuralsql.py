"""``ehrqa neuralsql``: a NeuralSQL query of the user's own."""

from __future__ import annotations

from typing import Any

import click

from ehrqa_cli.cli.sql import query_options, run_query
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result


@click.command(short_help="Run a NeuralSQL query of your own.")
@click.argument("query", metavar="QUERY")
@query_options
def neuralsql(query: str, **flags: Any) -> int:
    """Run a NeuralSQL QUERY ("-" reads it from standard input) on the EHR.

    NeuralSQL is SQL as the models write it: current_time means --as-of, and the bounds of vital
    signs stand as names such as heart_rate_upper.

    \b
    Examples:
      ehrqa neuralsql "SELECT count(*) FROM admissions
          WHERE admittime < datetime(current_time, '-1 year')" --db ehr.sqlite

    \b
    Exit codes: 0 with rows, 1 refused, wrong, or ended by a limit, 2 usage.
    """
    from ehrqa_cli.neuralsql import run as run_neuralsql

    def run(text: str, database: Database, as_of: str, limits: Limits) -> Result:
        return run_neuralsql(text, database, as_of=as_of, limits=limits)[0]

    return run_query(query, flags, run)
