"""A conversation with one EHR: its patient, its time, its turns."""

from __future__ import annotations

from ehrqa_cli.engine.chat.history import ChatHistory
from ehrqa_cli.engine.chat.values import Rewrite, Turn
from ehrqa_cli.engine.draft import OnEvent
from ehrqa_cli.engine.session import Session


class Conversation:
    """The turns of one conversation; ``ask`` adds one."""

    def __init__(
        self,
        session: Session,
        *,
        patient_id: int | None = None,
        as_of: str | None = None,
        history: ChatHistory | None = None,
    ) -> None:
        self.session = session
        self.history = history
        self.turns: list[Turn] = []
        self.patient_id = patient_id
        self.as_of = as_of
        self.chat_id: int | None = None

    @property
    def title(self) -> str:
        """The first question, cut short; "" before it."""
        return self.turns[0].typed[:60] if self.turns else ""

    def rewrite(self, text: str) -> Rewrite:
        """What ``ask`` would ask."""
        return Rewrite(text, text)

    def ask(self, text: str, on_event: OnEvent | None = None) -> Turn:
        """Ask ``text``, completed from what came before."""
        raise NotImplementedError

    def run_neuralsql(self, text: str, on_event: OnEvent | None = None) -> Turn:
        """Run an edited query."""
        raise NotImplementedError

    def cancel(self) -> None:
        """End what is running."""
        self.session.cancel()

    def suggestion(self, number: int) -> str:
        """The ``number``-th question offered by the last turn."""
        raise NotImplementedError

    def new(self) -> None:
        """Begin anew."""
        self.turns, self.chat_id = [], None

    def resume(self, chat_id: int) -> None:
        """Go on with a conversation of the history."""
        raise NotImplementedError
