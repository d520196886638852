"""The keys as they are now, with those of the settings in place of ours, and the commands."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

_ABOUT = """\
Ask in your own words; Enter sends. What you ask next may build on it: "and the one before?", \
"what about potassium?", "the same for 10014729". The question that was really asked is shown. \
A line that begins with / is a command; they stand below the keys.

● an answer, with what it rests on
○ not answered, with the reason; 1 to 9 ask what is offered instead
◐ unverified: a withheld reading that you had run
✗ a fault, with the next step

"""


class HelpScreen(ModalScreen[None]):
    """Keys, commands and what they do; any of the usual keys leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,question_mark,enter", "leave", "Leave", id="leave_help")
    ]

    def __init__(self, keys: list[tuple[str, str, str]], commands: list[tuple[str, str]]) -> None:
        """``keys`` are (key, what it does, its name in the settings), ``commands`` (how one is
        typed, what it does)."""
        super().__init__()
        self.keys, self.commands = keys, commands

    def compose(self) -> ComposeResult:
        """One page."""
        with VerticalScroll(id="help"):
            yield Static(self._page(), markup=False)

    def _page(self) -> Text:
        page = Text(_ABOUT)
        for key, what, name in self.keys:
            page.append(f"{key:>20}  ", "bold")
            page.append(f"{what:<32}")
            page.append(f"{name}\n", "dim")
        page.append("The names on the right are for [chat.keys] in the settings file.\n\n", "dim")
        for typed, what in self.commands:
            page.append(f"{typed:>20}  ", "bold")
            page.append(f"{what}\n")
        return page

    def action_leave(self) -> None:
        """Back to the chat."""
        self.dismiss(None)
