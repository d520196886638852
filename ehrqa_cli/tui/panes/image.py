"""The X-rays that an answer rests on, and what was seen in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static

from ehrqa_cli.tui.picture import HalfBlocks
from ehrqa_cli.tui.show import text

if TYPE_CHECKING:
    from ehrqa_cli.engine.chat.views import ImageView
    from ehrqa_cli.tui.picture import Grey

_EMPTY = "An X-ray that an answer rests on appears here, with its findings."
_MOST = 8  # findings shown
_FINDINGS = 34  # columns for them beside the picture


class ImagePane(Vertical):
    """One image at a time."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "study(1)", "Next image", id="next_image"),
        Binding("left_square_bracket", "study(-1)", "Image before", show=False, id="image_before"),
    ]
    can_focus = True

    def __init__(self) -> None:
        super().__init__(Static(_EMPTY, classes="empty"))
        self._images: Sequence[ImageView] = ()
        self._at = 0
        self._beside = False

    def show(self, images: Sequence[ImageView]) -> None:
        """Show the images of an answer."""
        self._images, self._at = images, 0
        self._draw()

    def action_study(self, by: int) -> None:
        """Another image."""
        if self._images:
            self._at = (self._at + by) % len(self._images)
            self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Put the findings beside the picture or under it, where it gets larger."""
        width, height = event.size.width, event.size.height
        beside = min(width - _FINDINGS, 2 * (height - 2)) > min(width, 2 * (height - _MOST - 4))
        if beside is not self._beside:
            self._beside = beside
            if self._images:
                self._draw()

    def _draw(self) -> None:
        self.remove_children()
        self.mount_all(list(self._parts()) if self._images else [Static(_EMPTY, classes="empty")])

    def _parts(self) -> Iterator[Widget]:
        view = self._images[self._at]
        picture: Grey | None = view.picture
        more = f"  {self._at + 1} of {len(self._images)}, ] for the next" * (len(self._images) > 1)
        known = [part for part in (view.view, view.sex) if part]
        title = ", ".join([f"Study {view.study_id}", *known]) + more
        yield Static(text(title), markup=False, classes="heading")
        if view.problem:
            yield Static(text(view.problem), markup=False, classes="notice -bad")
        if picture is None and not view.problem:
            yield Static("There is no picture of it here, only labels.", classes="notice")
        findings = Static(_findings(view), markup=False, classes="part")
        if picture is None:
            yield findings
        elif self._beside:
            yield Horizontal(drawn(picture), findings)
        else:
            yield from (drawn(picture), findings)


def drawn(picture: Grey) -> Widget:
    """With the terminal's own graphics where they were found at the start, else half blocks."""
    from ehrqa_cli.tui import graphics

    widget = graphics.widget()
    return HalfBlocks(picture) if widget is None else widget(picture.image())


def _findings(view: ImageView) -> Text:
    out = Text()
    for finding in view.findings[:_MOST]:
        mark = "■" if finding.present else "□"
        place = f", {finding.place}" if finding.place else ""
        line = f"{mark} {finding.probability:.2f}  {finding.name}{place}\n"
        out.append_text(text(line, "bold" if finding.present else "dim"))
    if len(view.findings) > _MOST:
        out.append(f"and {len(view.findings) - _MOST} more\n", "dim")
    return out.append("Not for clinical use.", "dim")
