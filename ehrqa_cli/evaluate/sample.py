"""A part of a benchmark's questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def every_nth(items: Sequence[Item], limit: int | None) -> tuple[Item, ...]:
    """About ``limit`` of them spread evenly: the files are sorted by template, so that the first
    n would be of a few templates only."""
    if limit is None or limit >= len(items):
        return tuple(items)
    return tuple(items[i * len(items) // limit] for i in range(max(1, limit)))
