"""The notes that an answer cites, with the cited lines marked and in sight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import RichLog, Static

from ehrqa_cli.cli.output import safe
from ehrqa_cli.tui.show import text

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.views import NoteLine, NoteView

_EMPTY = "A note that an answer cites appears here, with the lines marked."
_AROUND = 400  # lines shown before and after the first mark: a screen must not wait for more
_LONGEST = 4000  # characters of a line that are shown, for the same reason


class NotePane(Vertical):
    """One note at a time."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "mark(1)", "Next mark", id="next_mark"),
        Binding("shift+n,N", "mark(-1)", "Mark before", show=False, id="mark_before"),
        Binding("right_square_bracket", "note(1)", "Next note", id="next_note"),
        Binding("left_square_bracket", "note(-1)", "Note before", show=False, id="note_before"),
    ]

    def __init__(self) -> None:
        self._title = Static(_EMPTY, markup=False, classes="heading")
        self._lines = Lines()
        super().__init__(self._title, self._lines)
        self._views: Sequence[NoteView] = ()
        self._at = 0

    def show(self, views: Sequence[NoteView]) -> None:
        """Show the notes of an answer, the best one first."""
        self._views, self._at = views, 0
        self._draw()

    def action_note(self, by: int) -> None:
        """Another note."""
        if self._views:
            self._at = (self._at + by) % len(self._views)
            self._draw()

    def action_mark(self, by: int) -> None:
        """Another mark in this note."""
        self._lines.go(by)

    def _draw(self) -> None:
        if not self._views:
            self._title.update(text(_EMPTY))
            self._lines.show(None)
            return
        view = self._views[self._at]
        which = f"  {self._at + 1} of {len(self._views)}, ] for the next" * (len(self._views) > 1)
        at = f", {view.charttime}" if view.charttime else ""
        title = f"{view.note_id}: {view.category}{at}, patient {view.patient_id}{which}"
        self._title.update(text(title))
        self._lines.show(view)


class Lines(RichLog):
    """The lines of a note. A cited line has a bar in front, so that it needs no colour."""

    def __init__(self) -> None:
        super().__init__(wrap=True, markup=False, highlight=False, auto_scroll=False, min_width=10)
        self._view: NoteView | None = None
        self._marks: list[int] = []
        self._width = 0

    def show(self, view: NoteView | None) -> None:
        """Show a note, at its first mark."""
        self._view = view
        self._fill()

    def on_resize(self, event: events.Resize) -> None:
        """Wrap anew."""
        if self.size.width != self._width:
            self.call_after_refresh(self._fill)  # what is written sooner would wait for the size

    def go(self, by: int) -> None:
        """Scroll to the first mark (0), the next one (1) or the one before (-1)."""
        if not self._marks:
            return
        here = self.scroll_offset.y + 2
        ahead = [y for y in self._marks if y > here]
        behind = [y for y in self._marks if y < here]
        to = self._marks[0] if by == 0 else None
        if by > 0:
            to = ahead[0] if ahead else self._marks[0]
        elif by < 0:
            to = behind[-1] if behind else self._marks[-1]
        self.scroll_to(y=max(0, (to or 0) - 2), animate=False)

    def _fill(self) -> None:
        self._width = self.size.width
        self.clear()
        self._marks = []
        if self._view is None or not self._width:
            return
        first = max(0, self._view.first_marked - _AROUND)
        last = self._view.first_marked + _AROUND
        lines = self._view.lines
        if first:
            self.write(Text(f"     … {first:,} lines before these", style="dim"))
        for number, line in enumerate(lines[first:last], start=first):
            above = len(self.lines)
            self.write(_drawn(number, line))
            if line.marks:
                # A paragraph is many rows: the mark is about as far down as into its characters.
                begin, end = _shown(line)
                rows, into = len(self.lines) - above, line.marks[0][0] - begin
                self._marks.append(above + rows * into // (end - begin + 1))
        if last < len(lines):
            self.write(Text(f"     … {len(lines) - last:,} more lines", style="dim"))
        self.call_after_refresh(self.go, 0)


def _shown(line: NoteLine) -> tuple[int, int]:
    """Which characters of a line are drawn: of a very long one those around its first mark."""
    first = line.marks[0][0] if line.marks else 0
    begin = max(0, first - _LONGEST // 2) if len(line.text) > _LONGEST else 0
    return begin, min(len(line.text), begin + _LONGEST)


def _drawn(number: int, line: NoteLine) -> Text:
    drawn = Text(f"{number + 1:>4} ", style="dim")
    drawn.append("▌" if line.marks else " ", style="bold")
    done, last = _shown(line)
    drawn.append("… " if done else "", style="dim")
    for start, end in line.marks:
        drawn.append(safe(line.text[done : min(start, last)]))
        drawn.append(safe(line.text[max(start, done) : min(end, last)]), style="bold reverse")
        done = min(max(end, done), last)
    drawn.append(safe(line.text[done:last]))
    return drawn.append(" …" if last < len(line.text) else "", style="dim")
