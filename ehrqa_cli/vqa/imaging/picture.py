"""What a decoded chest X-ray is, however its file was made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Picture:
    """One decoded image: ``pixels`` of shape (height, width), 8 bit, bone white on a dark ground.

    ``width`` and ``height`` are those of the file, upright; ``pixels`` may be smaller (see
    ``decode``). ``sha256`` is that of the file's bytes. ``colour`` is how far the picture is from
    grey: the mean difference between its largest and smallest channel, 0 to 255.
    """

    path: Path
    pixels: npt.NDArray[np.uint8]
    width: int
    height: int
    sha256: str
    colour: float = 0.0
