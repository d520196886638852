"""Chest X-rays stored dark on light without saying so."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# The mean of the 1,915 training images of NIH ChestX-ray14 (Wang et al., CVPR 2017; see
# docs/images.md) in 8 x 8 cells, each image brought to mean 0 and length 1, mirrored onto itself;
# times 100. Corners, neck and lungs are dark, spine, heart and abdomen are light.
_TYPICAL = np.array(
    [
        [-28, -24, -16, 1],
        [-6, -2, -8, -1],
        [2, 1, -13, -2],
        [0, 0, -11, 4],
        [-4, 0, -3, 12],
        [-8, 3, 8, 17],
        [-12, 8, 17, 22],
        [-14, 11, 21, 25],
    ],
    dtype=np.float64,
)
_CELLS = 8
_WHOLE = np.hstack([_TYPICAL, _TYPICAL[:, ::-1]])
_UNIT = (_WHOLE - _WHOLE.mean()) / np.linalg.norm(_WHOLE - _WHOLE.mean())
# Less than -0.4: 0 of 2,375 real images, 96% of their 261 held-out negatives (docs/images.md).
_LIMIT = -0.4


def likeness(pixels: npt.NDArray[np.uint8]) -> float:
    """The correlation, -1 to 1, of ``pixels`` (height, width) with a typical chest X-ray."""
    from PIL import Image

    small = Image.fromarray(pixels).resize((_CELLS, _CELLS), Image.Resampling.BOX, reducing_gap=2)
    cells = np.asarray(small, dtype=np.float64)
    cells = cells - cells.mean()
    length = float(np.linalg.norm(cells))
    return float((cells * _UNIT).sum()) / length if length else 0.0


def is_negative(pixels: npt.NDArray[np.uint8]) -> bool:
    """Whether ``pixels`` are surely a chest X-ray with dark bone; in doubt, no."""
    return likeness(pixels) < _LIMIT
