"""Turning a stored image upright, by what its EXIF or DICOM header says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Turn(NamedTuple):
    """What to do with the stored rows, in this order."""

    transpose: bool = False
    mirror: bool = False  # left and right
    flip: bool = False  # top and bottom

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the turned image."""
        return (height, width) if self.transpose else (width, height)

    def apply(self, pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """The turned ``pixels`` (height, width)."""
        if not any(self):
            return pixels
        turned = pixels.T if self.transpose else pixels
        turned = turned[:, ::-1] if self.mirror else turned
        return np.ascontiguousarray(turned[::-1] if self.flip else turned)


AS_IT_IS = Turn()

# EXIF 2.3, tag 0x0112
_EXIF = {
    2: Turn(mirror=True),
    3: Turn(mirror=True, flip=True),
    4: Turn(flip=True),
    5: Turn(transpose=True),
    6: Turn(transpose=True, mirror=True),
    7: Turn(transpose=True, mirror=True, flip=True),
    8: Turn(transpose=True, flip=True),
}
_UP_DOWN = ("H", "F")


def by_exif(orientation: object) -> Turn:
    """The turn for EXIF's Orientation; a value outside 1 to 8 means none."""
    return _EXIF.get(orientation, AS_IT_IS) if isinstance(orientation, int) else AS_IT_IS


def by_directions(row: str, column: str) -> Turn:
    """The turn for DICOM's Patient Orientation (PS3.3 C.7.6.1.1.1): where a row and a column run.

    Upright is a row that runs to the patient's Left (as radiographs are hung) and a column that
    runs to the Feet. Of a direction such as LF the first letter counts. A lateral view (Anterior,
    Posterior) is never mirrored. Directions that are no such pair turn nothing.
    """
    one, two = row[:1].upper(), column[:1].upper()
    transpose = one in _UP_DOWN
    across, down = (two, one) if transpose else (one, two)
    if down not in _UP_DOWN or across not in ("L", "R", "A", "P"):
        return AS_IT_IS
    return Turn(transpose, across == "R", down == "H")


def by_cosines(cosines: Sequence[float]) -> Turn:
    """The turn for DICOM's Image Orientation (Patient): six direction cosines."""
    if len(cosines) != 6:
        return AS_IT_IS
    letters = []
    for vector in (cosines[:3], cosines[3:]):
        axis = max(range(3), key=lambda i: abs(vector[i]))
        letters.append(("LR", "PA", "HF")[axis][vector[axis] < 0])
    return by_directions(*letters)
