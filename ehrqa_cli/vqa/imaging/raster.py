"""PNG and JPEG files, through Pillow."""

from __future__ import annotations

import os
import warnings
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.vqa.imaging.raw import Raw, check_size, colour_of, looked_up, reduced
from ehrqa_cli.vqa.imaging.upright import AS_IT_IS, Turn, by_exif

if TYPE_CHECKING:
    from PIL import Image, ImageFile

PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_ENDS = {PNG: b"IEND", JPEG: b"\xff\xd9"}
_TAIL = 4096
_ORIENTATION = 0x0112
_DEPTHS = (8, 10, 12, 14, 16)  # of detectors; a 16-bit file seldom says which


def read(file: IO[bytes], magic: bytes, size: int | None) -> Raw:
    """Decode an open PNG or JPEG. Raises ImageError, or what Pillow raises for a damaged file."""
    image = _open(file, magic)
    width, height = image.size
    if size and magic == JPEG:
        image.draft(None, (size, size))
    turn = _turn(image)
    if image.mode.startswith("I"):
        pixels, colour = _eight_bits(np.asarray(image)), 0.0
        pixels = np.asarray(reduced(_as_image(pixels), size))
    else:
        grey, colour = _grey(image)
        pixels = np.asarray(reduced(grey, size))
    return Raw(pixels, width, height, turn, colour)


def check(file: IO[bytes], magic: bytes) -> None:
    """Raise as ``read`` would where the header tells, or where the file has no end."""
    image = _open(file, magic)
    file.seek(-min(_TAIL, file.seek(0, os.SEEK_END)), os.SEEK_END)
    if _ENDS[magic] not in file.read():
        file.seek(0)
        image = _open(file, magic)
        if magic == JPEG:
            image.draft(None, (1, 1))
        image.load()


def _open(file: IO[bytes], magic: bytes) -> ImageFile.ImageFile:
    # Not Image.open: it looks for other formats in the file, and warns of large images by itself.
    from PIL.JpegImagePlugin import JpegImageFile
    from PIL.PngImagePlugin import PngImageFile

    # It warns of damage, as to EXIF, that does not touch the picture.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    image = PngImageFile(file) if magic == PNG else JpegImageFile(file)
    # Pillow keeps colour in four bytes a pixel
    check_size(*image.size, bytes_a_pixel=1 if image.mode in ("1", "L", "P") else 4)
    return image


def _turn(image: Image.Image) -> Turn:
    if not (image.info.get("exif") or image.info.get("Raw profile type exif")):
        return AS_IT_IS
    try:
        return by_exif(image.getexif().get(_ORIENTATION))
    except Exception:  # a damaged EXIF block is no reason to lose the picture
        return AS_IT_IS


def _grey(image: Image.Image) -> tuple[Image.Image, float]:
    from PIL import Image

    if image.mode in ("L", "1"):
        return (image if image.mode == "L" else image.convert("L")), 0.0
    if image.mode == "P" or "transparency" in image.info:
        image = image.convert("RGBA")
    colour = colour_of(image)
    grey = image.convert("L")
    if image.mode in ("LA", "RGBA"):
        opacity = image.getchannel("A")
        if opacity.getextrema() != (255, 255):
            grey = Image.composite(grey, Image.new("L", grey.size), opacity)
    return grey, colour


def _eight_bits(stored: npt.NDArray[np.integer]) -> npt.NDArray[np.uint8]:
    top = int(stored.max())
    if int(stored.min()) < 0 or top >= 1 << _DEPTHS[-1]:
        raise ImageError("its pixels have more than 16 bits", "export it again with 16 bits")
    depth = next(bits for bits in _DEPTHS if top < 1 << bits)
    table = np.arange(top + 1, dtype=np.float64) * 255 / ((1 << depth) - 1)
    return looked_up((table + 0.5).astype(np.uint8), stored)


def _as_image(pixels: npt.NDArray[np.uint8]) -> Image.Image:
    from PIL import Image

    return Image.fromarray(pixels)
