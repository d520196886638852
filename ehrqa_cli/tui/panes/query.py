"""How the question was read: in English, as a form, as NeuralSQL that can be edited, as SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from ehrqa_cli.cli.output import safe
from ehrqa_cli.tui.show import text

if TYPE_CHECKING:
    from textual.widgets import TextArea

    from ehrqa_cli.engine.chat.values import Turn

_EMPTY = "How a question was read appears here."
# (name of the part, its heading), above and below the editor.
_ABOVE = (("withheld", "Withheld"), ("english", "In English"), ("form", "Logical form"))
_BELOW = (("sql", "Executed SQL"), ("scores", "Scores"), ("seconds", "Seconds"))


class QueryPane(VerticalScroll):
    """Read from above: what is easiest to check comes first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f9", "run_again", "Run query", id="run_again"),
    ]

    @dataclass
    class Run(Message):
        """The user wants this query run."""

        neuralsql: str

    def __init__(self) -> None:
        super().__init__(Static(_EMPTY, classes="empty"))
        self.editor: TextArea | None = None
        self._parts: dict[str, Static] = {}

    def show(self, turn: Turn | None) -> None:
        """Show how a turn's question was read."""
        if self.editor is None:
            if turn is None:
                return
            self._make()
        assert self.editor is not None
        self.editor.load_text(safe(turn.answer.neuralsql or "") if turn else "")
        said = parts_of(turn) if turn else {}
        for name, part in self._parts.items():
            part.update(text(said.get(name, "")))
            part.display = name in said
        for heading in self.query(".heading"):
            if heading.name in self._parts:
                heading.display = heading.name in said
        self.scroll_home(animate=False)

    def action_run_again(self) -> None:
        """Run what the editor holds, under the guard."""
        if self.editor is not None and self.editor.text.strip():
            self.post_message(self.Run(self.editor.text))

    def _make(self) -> None:
        from textual.widgets import TextArea

        self.query(".empty").remove()
        self.editor = TextArea(soft_wrap=True, tab_behavior="focus", id="editor")
        heading = Static("NeuralSQL, which may be edited; F9 runs it", classes="heading")
        widgets = [*self._made(_ABOVE), heading, self.editor, *self._made(_BELOW)]
        self.mount_all(widgets)

    def _made(self, which: Sequence[tuple[str, str]]) -> Iterator[Widget]:
        for name, heading in which:
            self._parts[name] = Static(markup=False, classes="part")
            yield Static(heading, name=name, classes="heading")
            yield self._parts[name]


def parts_of(turn: Turn) -> dict[str, str]:
    """What there is to show of a turn besides its NeuralSQL."""
    answer = turn.answer
    said = {
        "english": answer.description,
        "form": answer.logical_form,
        "sql": answer.executed_sql,
        "scores": ", ".join(f"{name} {value:.4g}" for name, value in answer.scores.items()),
        "seconds": ", ".join(f"{name} {value:.3f}" for name, value in answer.timings.items()),
    }
    if answer.reason_kind:
        kind = (answer.reason_public or answer.reason_kind).replace("_", " ")
        said["withheld"] = f"{kind}: {answer.reason or ''}"
    return {name: what for name, what in said.items() if what}
