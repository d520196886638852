"""What a reader of images saw, drawn: heart, lungs and their zones over the image, and beside it
the findings with their probabilities, with the place where each that is present shows most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.images import SceneGraph
from ehrqa_cli.vqa.imaging.picture import Picture
from ehrqa_cli.vqa.model import anatomy, fit
from ehrqa_cli.vqa.model.anatomy import Bools
from ehrqa_cli.vqa.model.card import Card
from ehrqa_cli.vqa.model.graph import findings, told
from ehrqa_cli.vqa.model.network import Seen

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

SIDE = 900  # pixels of the longer side of the image in the drawing
_PANEL = 420
_MOST = 24  # lines of findings
_COLOURS = {
    anatomy.HEART: (235, 87, 87),
    anatomy.LEFT: (86, 180, 233),
    anatomy.RIGHT: (102, 204, 153),
}
_MARK, _WARN, _TEXT, _DIM = (255, 200, 60), (255, 120, 80), (235, 235, 235), (140, 140, 140)
_GROUND = (18, 18, 20)


@dataclass(frozen=True)
class Line:
    """A finding: its probability, whether it counts as present, and where it shows most, as
    shares of the image's width and height."""

    name: str
    probability: float
    present: bool
    peak: tuple[float, float] | None = None
    place: str | None = None


@dataclass(frozen=True)
class Content:
    """What is drawn: masks (of any size, over the whole image), facts, findings, a warning."""

    title: str
    masks: Mapping[str, Bools] = field(default_factory=dict)
    facts: Sequence[str] = ()
    lines: Sequence[Line] = ()
    warning: str = ""


def content_of(card: Card, seen: Seen, title: str) -> Content:
    """What a model saw."""
    masks: dict[str, Bools] = {}
    if card.masks is not None and seen.masks is not None:
        masks = anatomy.masks_of(seen.masks, card.masks, seen.where, _drawn_size(*seen.size))
    ratio = anatomy.ratio(masks) if masks else None
    lines = [
        _line(label.name, float(p), float(p) >= label.threshold, _peak(seen, k), masks)
        for k, (label, p) in enumerate(zip(card.labels, findings(card, seen, ratio), strict=True))
        if p == p  # NaN: without its ratio nothing is said of it
    ]
    lines.sort(key=lambda line: (not line.present, -line.probability, line.name))
    warning = f"not like a frontal chest X-ray: {seen.strange}" if seen.strange else ""
    pa, female = told(card.view, seen.pa, "PA"), told(card.sex, seen.female, "F")
    return Content(title, masks, _facts(pa, female, ratio), lines, warning)


def content_of_graph(
    graph: SceneGraph, relations: Sequence[tuple[str, str]], title: str
) -> Content:
    """What labels say, which have neither masks nor peaks: the relations that are present."""
    lines = [
        Line(f"{name}, {place}" if place else name, float(p), True)
        for (place, name), p in zip(relations, graph.probabilities, strict=True)
        if p >= 0.5
    ]
    lines.sort(key=lambda line: (-line.probability, line.name))
    return Content(title, {}, _facts(graph.pa, graph.female, graph.heart), lines, graph.problem)


def draw(picture: Picture, content: Content) -> Image.Image:
    """The drawing, RGB."""
    from PIL import Image, ImageDraw

    width, height = _drawn_size(picture.width, picture.height)
    grey = fit.resized(picture.pixels, (width, height))
    layer = np.repeat(grey[:, :, None], 3, axis=2).astype(np.float32)
    for name, mask in content.masks.items():
        _tint(layer, _scaled(mask, (width, height)), _COLOURS[name])
    high = max(height, 480)
    canvas = Image.new("RGB", (width + _PANEL, high), _GROUND)
    canvas.paste(Image.fromarray(layer.astype(np.uint8)), (0, 0))
    pen = ImageDraw.Draw(canvas)
    for name in (anatomy.LEFT, anatomy.RIGHT):
        if name in content.masks:
            _zones(pen, _scaled(content.masks[name], (width, height)), _COLOURS[name])
    marked = [line for line in content.lines if line.present and line.peak]
    for number, line in enumerate(marked, start=1):
        assert line.peak is not None
        _mark(pen, (line.peak[0] * width, line.peak[1] * height), str(number))
    _panel(pen, (width + 20, 16), content, [line.name for line in marked], high)
    return canvas


def save(picture: Picture, content: Content, path: Path) -> None:
    """Draw into a PNG file. Raises UsageError when it cannot be written."""
    try:
        draw(picture, content).save(path, format="PNG")
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}", "name another file with --overlay"
        ) from None


def _drawn_size(width: int, height: int) -> tuple[int, int]:
    ratio = SIDE / max(width, height)
    return max(8, round(width * ratio)), max(8, round(height * ratio))


def _line(
    name: str,
    p: float,
    present: bool,
    peak: tuple[float, float] | None,
    masks: Mapping[str, Bools],
) -> Line:
    place = None
    if present and peak and masks:
        height, width = masks[anatomy.HEART].shape
        x, y = min(int(peak[0] * width), width - 1), min(int(peak[1] * height), height - 1)
        place = anatomy.place_at(masks, x, y)
    return Line(name, p, present, peak if present else None, place)


def _peak(seen: Seen, label: int) -> tuple[float, float] | None:
    """Where a finding shows most; None where its map is flat or there is none."""
    if seen.heat is None:
        return None
    grid = np.asarray(seen.heat[label], dtype=np.float32)
    if float(np.ptp(grid)) < 1e-6:
        return None
    y, x = np.unravel_index(int(np.argmax(grid)), grid.shape)
    where = seen.where
    across = ((x + 0.5) / grid.shape[1] - where.left) / where.width
    down = ((y + 0.5) / grid.shape[0] - where.top) / where.height
    return float(np.clip(across, 0, 1)), float(np.clip(down, 0, 1))


def _facts(pa: float | None, female: float | None, ratio: float | None) -> list[str]:
    facts = []
    if pa is not None:
        facts.append(f"view {'PA' if pa >= 0.5 else 'AP'} {max(pa, 1 - pa):.2f}")
    if female is not None:
        sex = "female" if female >= 0.5 else "male"
        facts.append(f"{sex} {max(female, 1 - female):.2f}")
    if ratio is not None:
        facts.append(f"cardiothoracic ratio {ratio:.2f}")
    return facts


def _scaled(mask: Bools, size: tuple[int, int]) -> Bools:
    from PIL import Image

    if mask.shape == (size[1], size[0]):
        return mask
    made = Image.fromarray(mask).resize(size, Image.Resampling.NEAREST)
    return np.asarray(made, dtype=np.bool_)


def _tint(layer: fit.Floats, mask: Bools, colour: tuple[int, int, int]) -> None:
    """A light wash inside a mask, and a line of three pixels along its border."""
    layer[mask] = 0.88 * layer[mask] + 0.12 * np.asarray(colour, np.float32)
    inner = mask.copy()
    for _ in range(3):
        grown = np.pad(inner, 1)
        inner = inner & grown[:-2, 1:-1] & grown[2:, 1:-1] & grown[1:-1, :-2] & grown[1:-1, 2:]
    layer[mask & ~inner] = colour


def _zones(pen: ImageDraw.ImageDraw, lung: Bools, colour: tuple[int, int, int]) -> None:
    """Dashed lines between a lung's zones."""
    rows = anatomy.zone_rows(lung)
    for y in rows[1:3] if rows else ():
        columns = np.flatnonzero(lung[y])
        if columns.size:
            for x in range(int(columns[0]), int(columns[-1]), 16):
                pen.line([(x, y), (min(x + 9, int(columns[-1])), y)], fill=colour, width=2)


def _mark(pen: ImageDraw.ImageDraw, at: tuple[float, float], text: str) -> None:
    x, y = at
    pen.ellipse([x - 17, y - 17, x + 17, y + 17], outline=_MARK, width=3)
    pen.text((x, y), text, fill=_MARK, font=_font(18), anchor="mm", stroke_width=2, stroke_fill=0)


def _panel(
    pen: ImageDraw.ImageDraw,
    at: tuple[int, int],
    content: Content,
    marked: Sequence[str],
    bottom: int,
) -> None:
    x, y = at
    wide = _PANEL - 40
    y = _text(pen, (x, y), content.title, wide, _TEXT, 20) + 6
    for fact in content.facts:
        y = _text(pen, (x, y), fact, wide, _TEXT, 16)
    if content.warning:
        y = _text(pen, (x, y + 4), content.warning, wide, _WARN, 16)
    y += 10
    for number, line in enumerate(content.lines):
        if number >= _MOST or y > bottom - 92:
            y = _text(pen, (x, y), f"and {len(content.lines) - number} more", wide, _DIM, 14)
            break
        y = _finding(pen, (x, y), line, marked, wide)
    pen.text((x, bottom - 46), "not for clinical use", fill=_DIM, font=_font(13))
    if content.masks:
        pen.text((x + wide, bottom - 46), "dashed: zones", fill=_DIM, font=_font(13), anchor="ra")
    for name, colour in _COLOURS.items():
        if name in content.masks:
            pen.text((x, bottom - 24), name.replace("_", " "), fill=colour, font=_font(14))
            x += 110


def _finding(
    pen: ImageDraw.ImageDraw, at: tuple[int, int], line: Line, marked: Sequence[str], wide: int
) -> int:
    """A name, a bar and a number; returns where the next begins."""
    x, y = at
    colour = _TEXT if line.present else _DIM
    number = f"{marked.index(line.name) + 1} " if line.name in marked else ""
    pen.text((x, y), _cut(f"{number}{line.name}", wide - 120, 15), fill=colour, font=_font(15))
    left, right = x + wide - 112, x + wide - 44
    pen.rectangle([left, y + 5, right, y + 13], outline=_DIM)
    p = min(1.0, max(0.0, line.probability)) if line.probability == line.probability else 0.0
    if p > 0:
        fill = _MARK if line.present else _DIM
        pen.rectangle([left, y + 5, left + p * (right - left), y + 13], fill=fill)
    pen.text((x + wide, y), f"{line.probability:.2f}", fill=colour, font=_font(15), anchor="ra")
    if line.place:
        pen.text((x + 16, y + 18), line.place, fill=_DIM, font=_font(13))
        return y + 38
    return y + 22


def _text(
    pen: ImageDraw.ImageDraw,
    at: tuple[int, int],
    text: str,
    wide: int,
    colour: tuple[int, int, int],
    size: int,
) -> int:
    """Text in lines of at most ``wide`` pixels; returns where the next begins."""
    x, y = at
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and _font(size).getlength(longer) > wide:
            pen.text((x, y), line, fill=colour, font=_font(size))
            line, y = word, y + size + 6
        else:
            line = longer
    pen.text((x, y), _cut(line, wide, size), fill=colour, font=_font(size))
    return y + size + 6


def _cut(text: str, wide: int, size: int) -> str:
    """Text that fits, with dots where it was cut."""
    if _font(size).getlength(text) <= wide:
        return text
    while text and _font(size).getlength(text + "...") > wide:
        text = text[:-1]
    return text + "..."


def _font(size: int):  # type: ignore[no-untyped-def]
    from PIL import ImageFont

    return ImageFont.load_default(size)
