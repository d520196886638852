"""A small EHR as plain values, from which a database plugin makes one to be checked with."""

from __future__ import annotations

from dataclasses import dataclass

from ehrqa_cli.contracts.types import Row


@dataclass(frozen=True)
class SampleTable:
    """One table: its columns with what they hold (integer, real, text or timestamp), its rows.

    Timestamps are text ``YYYY-MM-DD HH:MM:SS``, to be kept as the database keeps times best.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
