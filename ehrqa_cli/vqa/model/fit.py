"""A picture put into a model's input, and places in the input found again in the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ehrqa_cli.vqa.imaging.picture import Picture
from ehrqa_cli.vqa.model.card import Input

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Frame:
    """Where the whole picture lies in the input: left, top, width, height as shares of the
    input's sides. A part outside 0..1 is cut off."""

    left: float = 0.0
    top: float = 0.0
    width: float = 1.0
    height: float = 1.0


def frame(picture: Picture, spec: Input) -> Frame:
    """Where ``picture`` comes to lie in an input."""
    if spec.fit == "stretch":
        return Frame()
    high, wide = spec.size
    ratios = wide / picture.width, high / picture.height
    ratio = min(ratios) if spec.fit == "pad" else max(ratios)
    width, height = picture.width * ratio / wide, picture.height * ratio / high
    return Frame((1 - width) / 2, (1 - height) / 2, width, height)


def pixels(picture: Picture, spec: Input) -> Bytes:
    """The picture as (height, width) of the input: black where a padded one does not reach."""
    high, wide = spec.size
    where = frame(picture, spec)
    size = max(1, round(where.width * wide)), max(1, round(where.height * high))
    small = resized(picture.pixels, size)
    if size == (wide, high):
        return small
    left, top = round(where.left * wide), round(where.top * high)
    out = np.zeros((high, wide), dtype=np.uint8)
    inside = small[max(0, -top) : max(0, -top) + high, max(0, -left) : max(0, -left) + wide]
    y, x = max(0, top), max(0, left)
    out[y : y + inside.shape[0], x : x + inside.shape[1]] = inside
    return out


def batch(pictures: Sequence[Picture], spec: Input) -> Floats:
    """The model's input, float32 (N, C, H, W)."""
    grey = np.stack([pixels(picture, spec) for picture in pictures]).astype(np.float32)
    grey *= spec.scale
    planes = [
        (grey - mean) / std for mean, std in zip(spec.mean, spec.std, strict=True)
    ]  # of one channel, or of three that differ in mean and deviation only
    return np.ascontiguousarray(np.stack(planes, axis=1), dtype=np.float32)


def resized(grey: Bytes, size: tuple[int, int]) -> Bytes:
    """(height, width) to ``size`` (width, height): areas averaged when smaller, else bilinear."""
    from PIL import Image

    high, wide = grey.shape
    if (wide, high) == size:
        return grey
    smaller = wide >= size[0] and high >= size[1]
    how = Image.Resampling.BOX if smaller else Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(grey).resize(size, how), dtype=np.uint8)


def unfitted(grid: Floats, where: Frame, size: tuple[int, int]) -> Floats:
    """A map over the input, (h, w), as one over the picture, ``size`` (width, height); bilinear.

    What the input did not show is 0.
    """
    from PIL import Image

    high, wide = grid.shape
    box = (
        where.left * wide,
        where.top * high,
        (where.left + where.width) * wide,
        (where.top + where.height) * high,
    )
    inside = (max(box[0], 0.0), max(box[1], 0.0), min(box[2], wide), min(box[3], high))
    scale = size[0] / (box[2] - box[0]), size[1] / (box[3] - box[1])
    left, top = round((inside[0] - box[0]) * scale[0]), round((inside[1] - box[1]) * scale[1])
    shown = (
        max(1, round((inside[2] - inside[0]) * scale[0])),
        max(1, round((inside[3] - inside[1]) * scale[1])),
    )
    part = np.asarray(
        Image.fromarray(np.ascontiguousarray(grid, dtype=np.float32)).resize(
            shown, Image.Resampling.BILINEAR, box=inside
        ),
        dtype=np.float32,
    )
    if shown == size:
        return part
    out = np.zeros((size[1], size[0]), dtype=np.float32)
    part = part[: size[1] - top, : size[0] - left]
    out[top : top + part.shape[0], left : left + part.shape[1]] = part
    return out
