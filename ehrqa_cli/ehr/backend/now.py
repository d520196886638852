"""What ``current_time`` means in a database when nobody says."""

from __future__ import annotations

from collections.abc import Iterable

from ehrqa_cli.contracts.errors import DatabaseError, UsageError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits

_LONGEST = Limits(seconds=600.0)


def now_in(database: Database) -> str:
    """What the database says that now is. Raises UsageError when its data do not tell."""
    told = database.default_as_of()
    if told is None:
        raise UsageError("this database does not say when it ends", "name a time with --as-of")
    return told


def end_of(database: Database, dated: Iterable[tuple[str, str]], name: str) -> str:
    """23:59:00 on 31 December of the year of the last event; ``dated`` are (table, column) of what
    dates events, ``name`` is what the user calls it. Raises DatabaseError where there is none."""
    latest = ""
    for table, column in dated:
        rows = database.execute(f"SELECT max({column}) FROM {table}", _LONGEST).rows
        latest = max(latest, str(rows[0][0] or ""))
    if not latest[:4].isdigit():
        raise DatabaseError(f"{name} holds no dated event", "say what now means with --as-of TIME")
    return f"{latest[:4]}-12-31 23:59:00"
