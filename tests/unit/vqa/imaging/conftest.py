"""Small images of known pixels, and DICOM files around them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

Write = Callable[..., Path]


def film(height: int = 120, width: int = 100) -> np.ndarray:
    """Something like a chest X-ray: dark lungs and corners, bright middle and bottom."""
    y, x = np.mgrid[0:height, 0:width] / np.array([[[height]], [[width]]])
    lungs = np.exp(-(((np.abs(x - 0.5) - 0.22) / 0.12) ** 2) - ((y - 0.45) / 0.25) ** 2)
    body = np.exp(-(((x - 0.5) / 0.42) ** 4)) * (0.4 + 0.5 * y)
    return np.clip(230 * (body - 0.45 * lungs), 3, 250).astype(np.uint8)


def bare_dataset(pixels: np.ndarray, bits: int, **tags: Any) -> Dataset:
    """A DICOM dataset of ``pixels``; ``tags`` override what it says."""
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.1.1"
    dataset.file_meta.MediaStorageSOPInstanceUID = generate_uid(entropy_srcs=["a"])
    dataset.SOPClassUID = dataset.file_meta.MediaStorageSOPClassUID
    dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID
    dataset.Rows, dataset.Columns = pixels.shape[:2]
    dataset.SamplesPerPixel = 1 if pixels.ndim == 2 else 3
    if pixels.ndim == 3:
        dataset.PlanarConfiguration = 0
    dataset.PhotometricInterpretation = "MONOCHROME2" if pixels.ndim == 2 else "RGB"
    dataset.BitsAllocated = pixels.dtype.itemsize * 8
    dataset.BitsStored, dataset.HighBit = bits, bits - 1
    dataset.PixelRepresentation = int(pixels.dtype.kind == "i")
    raw = pixels.tobytes()
    dataset.PixelData = raw + b"\0" * (len(raw) % 2)
    for name, value in tags.items():
        setattr(dataset, name, value)
    return dataset


@pytest.fixture
def write_dicom(tmp_path: Path) -> Write:
    """Write a DICOM file of these pixels and tags; returns its path."""

    def write(
        pixels: np.ndarray, bits: int | None = None, name: str = "a.dcm", **tags: Any
    ) -> Path:
        path = tmp_path / name
        dataset = bare_dataset(pixels, bits or pixels.dtype.itemsize * 8, **tags)
        dataset.save_as(path, enforce_file_format=True)
        return path

    return write
