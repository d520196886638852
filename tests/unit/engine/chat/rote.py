"""A real session over a small EHR, with a model that answers by rote."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.errors import Cancelled
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.engine import Session


class Rote(Text2Sql):
    """Writes one form, or what it was told to; "slowly" makes it write until it is ended."""

    name: ClassVar[str] = "rote"

    def __init__(self) -> None:
        self.ended = threading.Event()

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        if on_token is not None:
            on_token("count_patients")
        if "slowly" in question.text:
            assert self.ended.wait(20), "nobody ended it"
            raise Cancelled("cancelled", "")
        return [Query(None, "count_patients person", scores={"max_entropy": 0.01})]

    def cancel(self) -> None:
        self.ended.set()

    def resume(self) -> None:
        self.ended.clear()

    def provenance(self) -> Mapping[str, str]:
        return {"model": "rote", "sha256": "0" * 64}


def rote_session(db: Path, **parts: Any) -> Session:
    """Over the real database, with no opinion but the model's."""
    return Session(db, model=Rote(), judge=None, **parts)
