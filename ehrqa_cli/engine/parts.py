"""What a session is made of: how sure to be, what its parts must do, and those that are shipped."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Protocol

from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.text2sql.linking.namesakes import Namesakes

THRESHOLDS_FILE = "text2sql/thresholds.json"


class Mode(StrEnum):
    """How much is done to be sure: ``careful`` asks a larger model for the same answer too."""

    NORMAL = "normal"
    CAREFUL = "careful"


class Linker(Protocol):
    """What the engine needs of text2sql.linking.Linker."""

    def link(
        self, question: str, *, patient_id: int | None = None, study_id: int | None = None
    ) -> LinkedQuestion:
        """Tie spans of the question to values of the database."""

    def namesakes(self, mention: str, kind: str, value: str) -> Namesakes:
        """What else of the database the mention that was linked to a value fits."""

    def shared(self, kind: str, value: str) -> int:
        """How many items of the database have this name."""


def shipped_model() -> Path:
    """The model file named by the manifest under models/text2sql. Raises ModelError."""
    from ehrqa_cli import modelstore

    return modelstore.shipped_in("text2sql").path


def shipped_thresholds() -> Thresholds | None:
    """Those stored with the shipped model, if any. Raises UsageError for a broken file."""
    from ehrqa_cli import modelstore

    path = modelstore.models_root() / THRESHOLDS_FILE
    return Thresholds.load(path) if path.is_file() else None
