"""One image file as the grey levels that the networks are trained on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

SIZE = 224


def grey(path: Path, size: int) -> npt.NDArray[np.uint8]:
    """One image as (size, size) grey levels; what is not square is stretched."""
    with Image.open(path) as image:
        small = image.convert("L")
        if small.size != (size, size):
            small = small.resize((size, size), Image.Resampling.BOX)
        return np.asarray(small, dtype=np.uint8)
