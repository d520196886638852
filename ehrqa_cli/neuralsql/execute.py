"""NeuralSQL to rows: guard, bind, execute."""

from __future__ import annotations

from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result
from ehrqa_cli.neuralsql.guard import check
from ehrqa_cli.neuralsql.rules import Context, bind


def run(
    neuralsql: str, db: Database, *, as_of: str, limits: Limits | None = None
) -> tuple[Result, str]:
    """The rows of ``neuralsql`` and the SQL that was executed.

    ``as_of`` (YYYY-MM-DD HH:MM:SS) stands for now. Raises Refused, LimitExceeded, Cancelled or
    DatabaseError.
    """
    check(neuralsql)
    sql = bind(neuralsql, Context(as_of=as_of))
    return db.execute(sql, limits), sql
