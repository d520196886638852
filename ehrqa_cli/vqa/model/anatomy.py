"""Heart and lungs from a model's masks: cleaned, measured, and cut into zones.

The cardiothoracic ratio is the widest extent of the heart over that of the thorax, which reaches
from the leftmost to the rightmost pixel of the lungs. A lung's zones are thirds of its height.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ehrqa_cli.vqa.model.card import Masks
from ehrqa_cli.vqa.model.fit import Frame, unfitted

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float32]

HEART, LEFT, RIGHT = "heart", "left_lung", "right_lung"
ZONES = ("upper lung zone", "mid lung zone", "lower lung zone")
# Widths are measured on pictures of this many pixels on the longer side: the ratio does not
# change by more than a thousandth above it, and the time grows with the square.
MEASURED = 256
# Outside of these no frontal chest X-ray was measured right: the masks are then not believed.
_AREAS = {HEART: (0.005, 0.4), LEFT: (0.01, 0.5), RIGHT: (0.01, 0.5)}
_RATIOS = (0.2, 0.95)
_OUTSIDE = 0.1  # of the thorax's width that a heart may reach beyond the lungs


def masks_of(maps: Floats, spec: Masks, where: Frame, size: tuple[int, int]) -> dict[str, Bools]:
    """The model's maps, (labels, h, w), as masks over a picture of ``size`` (width, height)."""
    found: dict[str, Bools] = {}
    for name, grid in zip(spec.labels, maps, strict=True):
        whole: Bools = unfitted(grid, where, size) >= spec.threshold
        found[name] = clean(whole)
    return found


def measured_size(width: int, height: int) -> tuple[int, int]:
    """The size of a picture on which widths are measured."""
    ratio = MEASURED / max(width, height)
    return max(8, round(width * ratio)), max(8, round(height * ratio))


def extent(mask: Bools) -> tuple[int, int] | None:
    """The leftmost and the rightmost column of a mask; None when it is empty."""
    columns = np.flatnonzero(mask.any(axis=0))
    return (int(columns[0]), int(columns[-1])) if columns.size else None


def ratio(masks: Mapping[str, Bools]) -> float | None:
    """The cardiothoracic ratio, or None when the masks are not those of a chest."""
    for name, (least, most) in _AREAS.items():
        if not least <= float(masks[name].mean()) <= most:
            return None
    heart, thorax = extent(masks[HEART]), extent(masks[LEFT] | masks[RIGHT])
    if heart is None or thorax is None:
        return None
    room = _OUTSIDE * (thorax[1] - thorax[0] + 1)
    if heart[0] < thorax[0] - room or heart[1] > thorax[1] + room:
        return None
    found = rough_ratio(masks)
    return found if _RATIOS[0] <= found <= _RATIOS[1] else None


def rough_ratio(masks: Mapping[str, Bools]) -> float:
    """The ratio of the extents whatever they look like; 0 when there are none."""
    heart, thorax = extent(masks[HEART]), extent(masks[LEFT] | masks[RIGHT])
    if heart is None or thorax is None:
        return 0.0
    return (heart[1] - heart[0] + 1) / (thorax[1] - thorax[0] + 1)


def zone_rows(lung: Bools) -> tuple[int, int, int, int] | None:
    """The rows at which a lung begins, its mid and lower zones begin, and it ends."""
    rows = np.flatnonzero(lung.any(axis=1))
    if not rows.size:
        return None
    top, end = int(rows[0]), int(rows[-1]) + 1
    return top, round(top + (end - top) / 3), round(top + 2 * (end - top) / 3), end


def place_at(masks: Mapping[str, Bools], x: int, y: int) -> str | None:
    """What lies at a pixel: the heart, or a zone of a lung; None elsewhere."""
    for side, name in (("left", LEFT), ("right", RIGHT)):
        rows = zone_rows(masks[name])
        if rows and masks[name][y, x]:
            return f"{side} {ZONES[int(y >= rows[1]) + int(y >= rows[2])]}"
    return "cardiac silhouette" if masks[HEART][y, x] else None


def clean(mask: Bools) -> Bools:
    """The largest connected part of a mask, its holes filled."""
    runs = _Runs.of(mask)
    if not runs.begin.size:
        return mask
    parts = runs.parts()
    sizes = np.bincount(parts, weights=(runs.end - runs.begin).astype(np.float64))
    kept = runs.drawn(parts == int(np.argmax(sizes)))
    around = _Runs.of(~kept)
    outside = around.parts()
    holes = ~np.isin(outside, outside[around.at_edge()])
    return kept | around.drawn(holes) if holes.any() else kept


@dataclass(frozen=True)
class _Runs:
    """Stretches of pixels in rows, in the order of reading: few, where pixels are many.

    ``begin`` and ``end`` count pixels of all rows one after the other, each with two more.
    """

    begin: Ints
    end: Ints
    shape: tuple[int, int]

    @classmethod
    def of(cls, mask: Bools) -> _Runs:
        height, width = mask.shape
        padded = np.zeros((height, width + 2), dtype=np.bool_)
        padded[:, 1:-1] = mask
        flat = padded.ravel()
        changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
        return cls(changes[0::2], changes[1::2], (height, width))

    def at_edge(self) -> Bools:
        """Those that touch the border."""
        height, width = self.shape
        row, start = np.divmod(self.begin, width + 2)
        length = self.end - self.begin
        edge: Bools = (
            (row == 0) | (row == height - 1) | (start == 1) | (start + length == width + 1)
        )
        return edge

    def parts(self) -> Ints:
        """The number of the connected part (by sides, not corners) that each stretch is in."""
        stride = self.shape[1] + 2
        # Those of the next row that this one touches stand next to each other.
        first = np.searchsorted(self.end, self.begin + stride, side="right")
        count = np.searchsorted(self.begin, self.end + stride, side="left") - first
        above = np.repeat(np.arange(len(count)), count)
        within = np.arange(len(above)) - np.repeat(np.cumsum(count) - count, count)
        below = np.repeat(first, count) + within
        part: Ints = np.arange(len(count))
        while True:  # the least number wins; each round follows the chains twice as far
            least = np.minimum(part[above], part[below])
            new = part.copy()
            for ends in (part[above], part[below], above, below):
                np.minimum.at(new, ends, least)
            new = new[new]
            if np.array_equal(new, part):
                return part
            part = new

    def drawn(self, chosen: Bools) -> Bools:
        """The chosen stretches as a mask."""
        height, width = self.shape
        steps = np.zeros(height * (width + 2) + 1, dtype=np.int8)
        steps[self.begin[chosen]] = 1
        steps[self.end[chosen]] -= 1
        whole = np.cumsum(steps[:-1], dtype=np.int8).reshape(height, width + 2)
        return np.ascontiguousarray(whole[:, 1:-1]).view(np.bool_)
