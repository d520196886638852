"""What writes queries: here two patterns, where yours asks a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from ehrqa_cli.contracts.plugins import Text2Sql
from ehrqa_cli.contracts.types import LinkedQuestion, Query
from ehrqa_template import VERSION


class Model(Text2Sql):
    """Users choose it with ``--model template``. It is made without arguments."""

    name: ClassVar[str] = "template"

    def generate(
        self, question: LinkedQuestion, on_token: Callable[[str], None] | None = None
    ) -> list[Query]:
        """Queries, best first; an empty list declines the question.

        ``question.text`` has placeholders (``<lab>#1``) for the values that were found in the
        database; ``question.links`` says what each of them is.
        """
        words = question.text.lower()
        if words.startswith("how many patients are there"):
            return [self._query(None, "count_patients person")]  # a logical form ...
        if "youngest" in words:
            # ... or SQL in SQLite's dialect, over the tables of docs/import.md, on any backend.
            return [self._query("SELECT MIN(admissions.age) FROM admissions")]
        return []

    def _query(self, sql: str | None, form: str | None = None) -> Query:
        # Scores are measured by your model (natural logarithms), never made up; {} for none.
        return Query(sql, form, scores={})

    def provenance(self) -> Mapping[str, str]:
        """What it takes to repeat an answer: names, versions, SHA-256 of weights and prompts."""
        return {"model": "template", "version": VERSION}
