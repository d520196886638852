"""The evidence of an answer, as a person opens it: notes with marks, images, rows in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.types import Answer, Result
from ehrqa_cli.engine.session import Session


@dataclass(frozen=True)
class NoteLine:
    """One line of a note with the character ranges to mark."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class NoteView:
    """A note with what an answer cites of it marked."""

    note_id: str
    patient_id: int
    charttime: str | None
    category: str
    lines: tuple[NoteLine, ...]
    first_marked: int = 0


@dataclass(frozen=True)
class Finding:
    """What an image shows, and where."""

    name: str
    place: str | None
    probability: float
    present: bool


@dataclass(frozen=True)
class ImageView:
    """The image of a study and what its reader sees in it."""

    study_id: int
    path: Path | None = None
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    view: str | None = None
    sex: str | None = None


def note_view(db: Path, note_id: str, spans: Sequence[tuple[int, int]] = ()) -> NoteView:
    """One note with these spans marked."""
    raise NotImplementedError


def note_views(db: Path, answer: Answer) -> tuple[NoteView, ...]:
    """All notes that an answer cites."""
    return ()


def image_view(session: Session, study_id: int) -> ImageView:
    """The image of a study."""
    return ImageView(study_id)


def image_studies(answer: Answer) -> tuple[int, ...]:
    """The studies that an answer rests on."""
    return ()


def evidence_rows(session: Session, answer: Answer) -> tuple[tuple[str, Result], ...]:
    """The cited rows in full, table by table."""
    return ()
