"""Thresholds of this program's variants: with every check off, and those that are in force."""

from __future__ import annotations

from collections.abc import Sequence

from ehrqa_cli.engine.confidence import KINDS
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.evaluate.records import Record
from ehrqa_cli.evaluate.thresholds import SECOND

# Where nothing was written there is nothing to run; every other check is off.
_OBEYED = ("model_declined", "no_form", "execution_error")
CHECKS_OFF = Thresholds(
    limit=None,
    ignore=tuple(kind for kind in KINDS if kind not in _OBEYED),
    source={"chosen": "all checks off"},
)


def in_force(shipped: Thresholds, records: Sequence[Record]) -> Thresholds:
    """Those of the shipped thresholds that the engine obeys: without the scores of a second
    opinion, the ones that were chosen without it."""
    if shipped.fast is None or any(name in r.scores for r in records for name in SECOND):
        return shipped
    return shipped.fast
