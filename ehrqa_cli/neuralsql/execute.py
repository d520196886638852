"""NeuralSQL to rows: guard, bind, plan, answer, execute."""

from __future__ import annotations

from dataclasses import replace

from ehrqa_cli.contracts.images import ImageReader, ImageTables
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Result
from ehrqa_cli.neuralsql.done import Execution
from ehrqa_cli.neuralsql.guard import VQA, check
from ehrqa_cli.neuralsql.joined import Joined
from ehrqa_cli.neuralsql.rules import Context, bind
from ehrqa_cli.neuralsql.spliced import Spliced


def run(
    neuralsql: str,
    db: Database,
    *,
    as_of: str,
    limits: Limits | None = None,
    graphs: ImageReader | None = None,
) -> tuple[Result, str]:
    """The rows of ``neuralsql`` and the SQL that was executed.

    ``as_of`` (YYYY-MM-DD HH:MM:SS) stands for now; ``graphs`` answers the calls of FUNC_VQA.
    Raises Refused, LimitExceeded, Cancelled, DatabaseError, or NotAnswered for an abstention.
    """
    done = execute(neuralsql, db, as_of=as_of, limits=limits, graphs=graphs)
    return done.result, done.sql


def execute(
    neuralsql: str,
    db: Database,
    *,
    as_of: str,
    limits: Limits | None = None,
    graphs: ImageReader | None = None,
) -> Execution:
    """As ``run``, with the plan and what became of it."""
    check(neuralsql, images=graphs is not None)
    sql = bind(neuralsql, Context(as_of=as_of))
    limits = replace(limits or Limits(), now=as_of)
    if graphs is None or VQA not in sql.lower():
        return Execution(db.execute(sql, limits), db.spelled(sql))
    if isinstance(graphs, ImageTables) and graphs.holds(db):
        return Joined(sql, db, limits, graphs).execution()
    return Spliced(sql, db, limits, graphs).execution()
