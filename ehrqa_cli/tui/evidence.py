"""The evidence side: tabs of panes, each filled when it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

TABS = {
    "rows": ("Rows", RowsPane),
    "query": ("Query", QueryPane),
    "note": ("Note", NotePane),
    "image": ("Image", ImagePane),
    "patient": ("Patient", PatientPane),
}


class EvidenceSide(TabbedContent):
    """What the chosen answer rests on."""

    BINDING_GROUP_TITLE = "Evidence"

    def __init__(self) -> None:
        super().__init__(id="evidence", initial="rows")
        self.turn: Turn | None = None
        self._evidence: Evidence | None = None
        self._stale: set[str] = set()
        for name, (title, pane) in TABS.items():
            self.compose_add_child(TabPane(title, pane(), id=name))

    def show(self, turn: Turn | None) -> None:
        """Show a turn; its evidence comes later."""
        self.turn, self._evidence = turn, None
        self._stale = {"rows", "query", "note", "image"}
        if self.active in ("rows", "note", "image"):
            self.active = best_tab(turn)
        self._fill()

    def fill(self, turn: Turn | None, evidence: Evidence) -> None:
        """Show the evidence of a turn, unless another one was chosen since."""
        if turn is not self.turn:
            return
        self._evidence = evidence
        self._stale |= {"rows", "note", "image"}
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
        evidence = self._evidence or Evidence()
        match self.active:
            case "rows":
                self.query_one(RowsPane).show(self.turn, self._evidence)
            case "query":
                self.query_one(QueryPane).show(self.turn)
            case "note":
                self.query_one(NotePane).show(evidence.notes)
            case "image":
                self.query_one(ImagePane).show(evidence.images)


def best_tab(turn: Turn | None) -> str:
    """Where the evidence of an answer is best looked at."""
    if turn is None or len(turn.answer.rows) > 1:
        return "rows"
    kinds = {item.get("kind") for item in turn.answer.evidence}
    return next((tab for tab in ("note", "image") if tab in kinds), "rows")
