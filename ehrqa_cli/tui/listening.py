"""What the screen does with what the worker posts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ehrqa_cli.tui import messages as say
from ehrqa_cli.tui.base import ChatScreen

if TYPE_CHECKING:
    pass


class Listening(ChatScreen):
    """The screen with ears."""

    def on_opening(self, message: say.Opening) -> None:
        """What is being opened."""
        self._opening = message.what
        self._status()

    def on_opened(self, message: say.Opened) -> None:
        """Everything is open."""
        self._opening = ""
        self.top.known = message.about
        self.top.draw()
        self.line.complete = message.complete
        typed_since = self.line._past
        self.line._past = []
        self.line.remember(*message.past, *typed_since)
        self._status()

    def on_not_opened(self, message: say.NotOpened) -> None:
        """Without a database there is nothing to do here; without a model there is."""
        self._opening = ""
        if message.fatal:
            self.error = message.error
            self.exit(message.error.exit_code)
            return
        self.tell(f"{message.error.message}; {message.error.hint}", bad=True)
        self._status()

    def on_happened(self, message: say.Happened) -> None:
        """An event of the running question."""
        if message.name == "warning":
            self.tell(str(message.what), bad=True)
        view = self._unanswered.get(message.ticket)
        if view is not None:
            view.happened(message.name, message.what)
            if message.name != "token":
                self._status()

    def on_answered(self, message: say.Answered) -> None:
        """An answer."""
        view = self._unanswered.pop(message.ticket, None)
        if view is None:
            return
        view.answered(message.turn)
        self.choose(view)
        if message.turn.patient_id is not None and message.turn.patient_id != self.top.patient:
            self.top.patient = message.turn.patient_id
            self.top.draw()
            self.work.read_patient()
        self._status()

    def on_ended(self, message: say.Ended) -> None:
        """No answer, because the user wanted none or the question cannot be asked."""
        view = self._unanswered.pop(message.ticket, None)
        if view is not None:
            view.ended(message.error)
        self._status()

    def on_evidence_read(self, message: say.EvidenceRead) -> None:
        """The evidence of an answer."""
        self.evidence.fill(message.turn, message.evidence)

    def on_patient_read(self, message: say.PatientRead) -> None:
        """The patient."""
        self.top.patient = message.patient_id
        self.top.draw()
        self.evidence.patient(message)

    def on_resumed(self, message: say.Resumed) -> None:
        """Another conversation."""
        first = self._tickets + 1
        self._tickets += len(message.turns)
        self.transcript.begin(list(enumerate(message.turns, start=first)))
        self.line.remember(*(t.typed for t in message.turns if t.kind == "question"))
        answered = self.transcript.answered()
        self.choose(answered[-1] if answered else None)
        self.top.patient = message.patient_id
        self.top.draw()
        self.work.read_patient()

    def on_said(self, message: say.Said) -> None:
        """Something to tell."""
        self.tell(message.text, bad=message.bad)

    def on_listed(self, message: say.Listed) -> None:
        """Conversations, for the history if it is still open."""
        from ehrqa_cli.tui.history_screen import HistoryScreen

        if isinstance(self.screen, HistoryScreen):
            self.screen.listed(message.words, message.found)

    def on_exported(self, message: say.Exported) -> None:
        """The conversation is in a file."""
        self.tell(f"Exported to {message.path}")
