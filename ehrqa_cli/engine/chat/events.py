"""What a chat reports to whoever shows it: one typed event each.

Every event comes with the ticket of the wish that it belongs to; 0 where nobody wished for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ehrqa_cli.contracts.errors import EhrqaError
    from ehrqa_cli.engine.chat.about import About
    from ehrqa_cli.engine.chat.complete import Completion
    from ehrqa_cli.engine.chat.history import ChatInfo, Found
    from ehrqa_cli.engine.chat.patient import PatientSummary
    from ehrqa_cli.engine.chat.values import Rewrite, Turn
    from ehrqa_cli.engine.chat.views import Evidence


@dataclass(frozen=True)
class Past:
    """Questions of earlier conversations, oldest first."""

    questions: tuple[str, ...]


@dataclass(frozen=True)
class Opened:
    """Everything is open. ``complete(line, cursor)`` may be called from any thread."""

    about: About
    complete: Callable[[str, int | None], tuple[Completion, ...]]


@dataclass(frozen=True)
class Sent:
    """A question waits to be asked; ``edited``: a query waits to be run."""

    text: str
    edited: bool = False


@dataclass(frozen=True)
class QuestionAsked:
    """What is really asked."""

    rewrite: Rewrite


@dataclass(frozen=True)
class Doing:
    """The step that a question has come to, or what is made ready for one; "" for nothing more."""

    what: str


@dataclass(frozen=True)
class Wrote:
    """What a model has written since, to be joined as it is."""

    text: str


@dataclass(frozen=True)
class Answered:
    """A question has its answer."""

    turn: Turn


@dataclass(frozen=True)
class Done:
    """The wish has ended, the last event of each; ``error`` is what it ended with, Cancelled where
    the user ended it."""

    error: EhrqaError | None = None


@dataclass(frozen=True)
class EvidenceRead:
    """What a turn rests on; no turn for a study that was named.

    ``part`` (rows, query, note or image) is what the user wants to look at, "" for nothing yet.
    """

    turn: Turn | None
    evidence: Evidence
    part: str = ""


@dataclass(frozen=True)
class PatientRead:
    """Whom the conversation is about, as of a time, "" where there is none; ``problem`` is why
    there is no summary. ``chosen``: the user has just said whom."""

    patient_id: int | None
    summary: PatientSummary | None = None
    as_of: str = ""
    problem: EhrqaError | None = None
    chosen: bool = False


@dataclass(frozen=True)
class Now:
    """What now is taken to be."""

    as_of: str


@dataclass(frozen=True)
class Listed:
    """Conversations that were kept, or with ``words`` the turns that have them."""

    words: str
    found: tuple[ChatInfo | Found, ...]


@dataclass(frozen=True)
class Resumed:
    """Another conversation goes on: its turns, none for a new one, and its patient."""

    turns: tuple[Turn, ...]
    patient_id: int | None


@dataclass(frozen=True)
class Said:
    """Something to tell the user; ``bad`` when it went wrong, which ends nothing."""

    text: str
    bad: bool = False


@dataclass(frozen=True)
class HelpWanted:
    """The user wants to know what can be typed."""


@dataclass(frozen=True)
class Left:
    """The user leaves."""


Event = (
    Past | Opened | Sent | QuestionAsked | Doing | Wrote | Answered | Done | EvidenceRead
    | PatientRead | Now | Listed | Resumed | Said | HelpWanted | Left
)  # fmt: skip
