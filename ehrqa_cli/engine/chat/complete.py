"""Completion of the question line from the values of the database."""

from __future__ import annotations

from dataclasses import dataclass

from ehrqa_cli.engine.session import Session


@dataclass(frozen=True)
class Completion:
    """``text`` may stand in place of ``[start, end)`` of the line."""

    text: str
    kind: str
    start: int
    end: int

    def apply(self, line: str) -> str:
        """The line with it."""
        return line[: self.start] + self.text + line[self.end :]


class Completer:
    """Values of one database by their beginnings."""

    @classmethod
    def of(cls, session: Session) -> Completer:
        """That of a session's database."""
        return cls()

    def complete(
        self, line: str, cursor: int | None = None, limit: int = 12
    ) -> tuple[Completion, ...]:
        """What the words before the cursor may become."""
        return ()

    def patients(self, prefix: str = "", limit: int = 50) -> tuple[int, ...]:
        """Patients whose id begins so."""
        return ()
