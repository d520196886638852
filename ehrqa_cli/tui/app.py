"""The chat's screen. It shows what the worker posts and hands it what the user wants."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Footer, Input, Static

from ehrqa_cli.tui import messages as say
from ehrqa_cli.tui.evidence import EvidenceSide
from ehrqa_cli.tui.keys import APP_KEYS
from ehrqa_cli.tui.panes.query import QueryPane
from ehrqa_cli.tui.question_line import Candidates, QuestionLine
from ehrqa_cli.tui.show import one_line
from ehrqa_cli.tui.top import Top
from ehrqa_cli.tui.transcript import Transcript
from ehrqa_cli.tui.turn_view import TurnView
from ehrqa_cli.tui.work import Work

if TYPE_CHECKING:
    from ehrqa_cli.cli.options import AnswerOptions
    from ehrqa_cli.engine.chat import Turn

WIDE = 110  # columns from which transcript and evidence stand side by side
LEAST = (40, 10)  # columns and rows below which there is only room to say so
_WAITING = 20  # questions that may wait


class ChatApp(App[int]):
    """`ehrqa chat`. Returns an exit code; `error` is what made it end before anything was asked."""

    CSS_PATH = "chat.tcss"
    TITLE = "ehrqa"
    BINDINGS: ClassVar[list[BindingType]] = list(APP_KEYS)
    ENABLE_COMMAND_PALETTE = True

    def __init__(
        self,
        options: AnswerOptions,
        *,
        theme: str | None = None,
        keys: dict[str, str] | None = None,
        work: Work | None = None,
    ) -> None:
        plain = "NO_COLOR" in os.environ
        super().__init__(ansi_color=True if plain else None)
        self.options = options
        self.error: BaseException | None = None
        self._theme_wanted = "textual-ansi" if plain else theme
        self._keys_wanted = keys or {}
        self.work = work or Work(options, self.post_message)
        self._tickets = 0
        self._unanswered: dict[int, TurnView] = {}
        self._chosen: TurnView | None = None
        self._opening = "starting"
        self._pasted = ""
        self.as_of = ""

    def compose(self) -> ComposeResult:
        """Header, transcript and evidence, status, the question line, keys."""
        yield Top(self.options.db.name, self.options.patient)
        with Horizontal(id="body"):
            yield Transcript()
            yield EvidenceSide()
        yield Candidates("", markup=False, id="candidates")
        yield Static(markup=False, id="status")
        with Horizontal(id="line"):
            yield Static("› ", id="prompt")
            yield QuestionLine()
        yield Footer(compact=True)
        yield Static(markup=False, id="small")

    def on_mount(self) -> None:
        """Take questions at once; everything is opened behind."""
        if self._theme_wanted:
            self.theme = self._theme_wanted
        self.set_keymap(self._keys_wanted)
        self._fit(self.size.width, self.size.height)
        self.line.focus()
        self._status()
        self.call_after_refresh(self.work.open)

    # -- the parts --------------------------------------------------------------------------------

    @property
    def line(self) -> QuestionLine:
        """The question line."""
        return self.screen_stack[0].query_one(QuestionLine)

    @property
    def transcript(self) -> Transcript:
        """The conversation so far."""
        return self.screen_stack[0].query_one(Transcript)

    @property
    def evidence(self) -> EvidenceSide:
        """The evidence side."""
        return self.screen_stack[0].query_one(EvidenceSide)

    @property
    def top(self) -> Top:
        """The header."""
        return self.screen_stack[0].query_one(Top)

    # -- asking -----------------------------------------------------------------------------------

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in the question line."""
        if event.input is self.line and event.value.strip():
            if len(self._unanswered) >= _WAITING:
                self.tell(f"{_WAITING} questions are waiting; this one stays in the line", bad=True)
                return
            self.line.put("")
            self.ask(event.value.strip())

    def ask(self, question: str) -> None:
        """Send a question."""
        self.line.remember(question)
        self._sent(question, edited=False)
        self.work.ask(self._tickets, question)

    def _sent(self, what: str, *, edited: bool) -> None:
        self._tickets += 1
        view = TurnView(self._tickets, what, edited=edited)
        self._unanswered[self._tickets] = view
        self.line.offers = 0
        self.screen_stack[0].remove_class("-evidence")
        self.transcript.sent(view)
        self._status()

    def on_query_pane_run(self, message: QueryPane.Run) -> None:
        """An edited query is run like a question."""
        self._sent(message.neuralsql, edited=True)
        self.work.run(self._tickets, message.neuralsql)

    def on_question_line_digit(self, message: QuestionLine.Digit) -> None:
        """One key asks what the last answer offers."""
        if self._chosen is not None and message.number <= len(self._chosen.offers):
            self.ask(self._chosen.offers[message.number - 1])

    def on_turn_view_offered(self, message: TurnView.Offered) -> None:
        """A click does too."""
        self.ask(message.question)

    def on_question_line_refused(self, message: QuestionLine.Refused) -> None:
        """Say what was not put into the line, and keep it."""
        self._pasted = message.pasted
        self.tell(
            f"Not put in: {message.why}. The line is as it was; the command palette can save "
            "the pasted text to a file.",
            bad=True,
        )

    def on_candidates_picked(self, message: Candidates.Picked) -> None:
        """A completion was clicked."""
        self.line.take(message.completion)

    # -- what the worker says ---------------------------------------------------------------------

    def on_opening(self, message: say.Opening) -> None:
        """What is being opened."""
        self._opening = message.what
        self._status()

    def on_opened(self, message: say.Opened) -> None:
        """Everything is open."""
        self._opening, self.as_of = "", message.about.as_of
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
        self._choose(view)
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
        self.evidence.patient(message, self.as_of)

    def on_resumed(self, message: say.Resumed) -> None:
        """Another conversation."""
        first = self._tickets + 1
        self._tickets += len(message.turns)
        self.transcript.begin(list(enumerate(message.turns, start=first)))
        self.line.remember(*(t.typed for t in message.turns if t.kind == "question"))
        answered = self.transcript.answered()
        self._choose(answered[-1] if answered else None)
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

    # -- keys -------------------------------------------------------------------------------------

    def action_stop(self) -> None:
        """Escape: close the list, end the question, go back to the line."""
        if self.line.candidates.display:
            self.line.candidates.offer(())
        elif self._unanswered:
            self.stop_asking()
        self.screen_stack[0].remove_class("-evidence")
        self.line.focus()

    def stop_asking(self) -> None:
        """End the running question and all that wait; the line is free at once."""
        for ticket, view in self._unanswered.items():
            view.ending()
            self.work.cancel(ticket)
        self._status()

    def action_interrupt(self) -> None:
        """Ctrl-C: copy what is selected, else end the question, else clear the line."""
        selected = self.screen.get_selected_text() or self.line.selected_text
        if selected:
            self.copy_to_clipboard(selected)
            self.notify("copied", timeout=2)
        elif any(view.state != "ending" for view in self._unanswered.values()):
            self.stop_asking()
        elif self.line.value:
            self.line.remember(self.line.value)
            self.line.put("")
        else:
            self.notify("Ctrl-Q or Ctrl-D leaves", timeout=3)
        self.line.focus()

    def action_evidence(self) -> None:
        """Evidence or transcript where there is room for one; else between line and evidence."""
        base = self.screen_stack[0]
        if base.has_class("-narrow"):
            base.toggle_class("-evidence")
            shown = base.has_class("-evidence")
        else:
            shown = self.evidence not in (self.focused.ancestors if self.focused else ())
        if shown:
            self._focus_pane()
        else:
            self.line.focus()

    def action_tab(self, name: str) -> None:
        """Show one tab of the evidence; the patient's twice asks for one."""
        self.evidence.active = name
        if self.screen_stack[0].has_class("-narrow"):
            self.screen_stack[0].add_class("-evidence")
        if name == "patient":
            self.work.read_patient()
            if self.top.patient is None:
                self.action_patient()
                return
        self._focus_pane()

    def _focus_pane(self) -> None:
        pane = self.evidence.active_pane
        inside = [w for w in pane.query("*") if w.focusable] if pane is not None else []
        if inside:
            inside[0].focus()

    def action_choose(self, by: int) -> None:
        """Look at the evidence of another answer."""
        answered = self.transcript.answered()
        if answered:
            at = answered.index(self._chosen) if self._chosen in answered else len(answered)
            self._choose(answered[max(0, min(len(answered) - 1, at + by))])

    def on_turn_view_chosen(self, message: TurnView.Chosen) -> None:
        """A click on an answer."""
        self._choose(message.view)

    def _choose(self, view: TurnView | None) -> None:
        for other in self.transcript.views.values():
            other.set_class(other is view, "-chosen")
        self._chosen = view
        turn = view.turn if view is not None else None
        self.line.offers = len(view.offers) if view is not None else 0
        self.evidence.show(turn)
        if view is not None and turn is not None:
            view.scroll_visible(animate=False)
            if turn.answer.evidence:
                self.work.read_evidence(turn)

    def action_copy(self) -> None:
        """Copy the chosen answer, or what is selected, through the terminal (OSC 52)."""
        selected = self.screen.get_selected_text()
        turn = self._chosen.turn if self._chosen is not None else None
        if selected or turn is not None:
            self.copy_to_clipboard(selected or copied(turn))
            self.notify(
                "the selection is copied" if selected else "the answer is copied", timeout=2
            )

    def action_export(self) -> None:
        """Write the conversation to a file."""
        from ehrqa_cli.tui.ask_screen import AskScreen

        def named(name: str | None) -> None:
            if name:
                self.work.export(Path(name).expanduser())

        what = "Export this conversation to a file (.md, .html or .json)"
        self.push_screen(AskScreen(what, f"{self.options.db.stem}-chat.md"), named)

    def action_patient(self) -> None:
        """Choose who is talked about."""
        from ehrqa_cli.tui.ask_screen import AskScreen

        def named(number: str | None) -> None:
            if number is None:
                return
            if number and not number.isdecimal():
                self.tell(f"{one_line(number, 40)!r} is no patient's number", bad=True)
                return
            self.work.set_patient(int(number) if number else None)
            self.evidence.active = "patient"

        shown = "" if self.top.patient is None else str(self.top.patient)
        what = "Number of the patient to talk about; nothing for no patient"
        self.push_screen(AskScreen(what, shown), named)

    def action_new(self) -> None:
        """Begin a new conversation; the one so far is in the history."""
        self.stop_asking()
        self.work.new()

    def action_history(self) -> None:
        """Search what was asked before, and go on with it."""
        from ehrqa_cli.tui.history_screen import HistoryScreen

        def chosen(chat: int | None) -> None:
            if chat is not None:
                self.stop_asking()
                self.work.resume(chat)

        self.push_screen(HistoryScreen(self.work), chosen)

    def action_help(self) -> None:
        """Show the keys as they are now."""
        from ehrqa_cli.tui.help_screen import HelpScreen

        found = []
        for binding in [*APP_KEYS, *QuestionLine.BINDINGS, *QueryPane.BINDINGS]:
            key = self._keys_wanted.get(binding.id or "", binding.key)
            shown = ", ".join(self.get_key_display(one) for one in binding.make_bindings([binding]))
            found.append((shown if key == binding.key else key, binding.description, binding.id))
        self.push_screen(HelpScreen(found))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The command palette: Textual's commands and ours."""
        yield from super().get_system_commands(screen)
        for binding in APP_KEYS:
            if binding.id not in ("interrupt", "quit", "cancel"):
                run = binding.action
                yield SystemCommand(
                    binding.description,
                    f"{binding.id} ({binding.key})",
                    lambda run=run: self.call_later(self.run_action, run),
                )
        if self._pasted:
            yield SystemCommand("Save the pasted text", "that was too long", self._save_pasted)

    def _save_pasted(self) -> None:
        from ehrqa_cli.tui.ask_screen import AskScreen

        def named(name: str | None) -> None:
            if not name:
                return
            try:
                with os.fdopen(
                    os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w"
                ) as out:
                    out.write(self._pasted)
            except OSError as error:
                self.tell(f"cannot write {name}: {error.strerror}", bad=True)
            else:
                self.tell(f"Saved to {name}")

        self.push_screen(AskScreen("Save the pasted text to a file", "pasted.txt"), named)

    # -- the rest ---------------------------------------------------------------------------------

    def tell(self, what: str, *, bad: bool = False) -> None:
        """Say something in the transcript."""
        self.transcript.say(what, bad=bad)

    def on_resize(self, event: events.Resize) -> None:
        """Two sides, one side, or no room."""
        self._fit(event.size.width, event.size.height)

    def _fit(self, width: int, height: int) -> None:
        base = self.screen_stack[0]
        base.set_class(width < WIDE, "-narrow")
        small = width < LEAST[0] or height < LEAST[1]
        base.set_class(small, "-small")
        said = f"{width}x{height} is too small: make it {LEAST[0]}x{LEAST[1]}."
        base.query_one("#small", Static).update(said if small else "")

    def _status(self) -> None:
        running = [view for view in self._unanswered.values() if view.state != "waiting"]
        waiting = len(self._unanswered) - len(running)
        if running:
            said = f"{running[0].doing}" + (
                "" if running[0].state == "ending" else "  (Esc ends it)"
            )
        elif self._opening:
            said = f"{self._opening} ... you can type already"
        else:
            said = "ready"
        more = f"  {waiting} waiting" if waiting else ""
        self.screen_stack[0].query_one("#status", Static).update(said + more)

    def _fatal_error(self) -> None:
        """A fault of ours: leave the terminal as it was, and let the caller say it in one line.

        Textual would print the values of local variables, and those are patients' data.
        """
        self.error = self._exception
        self._close_messages_no_wait()


def copied(turn: Turn | None) -> str:
    """An answer as it is copied: the question, the answer, what it rests on."""
    if turn is None:
        return ""
    from ehrqa_cli.cli.render import answer_lines

    return "\n".join([turn.asked, *answer_lines(turn.answer)]) + "\n"
