"""An X-ray in the terminal: half blocks of grey, or with no colour, characters of rising weight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.engine.chat.events import Event, EvidenceRead

if TYPE_CHECKING:
    from PIL import Image

    from ehrqa_cli.engine.chat.views import ImageView

_RAMP = " .:-=+*#%@"
_LONGEST = 1024  # pixels of the longer side that is kept


@dataclass(frozen=True)
class Grey:
    """A picture of 8-bit grey: ``pixels`` row by row, from the upper left."""

    width: int
    height: int
    pixels: bytes

    def image(self) -> Image.Image:
        """As Pillow has it."""
        from PIL import Image

        return Image.frombytes("L", (self.width, self.height), self.pixels)


def load(path: Path) -> Grey:
    """The X-ray in ``path``, small enough for a screen. Raises ImageError."""
    from PIL import Image

    from ehrqa_cli.vqa.imaging.decode import decode

    image = Image.fromarray(decode(path, size=_LONGEST).pixels)
    image.thumbnail((_LONGEST, _LONGEST))
    grey = image.convert("L")
    return Grey(grey.width, grey.height, grey.tobytes())


def with_pictures(event: Event) -> Event:
    """The event, with the pictures of the images whose evidence was read. It takes a moment."""
    if not isinstance(event, EvidenceRead):
        return event
    images = tuple(_loaded(view) for view in event.evidence.images)
    return replace(event, evidence=replace(event.evidence, images=images))


def _loaded(view: ImageView) -> ImageView:
    try:
        return view if view.path is None else replace(view, picture=load(view.path))
    except EhrqaError as error:
        return replace(view, problem=view.problem or error.message)


def fitted(picture: Grey, columns: int, rows: int) -> tuple[int, int]:
    """The largest size in cells that keeps the picture's shape; a cell is twice as high as wide."""
    scale = min(columns / picture.width, 2 * rows / picture.height)
    return max(1, round(picture.width * scale)), max(1, round(picture.height * scale / 2))


def half_blocks(picture: Grey, columns: int, rows: int, colour: bool = True) -> list[Strip]:
    """Lines of cells. Without colour each cell is one character for its mean."""
    from PIL import Image

    width, height = fitted(picture, columns, rows)
    high = 2 * height if colour else height
    small = picture.image().resize((width, high), Image.Resampling.BOX).tobytes()
    lines = [small[y * width : (y + 1) * width] for y in range(high)]
    if not colour:
        return [
            Strip([Segment("".join(_RAMP[p * len(_RAMP) // 256] for p in line))]) for line in lines
        ]
    return [
        Strip([Segment("▀", _style(a, b)) for a, b in zip(above, below, strict=True)])
        for above, below in zip(lines[::2], lines[1::2], strict=True)
    ]


_STYLES: dict[tuple[int, int], Style] = {}


def _style(above: int, below: int) -> Style:
    """The style of a half block, kept: there are at most 64 shades of each half."""
    key = above >> 2, below >> 2
    if key not in _STYLES:
        a, b = key[0] * 255 // 63, key[1] * 255 // 63
        _STYLES[key] = Style.parse(f"rgb({a},{a},{a}) on rgb({b},{b},{b})")
    return _STYLES[key]


class HalfBlocks(Widget):
    """A picture as large as the widget allows."""

    DEFAULT_CSS = "HalfBlocks { height: 1fr; }"

    def __init__(self, picture: Grey, id: str | None = None) -> None:
        super().__init__(id=id)
        self.picture = picture
        self._drawn: tuple[tuple[int, int], list[Strip]] = ((0, 0), [])

    def render_line(self, y: int) -> Strip:
        """One line of cells, drawn anew when the size has changed."""
        size = self.size.width, self.size.height
        if self._drawn[0] != size and min(size) > 0:
            self._drawn = size, half_blocks(self.picture, *size, colour=not self.app.no_color)
        lines = self._drawn[1]
        line = lines[y] if y < len(lines) else Strip([])
        return line.extend_cell_length(self.size.width)
