"""The evidence side: tabs of panes, each filled when it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.widget import Widget
from textual.widgets import TabbedContent, TabPane

from ehrqa_cli.engine.chat.views import Evidence
from ehrqa_cli.tui.panes.image import ImagePane
from ehrqa_cli.tui.panes.note import NotePane
from ehrqa_cli.tui.panes.patient import PatientPane
from ehrqa_cli.tui.panes.query import QueryPane
from ehrqa_cli.tui.panes.rows import RowsPane

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.events import PatientRead
    from ehrqa_cli.engine.chat.values import Turn


@dataclass(frozen=True)
class Tab:
    """A tab: ``fill`` shows a turn and its evidence (None until it was read) in a pane; a tab
    without it is no answer's. ``cites``: it shows evidence, and is filled again when that comes."""

    title: str
    pane: Callable[[], Widget]
    fill: Callable[[Any, Turn | None, Evidence | None], None] | None = None
    cites: bool = False


# All of a tab but its key (keys.py) stands here, under its name.
TABS = {
    "rows": Tab("Rows", RowsPane, RowsPane.show, cites=True),
    "query": Tab("Query", QueryPane, lambda pane, turn, _: pane.show(turn)),
    "note": Tab(
        "Note", NotePane, lambda pane, _, found: pane.show(found.notes if found else ()), cites=True
    ),
    "image": Tab(
        "Image",
        ImagePane,
        lambda pane, _, found: pane.show(found.images if found else ()),
        cites=True,
    ),
    "patient": Tab("Patient", PatientPane),
}


class EvidenceSide(TabbedContent):
    """What the chosen answer rests on."""

    BINDING_GROUP_TITLE = "Evidence"

    def __init__(self) -> None:
        super().__init__(id="evidence", initial="rows")
        self.turn: Turn | None = None
        self._evidence: Evidence | None = None
        self._stale: set[str] = set()
        for name, tab in TABS.items():
            self.compose_add_child(TabPane(tab.title, tab.pane(), id=name))

    def show(self, turn: Turn | None) -> None:
        """Show a turn; its evidence comes later."""
        self.turn, self._evidence = turn, None
        self._stale = {name for name, tab in TABS.items() if tab.fill}
        if TABS[self.active].cites:
            self.active = best_tab(turn)
        self._fill()

    def fill(self, turn: Turn | None, evidence: Evidence) -> None:
        """Show the evidence of a turn, unless another one was chosen since."""
        if turn is not self.turn:
            return
        self._evidence = evidence
        self._stale |= {name for name, tab in TABS.items() if tab.cites}
        self._fill()

    def images(self, evidence: Evidence) -> None:
        """Show images that are no answer's."""
        self._stale.discard("image")
        self.query_one(ImagePane).show(evidence.images)

    def patient(self, read: PatientRead) -> None:
        """Show the patient."""
        self.query_one(PatientPane).show(read)

    def on_tabbed_content_tab_activated(self) -> None:
        """Fill the pane that is looked at now."""
        self._fill()

    def _fill(self) -> None:
        if self.active not in self._stale:
            return
        self._stale.discard(self.active)
        if fill := TABS[self.active].fill:
            fill(self.get_pane(self.active).children[0], self.turn, self._evidence)


def best_tab(turn: Turn | None) -> str:
    """Where the evidence of an answer is best looked at."""
    if turn is None or len(turn.answer.rows) > 1:
        return "rows"
    kinds = {item.get("kind") for item in turn.answer.evidence}
    return next((tab for tab in ("note", "image") if tab in kinds), "rows")
