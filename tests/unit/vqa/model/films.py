"""Drawn chest X-rays for the fixture model, whose outputs are means of regions of its input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from ehrqa_cli.vqa.imaging.picture import Picture

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "vision"
CARD = FIXTURES / "card.json"
PLAIN = FIXTURES / "classifier.json"


def film(
    size: int = 160, *, top: float = 0.6, left: float = 0.6, heart: float = 0.4
) -> npt.NDArray[np.uint8]:
    """Grey ground, two dark lungs, a bright heart that is ``heart`` of the thorax wide.

    ``top`` is the grey of the upper eighth, which the fixture takes for the view; ``left`` that of
    the upper left quarter outside the lung, which it takes for an effusion.
    """
    at = size / 16
    grey = np.full((size, size), 0.6)
    grey[: size // 2, : size // 2] = left
    grey[: int(2 * at)] = top
    for x in (2, 9):
        grey[int(3 * at) : int(13 * at), int(x * at) : int((x + 5) * at)] = 0.1
    width = heart * 12 * at
    begin = int(8 * at - width / 2)
    grey[int(8 * at) : int(12 * at), begin : begin + round(width)] = 0.97
    return np.asarray(np.round(grey * 255), dtype=np.uint8)


def picture(grey: npt.NDArray[np.uint8], colour: float = 0.0, name: str = "film.png") -> Picture:
    """A decoded picture."""
    height, width = grey.shape
    return Picture(Path(name), grey, width, height, f"{abs(hash(grey.tobytes())):064x}", colour)


def save(path: Path, grey: npt.NDArray[np.uint8]) -> Path:
    """A PNG file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(grey).save(path)
    return path
