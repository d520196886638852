"""A line to answer one question of the program: a file's name, a patient's number."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Input, Static


class LineScreen(ModalScreen[ScreenResultType]):
    """A screen with one line, which gets what is typed before it, or beside it, has the focus."""

    def on_key(self, event: events.Key) -> None:
        """Through the app, as keys that edit the line go too: they must not overtake each other."""
        if event.is_printable and event.character:
            event.stop()
            self.app.call_later(self._type, event.character)

    def _type(self, character: str) -> None:
        if self.is_current:
            line = self.query_one(Input)
            if line.has_focus:
                line.replace(character, *line.selection)
                return
            whole = (0, len(line.value)) if line.select_on_focus else line.selection
            line.select_on_focus = False  # or the next key would replace this one
            line.replace(character, *whole)
            self.set_focus(line)


class AskScreen(LineScreen[str | None]):
    """Ends with what was typed; None when the user left."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", id="leave_ask")]

    def __init__(self, what: str, value: str = "") -> None:
        super().__init__()
        self.what, self.value = what, value

    def compose(self) -> ComposeResult:
        """What is asked, and the line."""
        with Vertical(id="asked"):
            yield Static(self.what, markup=False)
            yield Input(self.value, compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        """Escape."""
        self.dismiss(None)
