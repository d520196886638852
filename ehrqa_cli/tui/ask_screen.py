"""A line to answer one question of the program: a file's name, a patient's number."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class AskScreen(ModalScreen[str | None]):
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
