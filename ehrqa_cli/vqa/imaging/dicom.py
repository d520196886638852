"""DICOM files, through pydicom: what is declared is checked before anything is unpacked."""

from __future__ import annotations

import os
import warnings
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.vqa.imaging import codestream
from ehrqa_cli.vqa.imaging.raw import Raw, check_size, colour_of, reduced
from ehrqa_cli.vqa.imaging.upright import AS_IT_IS, Turn, by_cosines, by_directions
from ehrqa_cli.vqa.imaging.window import displayed

if TYPE_CHECKING:
    from pydicom.dataset import Dataset

_MAX_COMPRESSED = 256 << 20  # bytes of a file that is read as a whole
_BLOCK = 1 << 16
_META = 0x0002  # the group in front of the deflated part
_AGAIN = "copy or export the file again"
_INSTALL = "install the decoders: pip install 'ehrqa_cli[images]'; or export it uncompressed"
_WHOLE = "copy the file again; if it is whole, export it uncompressed"
_GREY = ("MONOCHROME1", "MONOCHROME2")


@dataclass(frozen=True)
class Header:
    """Texts of a DICOM header, as they stand there; "" where it says nothing."""

    patient: str
    sex: str
    birth: str
    age: str
    study: str
    study_uid: str
    date: str
    time: str
    view: str


def read(file: IO[bytes], size: int | None) -> Raw:
    """Decode the first frame. Raises ImageError, or what pydicom raises for a damaged file."""
    dataset, syntax = _open(file)
    stored = _pixels(file, dataset, syntax)
    if stored.ndim == 2 and dataset.PhotometricInterpretation in _GREY:
        pixels, colour = displayed(dataset, stored), 0.0
        if dataset.PhotometricInterpretation == "MONOCHROME1":
            np.subtract(255, pixels, out=pixels)
        pixels = _without_padding(dataset, stored, pixels)
    else:
        pixels, colour = _from_colour(dataset, stored)
    del stored
    from PIL import Image

    height, width = pixels.shape
    small = np.asarray(reduced(Image.fromarray(pixels), size))
    return Raw(small, width, height, _turn(dataset), colour)


def check(file: IO[bytes]) -> None:
    """Raise where the header or the file's length tells that ``read`` would."""
    dataset, syntax = _open(file)
    if not syntax.is_encapsulated and not syntax.is_deflated:
        here = file.tell()  # pydicom stops in front of the pixels
        if file.seek(0, os.SEEK_END) - here < _frame_bytes(dataset):
            raise ImageError("truncated: there are fewer pixels than it declares", _AGAIN)


def header(file: IO[bytes]) -> Header:
    """What the header says of patient and study."""
    dataset, _ = _open(file)

    def text(*names: str) -> str:
        found = (str(dataset.get(name) or "").strip() for name in names)
        return next((value for value in found if value), "")

    return Header(
        patient=text("PatientID"),
        sex=text("PatientSex"),
        birth=text("PatientBirthDate"),
        age=text("PatientAge"),
        study=text("StudyID"),
        study_uid=text("StudyInstanceUID"),
        date=text("StudyDate", "AcquisitionDate", "ContentDate"),
        time=text("StudyTime", "AcquisitionTime", "ContentTime"),
        view=text("ViewPosition"),
    )


def _open(file: IO[bytes]) -> tuple[Dataset, Any]:
    """The header, checked, and the transfer syntax (a pydicom UID)."""
    import pydicom
    from pydicom import uid

    # Its warnings are of values that do not matter here; the errors remain.
    warnings.filterwarnings("ignore", module=r"pydicom\.")
    _check_deflated(file)
    file.seek(0)
    dataset = pydicom.dcmread(file, stop_before_pixels=True, force=True)
    syntax = dataset.file_meta.get("TransferSyntaxUID")
    if syntax is None:
        implicit, little = dataset.original_encoding
        explicit = uid.ExplicitVRLittleEndian if little else uid.ExplicitVRBigEndian
        syntax = uid.ImplicitVRLittleEndian if implicit else explicit
    if "Rows" not in dataset or "Columns" not in dataset:
        raise ImageError("it is DICOM without an image", "give a DICOM file of a radiograph")
    sample = max(8, int(dataset.get("BitsAllocated", 8))) / 8
    check_size(
        int(dataset.Columns), int(dataset.Rows), int(dataset.get("SamplesPerPixel", 1)) * sample
    )
    _check_decoder(syntax)
    return dataset, syntax


def _check_decoder(syntax: Any) -> None:
    if syntax.is_encapsulated and not _plugins(syntax):
        raise ImageError(f"compressed as {syntax.name}, which has no decoder here", _INSTALL)


def _plugins(syntax: Any) -> list[str]:
    """The decoders to try. Not all that pydicom knows: on damaged data gdcm, and pylibjpeg for
    run lengths, end the program."""
    from pydicom.pixels.decoders.base import get_decoder
    from pydicom.uid import RLELossless

    try:
        available = get_decoder(syntax).available_plugins
    except NotImplementedError:
        return []
    wanted = ("pydicom",) if syntax == RLELossless else ("pillow", "pylibjpeg", "pyjpegls")
    return [name for name in wanted if name in available]


def _frame_bytes(dataset: Dataset) -> int:
    from pydicom.pixels.utils import get_expected_length

    frames = max(1, int(dataset.get("NumberOfFrames") or 1))
    return get_expected_length(dataset) // frames


def _check_deflated(file: IO[bytes]) -> None:
    """Unpack a deflated file into nothing: pydicom would unpack it into memory, of any size."""
    from pydicom.filereader import read_dataset, read_preamble
    from pydicom.uid import DeflatedExplicitVRLittleEndian as DEFLATED

    file.seek(0)
    if read_preamble(file, force=True) is None:  # type: ignore[arg-type]
        return  # without a preamble there is no meta information
    meta = read_dataset(
        file,  # type: ignore[arg-type]
        is_implicit_VR=False,
        is_little_endian=True,
        stop_when=lambda tag, vr, length: tag >> 16 != _META,
    )
    if meta.get("TransferSyntaxUID") != DEFLATED:
        return
    unpacked, stream = 0, zlib.decompressobj(-zlib.MAX_WBITS)
    while not stream.eof and (block := file.read(_BLOCK)):
        while block and not stream.eof:
            unpacked += len(stream.decompress(block, _BLOCK))
            if unpacked > _MAX_COMPRESSED:
                what = f"it would unpack to more than {_MAX_COMPRESSED >> 20} MiB"
                raise ImageError(what, "export it again without the deflated transfer syntax")
            block = stream.unconsumed_tail


def _pixels(file: IO[bytes], dataset: Dataset, syntax: Any) -> npt.NDArray[Any]:
    """The first frame: (rows, columns) or, in colour, (rows, columns, 3)."""
    import pydicom
    from pydicom.pixels.utils import pixel_array

    if not syntax.is_encapsulated and not syntax.is_deflated:
        file.seek(0)
        return pixel_array(file, index=0, transfer_syntax_uid=syntax)  # type: ignore[arg-type]
    if file.seek(0, os.SEEK_END) > _MAX_COMPRESSED:
        raise ImageError(f"more than {_MAX_COMPRESSED >> 20} MiB, compressed", "export it again")
    file.seek(0)
    whole = pydicom.dcmread(file, force=True)
    if syntax.is_deflated:
        return pixel_array(whole, index=0)
    codestream.check(whole, syntax)
    for plugin in _plugins(syntax):
        try:
            return pixel_array(whole, index=0, decoding_plugin=plugin)
        except Exception as error:  # the next one may be able to; decoders raise anything
            reason = error
    raise ImageError(f"its {syntax.name} data cannot be decoded", _WHOLE) from reason


def _without_padding(
    dataset: Dataset, stored: npt.NDArray[Any], pixels: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint8]:
    """Padding is no part of the picture: black (PS3.3 C.7.5.1.1.2)."""
    one = dataset.get("PixelPaddingValue")
    if isinstance(one, int):
        other = dataset.get("PixelPaddingRangeLimit")
        low, high = sorted((one, other if isinstance(other, int) else one))
        pixels[(stored >= low) & (stored <= high)] = 0
    return pixels


def _from_colour(dataset: Dataset, stored: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint8], float]:
    from PIL import Image
    from pydicom.pixels.processing import apply_color_lut

    bits = int(dataset.BitsStored)
    if dataset.PhotometricInterpretation == "PALETTE COLOR":
        stored = apply_color_lut(stored, dataset)
        bits = stored.dtype.itemsize * 8
    if stored.ndim != 3 or stored.shape[2] != 3:
        what = f"pixels of the kind {dataset.PhotometricInterpretation} cannot be read"
        raise ImageError(what, "export it again as MONOCHROME2")
    if bits > 8:
        stored = stored >> (bits - 8)
    image = Image.fromarray(stored.astype(np.uint8, copy=False))
    return np.array(image.convert("L")), colour_of(image)


def _turn(dataset: Dataset) -> Turn:
    directions = dataset.get("PatientOrientation")
    if directions and len(directions) == 2:
        return by_directions(str(directions[0]), str(directions[1]))
    cosines = dataset.get("ImageOrientationPatient")
    return by_cosines([float(value) for value in cosines]) if cosines else AS_IT_IS
