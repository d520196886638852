"""Stored values of a DICOM radiograph to 8 bit: rescale or modality LUT, then VOI LUT or window.

Both steps are pydicom's own (DICOM PS3.3 C.11.1 and C.11.2). They map single values, so for up to
16 bits they are done once for each value that can occur and then looked up, which takes a
fraction of the time and memory of doing them for each pixel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ehrqa_cli.vqa.imaging.raw import ROWS, looked_up

if TYPE_CHECKING:
    from pydicom.dataset import Dataset

_SAMPLE = 512  # pixels a side that ranges are taken from
_FAR = 1e30  # beyond any window
_CUT = (0.5, 99.5)  # percentiles shown where the file says no window

Floats = npt.NDArray[np.float64]
Shown = Callable[[npt.NDArray[Any]], Floats]


def displayed(dataset: Dataset, stored: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """``stored`` (height, width) as it is meant to be looked at, MONOCHROME1 not yet inverted.

    Without a window, or with one that shows nothing, 8-bit images stay as they are and others
    are stretched between their 0.5th and 99.5th percentile, padding apart.
    """
    show = _chosen(dataset, stored)
    if stored.dtype.kind in "iu" and stored.dtype.itemsize <= 2:
        low, high = int(stored.min()), int(stored.max())
        return looked_up(_bytes(show(np.arange(low, high + 1, dtype=np.int32))), stored, low)
    out = np.empty(stored.shape, dtype=np.uint8)
    for row in range(0, len(stored), ROWS):
        out[row : row + ROWS] = _bytes(show(stored[row : row + ROWS]))
    return out


def _bytes(share: Floats) -> npt.NDArray[np.uint8]:
    clean = np.nan_to_num(share, nan=0.0, posinf=1.0, neginf=0.0)
    return np.asarray(np.clip(clean, 0, 1) * 255 + 0.5).astype(np.uint8)


def _chosen(dataset: Dataset, stored: npt.NDArray[Any]) -> Shown:
    """What maps stored values to 0..1: the file's window, or else the values' own range."""
    steps = [max(1, side // _SAMPLE) for side in stored.shape]
    sample = stored[:: steps[0], :: steps[1]].ravel()
    sample = _unpadded(dataset, sample)
    if sample.dtype.kind in "iu":
        sample = sample.astype(np.int64)
    for make in (_lut, _window):
        try:
            show = make(dataset)
            if show is not None and np.ptp(np.percentile(show(sample), (5, 95))) > 0:
                return show
        except (AttributeError, IndexError, NotImplementedError, TypeError, ValueError):
            continue  # a LUT or window of width 0, or without its parts, is none
    return _own_range(dataset, sample)


def _unpadded(dataset: Dataset, sample: npt.NDArray[Any]) -> npt.NDArray[Any]:
    padding = dataset.get("PixelPaddingValue")
    if not isinstance(padding, int):
        return sample
    other = dataset.get("PixelPaddingRangeLimit")
    low, high = sorted((padding, other if isinstance(other, int) else padding))
    kept = sample[(sample < low) | (sample > high)]
    return kept if kept.size else sample


def _modality(dataset: Dataset, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    from pydicom.pixels.processing import apply_modality_lut

    return apply_modality_lut(values, dataset)


def _lut(dataset: Dataset) -> Shown | None:
    from pydicom.pixels.processing import apply_voi

    if not dataset.get("VOILUTSequence"):
        return None
    item: Any = dataset.VOILUTSequence[0]
    entries, first, depth = item.LUTDescriptor
    if depth == 8:
        # pydicom counts the entries of an 8-bit LUT in 8 bits, so those beyond 256 come out wrong
        item.LUTDescriptor = [entries, first, 16]
    whole = apply_voi(np.arange(first, first + (entries or 1 << 16), dtype=np.int32), dataset)
    low, high = float(whole.min()), float(whole.max())

    def show(values: npt.NDArray[Any]) -> Floats:
        modality = np.rint(_modality(dataset, values)).astype(np.int64)
        return (apply_voi(modality, dataset) - low) / (high - low or 1.0)

    return show


def _window(dataset: Dataset) -> Shown | None:
    from pydicom.pixels.processing import apply_windowing

    if dataset.get("WindowCenter") is None or dataset.get("WindowWidth") is None:
        return None
    with np.errstate(over="ignore"):
        low, high = apply_windowing(np.array([-_FAR, _FAR]), dataset)

    def show(values: npt.NDArray[Any]) -> Floats:
        with np.errstate(over="ignore"):
            out = apply_windowing(_modality(dataset, values), dataset)
        return np.asarray((out - low) / (high - low or 1.0), dtype=np.float64)

    return show


def _own_range(dataset: Dataset, sample: npt.NDArray[Any]) -> Shown:
    bits = int(dataset.get("BitsStored", 8))
    plain = bits <= 8 and not dataset.get("ModalityLUTSequence") and sample.dtype.kind in "iu"
    if plain and not int(dataset.get("PixelRepresentation", 0)):
        top = float((1 << bits) - 1)
        return lambda values: np.asarray(values, dtype=np.float64) / top
    finite = sample[np.isfinite(sample)] if sample.dtype.kind == "f" else sample
    modality = np.asarray(_modality(dataset, finite), dtype=np.float64)
    low, high = np.percentile(modality, _CUT) if modality.size else (0.0, 1.0)
    if not high > low:
        low, high = (float(modality.min()), float(modality.max())) if modality.size else (0.0, 1.0)

    def show(values: npt.NDArray[Any]) -> Floats:
        out = np.asarray(_modality(dataset, values), dtype=np.float64)
        return (out - low) / (high - low or 1.0)

    return show
