"""The rows an answer rests on, so that a person can open them."""

from __future__ import annotations

import time
from typing import Any

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, FormError
from ehrqa_cli.contracts.images import NotAnswered
from ehrqa_cli.contracts.types import Limits
from ehrqa_cli.engine.session_parts import SessionParts
from ehrqa_cli.logical_form import Form, evidence_queries

MOST = 20
# A limit of steps and not of time, so that two runs give the same rows: about a second where
# nothing else runs. That of time is for databases that count none, and for a slow disk.
STEPS = 100_000_000
SECONDS = 1.5
PATIENCE = 60.0  # seconds for a database that counts steps: only a very busy computer takes so long


def rows_for(form: Form, session: SessionParts, as_of: str) -> tuple[dict[str, Any], ...]:
    """At most MOST rows, best first, as {kind: row, table, key: {row_id}}.

    The queries come ranked; where they give too much, each keeps its fair share. Evidence that
    cannot be had within STEPS of a query, or SECONDS, is left out: it never fails an answer.
    """
    db, graphs = session.database, session.graphs
    try:
        queries = evidence_queries(form, session.layout)
    except FormError:
        return ()
    found: list[list[dict[str, Any]]] = []
    deadline = time.monotonic() + (PATIENCE if db.counts_steps else SECONDS)
    for table, sql in queries:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            limits = Limits(seconds=left, rows=MOST, steps=STEPS)
            result, _ = neuralsql.run(sql, db, as_of=as_of, limits=limits, graphs=graphs)
        except Cancelled:
            raise
        except (DatabaseError, NotAnswered):
            continue
        found.append([_row(table, row[0]) for row in result.rows if row[0] is not None])
    return _ranked(found)


def _row(table: str, row_id: Any) -> dict[str, Any]:
    return {"kind": "row", "table": table, "key": {"row_id": row_id}}


def _ranked(found: list[list[dict[str, Any]]]) -> tuple[dict[str, Any], ...]:
    unique: list[list[dict[str, Any]]] = []
    seen: set[tuple[str, Any]] = set()
    for rows in found:
        fresh = []
        for row in rows:
            key = (row["table"], row["key"]["row_id"])
            if key not in seen:
                seen.add(key)
                fresh.append(row)
        unique.append(fresh)
    share = _shares([len(rows) for rows in unique])
    return tuple(row for rows, n in zip(unique, share, strict=True) for row in rows[:n])


def _shares(sizes: list[int]) -> list[int]:
    """How many of each to keep: one at a time in turn, until MOST are taken."""
    share = [0] * len(sizes)
    while sum(share) < min(MOST, sum(sizes)):
        for i, size in enumerate(sizes):
            if share[i] < size and sum(share) < MOST:
                share[i] += 1
    return share
