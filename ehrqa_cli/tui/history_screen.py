"""Conversations that were kept: search, resume, forget, purge."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ehrqa_cli.engine.chat.history import Found
from ehrqa_cli.tui.ask_screen import LineScreen
from ehrqa_cli.tui.show import one_line, text

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.controller import Controller
    from ehrqa_cli.engine.chat.events import Listed
    from ehrqa_cli.engine.chat.history import ChatInfo

_HELP = "Enter resumes · Del forgets one · F8 twice deletes all · Esc leaves"


class HistoryScreen(LineScreen[int | None]):
    """Ends with the number of the conversation to resume, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="leave_history"),
        Binding("down", "list", "To the list", show=False),
        Binding("delete", "forget", "Forget this conversation", show=False, id="forget"),
        Binding("f8", "purge", "Delete all conversations", show=False, id="purge"),
    ]

    def __init__(self, controller: Controller, words: str = "") -> None:
        super().__init__()
        self.controller, self._words = controller, words
        self._ticket = 0
        self._sure = False

    def compose(self) -> ComposeResult:
        """A line for words, what was found, and the keys."""
        with Vertical(id="history"):
            yield Input(
                self._words, placeholder="Search in your conversations", compact=True, id="words"
            )
            yield OptionList(id="found", markup=False)
            yield Static(_HELP, id="history-help", markup=False)

    def on_mount(self) -> None:
        """List the latest conversations."""
        self.query_one("#words").focus()
        self.search()

    def on_input_changed(self) -> None:
        """Search as words are typed."""
        self.search()

    def search(self) -> None:
        """List what has the words of the line; without words the latest conversations."""
        self._ticket = self.controller.search(self.query_one(Input).value)

    def on_input_submitted(self) -> None:
        """Enter in the line takes the first of the list."""
        found = self.query_one(OptionList)
        if found.option_count:
            self.dismiss(_chat_of(found.get_option_at_index(found.highlighted or 0)))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Resume the one that was chosen."""
        self.dismiss(_chat_of(event.option))

    def listed(self, ticket: int, listed: Listed) -> None:
        """What was found; an answer to words typed since is not shown."""
        if ticket != self._ticket:
            return
        shown = self.query_one(OptionList)
        shown.clear_options()
        for number, item in enumerate(listed.found):
            shown.add_option(Option(_line(item), id=f"{item.chat_id}-{number}"))
        if listed.found:
            shown.highlighted = 0
        else:
            self._tell("nothing found" if listed.words else "no conversations are kept")

    def action_leave(self) -> None:
        """Resume nothing."""
        self.dismiss(None)

    def action_list(self) -> None:
        """From the line into the list."""
        self.query_one(OptionList).focus()

    def action_forget(self) -> None:
        """Delete the conversation under the bar."""
        shown = self.query_one(OptionList)
        if shown.highlighted is not None:
            self.controller.forget(_chat_of(shown.get_option_at_index(shown.highlighted)))
            self.search()

    def action_purge(self) -> None:
        """Delete all, at the second press."""
        if self._sure:
            self.controller.forget(None)
            self.search()
        self._sure = not self._sure
        self._tell("F8 again deletes all conversations" if self._sure else "all are deleted")

    def _tell(self, what: str) -> None:
        self.query_one("#history-help", Static).update(f"{what} · {_HELP}")


def _chat_of(option: Option) -> int:
    return int((option.id or "0").partition("-")[0])


def _line(item: ChatInfo | Found) -> Text:
    if isinstance(item, Found):
        line = text(f"{item.at[:16]}  {one_line(item.question, 70)}")
        return line.append_text(text(f"\n    {one_line(item.text, 90)}", "dim"))
    patient = f", patient {item.patient_id}" if item.patient_id is not None else ""
    line = text(f"{item.started_at[:16]}  {one_line(item.title, 70)}")
    number = f"{item.turns} question{'s' * (item.turns != 1)}"
    return line.append_text(text(f"\n    {number}{patient}, {one_line(item.database, 40)}", "dim"))
