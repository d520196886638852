"""What compares two answers: here their words, where yours asks a model what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ehrqa_cli.contracts.judging import Judge, JudgedQuestion
from ehrqa_template import VERSION


class Equal(Judge):
    """Users choose it with ``--judge template``. It is made without arguments."""

    name: ClassVar[str] = "template"
    steady: ClassVar[bool] = True  # the same verdict for the same answers, always

    def judge(self, asked: JudgedQuestion) -> float:
        """1 for the same meaning, 0 for another."""
        return float(asked.gold.lower().split() == asked.predicted.lower().split())

    def provenance(self) -> Mapping[str, str]:
        """What it takes to repeat a verdict: names, versions, SHA-256 of weights and prompts."""
        return {"judge": "template", "version": VERSION}
