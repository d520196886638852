"""The keys, as they are now: those of the settings are shown in place of ours."""

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
"what about potassium?", "the same for 10014729". The question that was really asked is shown.

● an answer, with what it rests on
○ not answered, with the reason; 1 to 9 ask what is offered instead
✗ a fault, with the next step

"""


class HelpScreen(ModalScreen[None]):
    """Keys and what they do; any of the usual keys leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,question_mark,enter", "leave", "Leave", id="leave_help")
    ]

    def __init__(self, keys: list[tuple[str, str, str]]) -> None:
        """``keys`` are (key, what it does, its name in the settings)."""
        super().__init__()
        self.keys = keys

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
        page.append("\nThe names on the right are for [chat.keys] in the settings file.", "dim")
        return page

    def action_leave(self) -> None:
        """Back to the chat."""
        self.dismiss(None)
