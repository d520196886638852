"""Another system's queries with the scores by which it doubts them, read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.ehrsql.load import NULL, Item
from ehrqa_cli.evaluate.files import hash_file
from ehrqa_cli.evaluate.predictions import check_all, parse_predictions
from ehrqa_cli.evaluate.systems import ABSTAIN, GOLD

Query = tuple[str | None, dict[str, float]]
_SHAPE = (
    'expected lines of {"id", "prediction", "scores": {"max_entropy": 0.1, ...}}; a prediction is '
    "SQL, or null where the system declined"
)


def read_written(path: Path, items: Mapping[str, Item]) -> tuple[dict[str, Query], dict[str, Any]]:
    """The query and scores of each of ``items``, by id, and what names them. ``path`` is a file, or
    the word gold or abstain. Raises EvaluationError."""
    if str(path) in (GOLD, ABSTAIN):
        gold = str(path) == GOLD
        found: dict[str, Query] = {key: (i.gold if gold else None, {}) for key, i in items.items()}
        return found, {"system": str(path)}
    raw = parse_predictions(path)
    check_all(path, items, raw)
    try:
        found = {key: _query(raw[key]) for key in items}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise EvaluationError(f"{path} holds no predictions with scores", _SHAPE) from None
    return found, {"file": path.name, "sha256": hash_file(path)}


def _query(value: Any) -> Query:
    scores: dict[str, float] = {}
    if isinstance(value, dict):
        scores = {str(k): float(v) for k, v in (value.get("scores") or {}).items()}
        value = value["prediction"]
    if value is not None and not isinstance(value, str):
        raise ValueError(value)
    return (None if value in (None, NULL) else value), scores
