"""The values of a conversation: what was typed, what was asked, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from ehrqa_cli.contracts.types import Answer

QUESTION, NEURALSQL = "question", "neuralsql"
TITLE = 60  # characters of a conversation's title


@dataclass(frozen=True)
class Rewrite:
    """A follow-up as the whole question that it stands for.

    ``asked`` is ``typed`` where the question stands on its own, and None where the whole question
    is needed; then ``message`` says why. ``carried`` says in words what is given beside the text:
    ``patient_id``, where the text names nobody.
    """

    typed: str
    asked: str | None
    carried: tuple[str, ...] = ()
    message: str = ""
    patient_id: int | None = None

    @property
    def changed(self) -> bool:
        """Whether something else than what was typed will be asked."""
        return self.asked is not None and self.asked != self.typed


@dataclass(frozen=True)
class Turn:
    """One question of a conversation and its answer; ``at`` is UTC, YYYY-MM-DD HH:MM:SS.

    ``kind`` is ``question``, or ``neuralsql`` for a query of the user's own.
    """

    number: int
    typed: str
    asked: str
    answer: Answer
    patient_id: int | None
    carried: tuple[str, ...] = ()
    kind: str = QUESTION
    at: str = ""

    @property
    def changed(self) -> bool:
        """Whether something else than what was typed was asked."""
        return self.asked != self.typed

    @property
    def read_as(self) -> str:
        """What was asked, where it is more than what was typed; else ""."""
        if not self.changed and not self.carried:
            return ""
        return f"{self.asked} ({', '.join(self.carried)})" if self.carried else self.asked
