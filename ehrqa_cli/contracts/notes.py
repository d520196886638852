"""What flows between the finder of lines in clinical notes, their reader, and those who ask.

Offsets count characters of ``Note.text``, the note as it was imported: ``text[start:end]`` is what
is quoted, always.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class Note:
    """One clinical note. ``charttime`` is as the source writes it (ISO 8601), or None."""

    note_id: str
    patient_id: int
    text: str
    hadm_id: int | None = None
    charttime: str | None = None
    category: str = "discharge summary"


class Stance(StrEnum):
    """How a line speaks of what it mentions (NegEx and ConText's distinctions)."""

    STATED = "stated"
    NEGATED = "negated"
    FAMILY = "family"  # of a relative
    PLANNED = "planned"  # to be done, ordered, recommended, if needed
    UNSURE = "unsure"  # possible, rule out, cannot be excluded


@dataclass(frozen=True)
class Line:
    """One line or sentence of a note, at most 300 characters where it can be cut.

    ``section`` is the canonical name of the section it stands in (``history of present illness``,
    ``discharge medications``), "" before the first header; ``kind`` is ``header``, ``text``,
    ``item`` (of a list), ``medication`` or ``lab``; ``number`` counts the lines of its note from 0.
    """

    note_id: str
    number: int
    start: int
    end: int
    text: str
    section: str = ""
    kind: str = "text"


@dataclass(frozen=True)
class FoundLine:
    """A line that may bear on a question, with a score (larger is better) and its stance.

    ``charttime`` is that of its note.
    """

    line: Line
    score: float
    stance: Stance = Stance.STATED
    charttime: str | None = None


@dataclass(frozen=True)
class NoteSpan:
    """A quoted piece of a note: ``excerpt`` is ``text[start:end]``, at most 300 characters."""

    note_id: str
    start: int
    end: int
    excerpt: str
    score: float = 0.0


@dataclass(frozen=True)
class NoteAnswer:
    """What a reader makes of lines: ``text`` None where it declines, and then ``reason`` says why.

    ``confidence`` is measured, in 0..1, or None. ``choice`` is the letter where choices were given.
    ``spans`` are cited best first.
    """

    text: str | None
    spans: tuple[NoteSpan, ...] = ()
    confidence: float | None = None
    choice: str | None = None
    reason: str = ""
    kind: str = ""
