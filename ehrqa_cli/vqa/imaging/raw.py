"""What the readers of the several formats hand to ``decode``, and the limits they keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.vqa.imaging.upright import AS_IT_IS, Turn

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 100_000_000
MAX_FRAME = 512 << 20  # bytes of one unpacked frame
MAX_FILE = 512 << 20  # bytes
ROWS = 256  # done at a time
_COLOUR_SAMPLE = 128  # pixels a side
_SMALLER = "chest X-rays have 5 to 20 million pixels; export it again at that size"


@dataclass(frozen=True)
class Raw:
    """An image as stored: ``pixels`` (height, width), 8 bit, not yet turned upright."""

    pixels: npt.NDArray[np.uint8]
    width: int
    height: int
    turn: Turn = AS_IT_IS
    colour: float = 0.0


def check_size(width: int, height: int, bytes_a_pixel: float = 1.0) -> None:
    """Raise ImageError for a declared size that is empty or more than this program takes."""
    if width <= 0 or height <= 0:
        raise ImageError(f"an image of {width} x {height} pixels", "export it again")
    if width * height > MAX_PIXELS:
        what = f"{width:,} x {height:,} pixels are more than {MAX_PIXELS // 1_000_000} million"
        raise ImageError(what, _SMALLER)
    if width * height * bytes_a_pixel > MAX_FRAME:
        raise ImageError(f"it would unpack to more than {MAX_FRAME >> 20} MiB", _SMALLER)


def looked_up(
    table: npt.NDArray[np.uint8], stored: npt.NDArray[np.integer], low: int = 0
) -> npt.NDArray[np.uint8]:
    """``table[stored - low]``, a few rows at a time: numpy needs eight bytes for each index."""
    out = np.empty(stored.shape, dtype=np.uint8)
    for row in range(0, len(stored), ROWS):
        index = stored[row : row + ROWS].astype(np.intp) - low
        np.take(table, index, out=out[row : row + ROWS])
    return out


def reduced(image: Image.Image, size: int | None) -> Image.Image:
    """``image`` with its smaller side reduced, by a whole factor, to no less than ``size``."""
    factor = min(image.size) // size if size else 1
    return image.reduce(factor) if factor > 1 else image


def colour_of(image: Image.Image) -> float:
    """The mean difference between largest and smallest channel, over a sample of the pixels."""
    from PIL import Image

    width, height = (min(side, _COLOUR_SAMPLE) for side in image.size)
    sample = image.resize((width, height), Image.Resampling.NEAREST).convert("RGB")
    return float(np.ptp(np.asarray(sample, dtype=np.int16), axis=2).mean())
