"""What the worker tells the screen. ``ticket`` is the number under which a question was sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.message import Message

if TYPE_CHECKING:
    from ehrqa_cli.contracts.errors import EhrqaError
    from ehrqa_cli.contracts.types import Result
    from ehrqa_cli.engine.chat import (
        ChatInfo,
        Completion,
        Found,
        ImageView,
        NoteView,
        PatientSummary,
        Turn,
    )
    from ehrqa_cli.tui.about import About
    from ehrqa_cli.tui.picture import Grey


@dataclass
class Opening(Message):
    """What is being opened, in words."""

    what: str


@dataclass
class Opened(Message):
    """Everything is open; ``past`` are questions asked before, oldest first."""

    about: About
    complete: Callable[[str, int], tuple[Completion, ...]]
    past: tuple[str, ...]


@dataclass
class NotOpened(Message):
    """Something could not be opened. ``fatal`` when nothing can be asked at all."""

    error: EhrqaError
    fatal: bool


@dataclass
class Happened(Message):
    """An event of the running question, as ``engine.ask`` gives it."""

    ticket: int
    name: str
    what: Any


@dataclass
class Answered(Message):
    """A question has its answer."""

    ticket: int
    turn: Turn


@dataclass
class Ended(Message):
    """A question was ended by the user, or refused; ``error`` says why it was refused."""

    ticket: int
    error: EhrqaError | None = None


@dataclass(frozen=True)
class Evidence:
    """What one answer rests on, opened: cited rows by table, notes, images with their pixels."""

    rows: tuple[tuple[str, Result], ...] = ()
    notes: tuple[NoteView, ...] = ()
    images: tuple[tuple[ImageView, Grey | None], ...] = ()
    problems: tuple[str, ...] = ()


@dataclass
class EvidenceRead(Message):
    """The evidence of a turn."""

    turn: Turn
    evidence: Evidence


@dataclass
class PatientRead(Message):
    """The conversation's patient as of a time; None with what there is to say instead."""

    patient_id: int | None
    summary: PatientSummary | None = None
    as_of: str = ""
    problem: str = ""


@dataclass
class Listed(Message):
    """Conversations, or turns that a search found."""

    words: str
    found: tuple[ChatInfo | Found, ...]


@dataclass
class Resumed(Message):
    """Another conversation is going on: its turns, and its patient."""

    turns: tuple[Turn, ...]
    patient_id: int | None


@dataclass
class Said(Message):
    """Something to tell the user; ``bad`` when it went wrong."""

    text: str
    bad: bool = False


@dataclass
class Exported(Message):
    """The conversation was written to a file."""

    path: Path
