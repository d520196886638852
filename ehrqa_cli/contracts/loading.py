"""An EHR to be written into a server (`ehrqa db import --to`), table by table.

The only writing that a database plugin does, and only there: a plugin that has it overrides
``Database.load``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ehrqa_cli.contracts.types import Row


@dataclass(frozen=True)
class LoadTable:
    """One table: its columns with what they hold (integer, real, text or timestamp), its rows.

    Timestamps are text ``YYYY-MM-DD HH:MM:SS``. ``rows`` are read once, one after the other.
    ``key`` names one row, ``required`` columns hold no NULL, each of ``unique`` no value twice;
    ``indexes`` are lists of columns that questions look rows up by.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: Iterable[Row]
    key: str | None = None
    required: frozenset[str] = frozenset()
    unique: tuple[str, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Loaded:
    """What was written: tables, rows, and what the user should know (a line each)."""

    tables: int
    rows: int
    notes: tuple[str, ...] = ()
