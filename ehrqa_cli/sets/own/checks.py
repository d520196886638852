"""The builder's own answers beside the engine's: NeuralSQL run as a user's would be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ehrqa_cli import neuralsql
from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.contracts.images import ImageReader
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_cli.sets.making.shares import fraction

REFUSED, DIFFERENT = "the engine cannot run it", "the engine gives another answer"
_LIMITS = Limits(seconds=120.0, rows=100_000, length=50_000_000)


@dataclass(frozen=True)
class EngineCheck:
    """Runs the NeuralSQL of one attempt in ``every`` (1: of all), drawn by the ``seed``, on the
    file as it is, with the guard, the planner and the scene graphs; compares the rows as sets."""

    database: Database
    as_of: str
    graphs: ImageReader | None
    every: int
    seed: int

    def chosen(self, number: int) -> bool:
        """Is the attempt of this number one that is run?"""
        return fraction(self.seed, "check", number) < 1 / self.every

    def __call__(self, number: int, sql: str, rows: Sequence[Row]) -> str | None:
        """What is wrong, or None."""
        if not self.chosen(number):
            return None
        try:
            found, _ = neuralsql.run(
                sql, self.database, as_of=self.as_of, limits=_LIMITS, graphs=self.graphs
            )
        except Cancelled:
            raise
        except EhrqaError:
            return REFUSED
        if _plain(found.rows) != _plain(rows):
            return DIFFERENT
        return None


def _plain(rows: Sequence[Row]) -> frozenset[tuple[str, ...]]:
    return frozenset(
        tuple(f"{c:.3f}" if isinstance(c, float) else str(c) for c in row) for row in rows
    )
