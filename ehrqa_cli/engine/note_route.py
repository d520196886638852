"""Interim (being replaced): where a question's answer stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.types import LinkedQuestion, Scope


@dataclass(frozen=True)
class Decision:
    scope: Scope
    other: bool
    reason: str


@dataclass(frozen=True)
class NoteRouter:
    @classmethod
    def load(cls, path: Path | None = None) -> NoteRouter:
        return cls()

    def note_score(self, text: str, linked: LinkedQuestion | None = None) -> float:
        return 0.5

    def provenance(self) -> Mapping[str, str]:
        return {}


def choose(
    score: float,
    *,
    has_notes: bool,
    in_tables: bool,
    table_reason: str | None = None,
    table_risk: float | None = None,
    forced: Scope | None = None,
) -> Decision:
    if forced is not None:
        return Decision(forced, False, "the scope was given")
    if not has_notes:
        return Decision(Scope.TABLE, False, "there are no notes")
    if not in_tables:
        return Decision(Scope.NOTE, False, "the patient is known only from notes")
    if table_reason:
        return Decision(Scope.NOTE, False, "tables decline")
    return Decision(Scope.NOTE if score > 0.5 else Scope.TABLE, True, "by its words")
