"""The fitted weights of the reader: models/note_reader/weights.json, a few KB."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.modelstore import shipped

FILE = "note_reader/weights.json"
_PARTS = ("line", "option", "null", "null_choice", "right", "right_choice", "verdict")
_HINT = "restore it with `git checkout models`, or install the ehrqa_cli wheel again"


@dataclass(frozen=True)
class Weights:
    """Weights by feature name of the small models, and the thresholds of declining.

    ``right``, ``right_choice`` and ``verdict`` give the probability that an answer, a letter and a
    yes or no are right, as measured on questions left out of the fit.
    """

    line: Mapping[str, float]
    option: Mapping[str, float]
    null: Mapping[str, float]
    null_choice: Mapping[str, float]
    thresholds: Mapping[str, float]
    right: Mapping[str, float] = field(default_factory=dict)
    right_choice: Mapping[str, float] = field(default_factory=dict)
    verdict: Mapping[str, float] = field(default_factory=dict)
    sha256: str = ""


def load(path: Path | None = None) -> Weights:
    """The shipped weights, or those at ``path``. Raises ModelError."""
    return _load(path or shipped(FILE))


@lru_cache(maxsize=4)
def _load(path: Path) -> Weights:
    try:
        data = path.read_bytes()
        found = json.loads(data)
        parts = [{str(k): float(v) for k, v in found[name].items()} for name in _PARTS]
        thresholds = {name: float(found["thresholds"][name]) for name in ("null", "null_choice")}
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}", _HINT) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{path} does not hold the weights of a note reader", _HINT) from error
    sha256 = hashlib.sha256(data).hexdigest()
    return Weights(**dict(zip(_PARTS, parts, strict=True)), thresholds=thresholds, sha256=sha256)


def score(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    """The weighted sum of ``features``; one without a weight counts nothing."""
    return sum(weights.get(name, 0.0) * value for name, value in features.items())
