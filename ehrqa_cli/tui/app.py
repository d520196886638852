"""The chat: what the user can do with it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events
from textual.app import SystemCommand
from textual.screen import Screen
from textual.widgets import Input

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.ehr.backend.servers import called
from ehrqa_cli.engine.chat import commands
from ehrqa_cli.tui.keys import APP_KEYS, explained
from ehrqa_cli.tui.listening import Listening
from ehrqa_cli.tui.panes.query import QueryPane
from ehrqa_cli.tui.question_line import Candidates, QuestionLine
from ehrqa_cli.tui.top import told
from ehrqa_cli.tui.turn_view import TurnView

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.values import Turn

_WAITING = 20  # questions that may wait


class ChatApp(Listening):
    """`ehrqa chat`."""

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in the question line."""
        if event.input is self.line and event.value.strip():
            if len(self._unanswered) >= _WAITING:
                self.tell(f"{_WAITING} questions are waiting; this one stays in the line", bad=True)
                return
            self.line.put("")
            self.line.remember(event.value.strip())
            self.take(event.value.strip())

    def take(self, line: str) -> None:
        """Ask a question, or do what a line that begins with a slash says."""
        if not self._made_ready[0]:  # typed ahead: opening comes first
            self.call_after_refresh(self.take, line)
            return
        self.screen_stack[0].remove_class("-evidence")  # what comes of it is said in the transcript
        try:
            self._wished.add(commands.take(self.controller, line))
        except UsageError as error:
            self.tell(f"{error.message}; {error.hint}", bad=True)

    def on_key(self, event: events.Key) -> None:
        """What is typed anywhere and means nothing there begins a question."""
        typed = event.character if event.is_printable else None
        if typed and len(self.screen_stack) == 1 and event.key not in self.active_bindings:
            event.stop()
            event.prevent_default()
            self.screen.set_focus(self.line)  # at once: the next keys are on their way
            self.line.insert_text_at_cursor(typed)

    def on_paste(self, event: events.Paste) -> None:
        """So does what is pasted."""
        if len(self.screen_stack) == 1:
            event.stop()
            self.screen.set_focus(self.line)
            self.line.post_message(events.Paste(event.text))

    def on_query_pane_run(self, message: QueryPane.Run) -> None:
        """An edited query is run like a question."""
        self.screen.set_focus(self.line)
        self._wished.add(self.controller.ask(message.neuralsql, edited=True))

    def on_question_line_digit(self, message: QuestionLine.Digit) -> None:
        """One key asks what the last answer offers."""
        if self._chosen is not None and message.number <= len(self._chosen.offers):
            self.on_turn_view_offered(TurnView.Offered(self._chosen.offers[message.number - 1]))

    def on_turn_view_offered(self, message: TurnView.Offered) -> None:
        """A click does too."""
        self.line.remember(message.question)
        self.take(message.question)

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

    def action_stop(self) -> None:
        """Escape: close the list, end the question, go back to the line."""
        if self.line.candidates.display:
            self.line.candidates.offer(())
        elif self._wished:
            self.stop_asking()
        self.screen_stack[0].remove_class("-evidence")
        self.screen.set_focus(self.line)

    def action_interrupt(self) -> None:
        """Ctrl-C: copy what is selected, else end the question, else clear the line."""
        selected = self.screen.get_selected_text() or self.line.selected_text
        if selected:
            self.copy_to_clipboard(selected)
            self.notify("copied", timeout=2)
        elif self._wished:
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
        self.show_tab(name)
        if name == "patient":
            self.controller.read_patient()
            if self.top.patient is None:
                self.action_patient()
                return
        self._focus_pane()

    def _focus_pane(self) -> None:
        pane = self.evidence.active_pane
        inside = [w for w in pane.query("*") if w.focusable] if pane is not None else []
        if inside:
            self.screen.set_focus(inside[0])

    def action_choose(self, by: int) -> None:
        """Look at the evidence of another answer."""
        answered = self.transcript.answered()
        if answered:
            at = answered.index(self._chosen) if self._chosen in answered else len(answered)
            self.choose(answered[max(0, min(len(answered) - 1, at + by))])

    def on_turn_view_chosen(self, message: TurnView.Chosen) -> None:
        """A click on an answer."""
        self.choose(message.view)

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
                self.take(f"/export {name}")

        what = "Export this conversation to a file (.md, .html or .json)"
        self.push_screen(AskScreen(what, f"{Path(called(self.options.db)).stem}-chat.md"), named)

    def action_patient(self) -> None:
        """Choose who is talked about."""
        from ehrqa_cli.tui.ask_screen import AskScreen

        def named(number: str | None) -> None:
            if number is not None:
                self.take(f"/patient {number or 'none'}")

        shown = "" if self.top.patient is None else str(self.top.patient)
        what = "Number of the patient to talk about; nothing for no patient"
        self.push_screen(AskScreen(what, shown), named)

    def action_run_reading(self) -> None:
        """Run the reading of the last withheld answer, unchecked."""
        self.take("/run")

    def action_teach(self) -> None:
        """Keep the reading of the last unverified answer."""
        self.take("/teach")

    def action_new(self) -> None:
        """Begin a new conversation; the one so far is in the history."""
        self.stop_asking()
        self.controller.new()

    def action_history(self) -> None:
        """Search what was asked before, and go on with it."""
        self.open_history()

    def action_about(self) -> None:
        """Say in the transcript what is open."""
        self.tell(told(self.top.known) if self.top.known else f"{self._opening} ...")

    def action_help(self) -> None:
        """Show the keys as they are now."""
        from ehrqa_cli.tui.help_screen import HelpScreen

        self.push_screen(HelpScreen(explained(self._keys_wanted), commands.explained()))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The command palette: Textual's commands and ours."""
        yield from super().get_system_commands(screen)
        for binding in APP_KEYS:
            if binding.id not in ("interrupt", "quit", "cancel"):
                key = self._keys_wanted.get(binding.id or "", binding.key)
                run = partial(self.call_later, self.run_action, binding.action)
                yield SystemCommand(binding.description, f"the key for it: {key}", run)
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


def copied(turn: Turn | None) -> str:
    """An answer as it is copied: the question, the answer, what it rests on."""
    if turn is None:
        return ""
    from ehrqa_cli.cli.render import answer_lines

    return (
        "\n".join([turn.asked, *answer_lines(turn.answer, run_by="/run", teach_by="/teach")]) + "\n"
    )
