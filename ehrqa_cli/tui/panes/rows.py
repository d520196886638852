"""The rows of the answer, and the rows of the EHR that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from ehrqa_cli.tui.show import cell, text

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.values import Turn
    from ehrqa_cli.engine.chat.views import Evidence

_EMPTY = "The rows of an answer appear here."


class RowsPane(VerticalScroll):
    """Tables, one under the other."""

    def __init__(self) -> None:
        super().__init__(Static(_EMPTY, classes="empty"))

    def show(self, turn: Turn | None, evidence: Evidence | None) -> None:
        """Show a turn's rows, and those that it rests on when they have been read."""
        self.remove_children()
        shown = [*_answer(turn), *_cited(evidence)] if turn else [Static(_EMPTY, classes="empty")]
        self.mount_all(shown)
        self.scroll_home(animate=False)


def _answer(turn: Turn) -> Iterator[Widget]:
    answer = turn.answer
    if answer.columns:
        more = ", cut off" if answer.truncated else ""
        yield _heading(f"Answer ({len(answer.rows):,} row{'s'[: len(answer.rows) != 1]}{more})")
        yield table(answer.columns, answer.rows)
    elif not answer.evidence:
        yield Static("This one has no rows.", classes="empty")


def _cited(evidence: Evidence | None) -> Iterator[Widget]:
    for problem in evidence.problems if evidence else ():
        yield Static(text(problem.message), markup=False, classes="notice -bad")
    for name, result in evidence.rows if evidence else ():
        yield _heading(f"Rests on {name} ({len(result.rows):,})")
        yield table(result.columns, result.rows)


def _heading(what: str) -> Static:
    return Static(text(what), markup=False, classes="heading")


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Widget:
    """A table as high as its rows; the pane scrolls."""
    from textual.widgets import DataTable

    made: DataTable[Any] = DataTable(cursor_type="row", zebra_stripes=True)
    made.add_columns(*(cell(column) for column in columns))
    made.add_rows([cell(value) for value in row] for row in rows)
    made.styles.max_height = max(4, min(len(rows) + 2, 22))
    return made
