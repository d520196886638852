"""A model that answers by rote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest

from ehrqa_cli import registry
from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_cli.engine import Session


class RoteModel(Text2Sql):
    """Writes a form for two questions and declines the rest; ``broken`` makes it fail."""

    name: ClassVar[str] = "rote"
    broken: ClassVar[Exception | None] = None

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        if self.broken is not None:
            raise self.broken
        if "how many patients" in question.text:
            return [Query(None, "count_patients person", scores={"max_entropy": 0.01})]
        places = [
            [i for i, link in enumerate(question.links, 1) if kind in link.types]
            for kind in ("lab", "pat")
        ]
        if "last" in question.text and len(question.links) == 2 and all(places):
            (lab, *_), (patient, *_) = places
            form = f"value last lab #{lab} patient #{patient}"
            return [Query(None, form, scores={"max_entropy": 0.01})]
        return []

    def provenance(self) -> Mapping[str, str]:
        return {"model": "rote", "sha256": "0" * 64}


@pytest.fixture
def rote(monkeypatch: pytest.MonkeyPatch) -> type[RoteModel]:
    """Use RoteModel in place of every text-to-SQL plugin, with no opinion but its own."""
    load = registry.load

    def load_rote(group: str, name: str, contract: type[Any]) -> type[Any]:
        return RoteModel if group == registry.TEXT2SQL else load(group, name, contract)

    monkeypatch.setattr(registry, "load", load_rote)
    monkeypatch.setattr(RoteModel, "broken", None)
    monkeypatch.setattr(Session, "judge", None)
    return RoteModel
