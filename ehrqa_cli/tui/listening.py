"""What the screen does with what the controller reports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import Cancelled, EhrqaError
from ehrqa_cli.engine.chat import events as said
from ehrqa_cli.tui.base import ChatScreen, Reported
from ehrqa_cli.tui.history_screen import HistoryScreen
from ehrqa_cli.tui.turn_view import TurnView

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.values import Turn


class Listening(ChatScreen):
    """The screen with ears."""

    def on_reported(self, message: Reported) -> None:
        """One event of the controller; none when the chat is ending, or has ended."""
        if self.error is not None or not self.screen_stack:
            return
        ticket, view = message.ticket, self._unanswered.get(message.ticket)
        match message.event:
            case said.QuestionAsked(rewrite) if view is not None:
                view.asked(rewrite)
            case said.Doing(what) if view is not None:
                view.doing(what)
            case said.Wrote(text) if view is not None:
                view.wrote(text)
                return  # the status says nothing else
            case said.Sent(text, edited):
                self._sent(ticket, text, edited)
            case said.Answered(turn) if view is not None:
                self._answered(self._unanswered.pop(ticket), turn)
            case said.Done(error):
                self._done(ticket, error)
            case said.EvidenceRead():
                self._evidence_read(message.event)
            case said.PatientRead():
                self._patient_read(message.event, wished=ticket in self._wished)
            case said.Listed():
                self._listed(ticket, message.event)
            case said.Resumed(turns, patient_id):
                self._resumed(turns, patient_id)
            case _:
                self._told(message.event)
        self._status()

    def _told(self, event: said.Event) -> None:
        """What is only to be said, or to be remembered."""
        match event:
            case said.Doing(what):
                self._opening = what
            case said.Past(questions):
                self.line.remember_before(questions)
            case said.Opened(about, complete):
                self.top.known, self.line.complete = about, complete
            case said.Said(text, bad):
                self.tell(text, bad=bad)
            case said.Now(as_of):
                self._now(as_of)
            case said.HelpWanted():
                self.call_later(self.run_action, "help")
            case said.Left():
                self.exit(0)

    def _sent(self, ticket: int, text: str, edited: bool) -> None:
        """A question waits, with its place in the transcript."""
        view = self._unanswered[ticket] = TurnView(text, edited=edited)
        self._wished.add(ticket)
        self.line.offers = 0
        self.screen_stack[0].remove_class("-evidence")
        self.transcript.sent(view)

    def _answered(self, view: TurnView, turn: Turn) -> None:
        view.answered(turn)
        self.choose(view)
        if turn.patient_id is not None and turn.patient_id != self.top.patient:
            self.top.patient = turn.patient_id
            self.controller.read_patient()

    def _done(self, ticket: int, error: EhrqaError | None) -> None:
        """Without a database there is nothing to do here; without a model there is."""
        opened, warmed = self._made_ready
        self._wished.discard(ticket)
        view = self._unanswered.pop(ticket, None)
        ended = isinstance(error, Cancelled)
        if ticket == warmed:
            self._opening = ""
        if ticket == opened and error is not None:
            self.error = error
            self.exit(error.exit_code)
        elif view is not None:
            view.ended(None if ended else error)
        elif error is not None and not ended:
            self.tell(f"{error.message}; {error.hint}" if error.hint else error.message, bad=True)

    def _evidence_read(self, read: said.EvidenceRead) -> None:
        if not read.part:
            self.evidence.fill(read.turn, read.evidence)
            return
        if read.turn is None:
            self.evidence.images(read.evidence)
        else:
            self.choose(next((v for v in self.transcript.views if v.turn is read.turn), None))
        self.show_tab(read.part)

    def show_tab(self, name: str) -> None:
        """Show one tab of the evidence, where there is room for one side in place of the other."""
        self.evidence.active = name
        if self.screen_stack[0].has_class("-narrow"):
            self.screen_stack[0].add_class("-evidence")

    def _patient_read(self, read: said.PatientRead, *, wished: bool) -> None:
        self.top.patient = read.patient_id
        self.evidence.patient(read)
        if wished:
            self.show_tab("patient")

    def _now(self, as_of: str) -> None:
        if self.top.known is not None:
            self.top.known = replace(self.top.known, as_of=as_of)
        self.tell(f"now is taken to be {as_of}")
        self.controller.read_patient()

    def _listed(self, ticket: int, listed: said.Listed) -> None:
        """Conversations, for the history if it is still open, or to open it."""
        if isinstance(self.screen, HistoryScreen):
            self.screen.listed(ticket, listed)
        elif ticket in self._wished:
            self.open_history(listed.words)

    def open_history(self, words: str = "") -> None:
        """Search what was asked before, and go on with it."""

        def chosen(chat: int | None) -> None:
            if chat is not None:
                self.stop_asking()
                self.controller.resume(chat)

        self.push_screen(HistoryScreen(self.controller, words), chosen)

    def stop_asking(self) -> None:
        """End what runs and all that waits; the line is free at once."""
        for view in self._unanswered.values():
            view.ending()
        self.controller.cancel(*self._wished)
        self._wished.clear()
        self._status()

    def _resumed(self, turns: tuple[Turn, ...], patient_id: int | None) -> None:
        """Another conversation; what was asked since then waits in it."""
        self.transcript.begin(turns, list(self._unanswered.values()))
        self.line.remember(*(turn.typed for turn in turns if turn.kind == "question"))
        answered = self.transcript.answered()
        self.choose(answered[-1] if answered else None)
        self.top.patient = patient_id
        self.controller.read_patient()
