"""The conversation so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.widgets import Static

from ehrqa_cli.tui.show import text
from ehrqa_cli.tui.turn_view import TurnView

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.values import Turn


class Transcript(VerticalScroll):
    """Questions and answers, and what else there was to say; the last one is in sight."""

    BINDING_GROUP_TITLE = "Transcript"

    def __init__(self) -> None:
        super().__init__(id="transcript")
        self.views: list[TurnView] = []

    def on_mount(self) -> None:
        """Stay at the end, unless the user has scrolled up."""
        self.anchor()

    def sent(self, view: TurnView) -> None:
        """A question was sent."""
        self.views.append(view)
        self.mount(view)
        self.scroll_end(animate=False)
        self.anchor()

    def say(self, what: str, *, bad: bool = False) -> None:
        """Tell something that is no answer."""
        notice = Static(text(what), markup=False, classes="notice")
        notice.set_class(bad, "-bad")
        self.mount(notice)

    def begin(self, turns: Sequence[Turn], waiting: Sequence[TurnView]) -> None:
        """Show another conversation; the questions that are ``waiting`` go on in it."""
        for child in self.children:
            if child not in waiting:
                child.remove()
        shown = [TurnView(turn.typed, edited=turn.kind != "question") for turn in turns]
        for view, turn in zip(shown, turns, strict=True):
            view.answered(turn)
        self.mount_all(shown, before=waiting[0] if waiting else None)
        self.views = [*shown, *waiting]
        self.anchor()

    def answered(self) -> list[TurnView]:
        """The questions that have an answer, in the order in which they were asked."""
        return [view for view in self.views if view.turn is not None]
