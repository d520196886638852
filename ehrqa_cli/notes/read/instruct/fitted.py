"""The few numbers fitted for a model on our own questions: when it is believed, how options and
lines are weighed.

fitted.json holds them by the SHA-256 of the model's file. For another model those of ``other`` are
used, which decline only when the model does, and no confidence is given: none was measured.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ehrqa_cli.contracts.errors import ModelError

FILE = Path(__file__).with_name("fitted.json")
_PARTS = ("answered", "answered_choice", "option", "line")


@dataclass(frozen=True)
class Fitted:
    """Weights by feature of the null scores (with and without options), of an option and of a
    line. ``measured``: fitted for this very model."""

    answered: Mapping[str, float]
    answered_choice: Mapping[str, float]
    option: Mapping[str, float]
    line: Mapping[str, float]
    measured: bool


def fitted(model_sha256: str) -> Fitted:
    """The numbers for the model. Raises ModelError when fitted.json is damaged."""
    every = _read()
    part = every.get(model_sha256, every["other"])
    return Fitted(
        part["answered"],
        part["answered_choice"],
        part["option"],
        part["line"],
        measured=model_sha256 in every,
    )


def digest() -> str:
    """The SHA-256 of fitted.json, for provenance."""
    return hashlib.sha256(FILE.read_bytes()).hexdigest()


@cache
def _read() -> dict[str, dict[str, dict[str, float]]]:
    try:
        found: dict[str, dict[str, dict[str, float]]] = json.loads(FILE.read_text("utf-8"))
        for part in (found["other"], *found.values()):
            for name in _PARTS:
                dict(part[name])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{FILE} does not hold the numbers of the instruct reader",
            "restore it with `git checkout ehrqa_cli`, or install the ehrqa_cli wheel again",
        ) from error
    return found
