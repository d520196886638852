"""An image file, whatever its format, to one upright picture with white bone.

Files are untrusted: the size that a header declares is checked before anything is unpacked, and
whatever goes wrong is an ImageError that names the file.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.vqa.imaging import raster
from ehrqa_cli.vqa.imaging.picture import Picture
from ehrqa_cli.vqa.imaging.polarity import is_negative
from ehrqa_cli.vqa.imaging.raw import MAX_FILE, Raw

if TYPE_CHECKING:
    from ehrqa_cli.vqa.imaging.dicom import Header

_HEAD = 128  # DICOM's preamble; DICM follows
_FORMATS = "give a PNG, JPEG or DICOM file"
_AGAIN = "copy or download the file again"
_COLOURED = 16.0  # a photograph: whether its bones are white is no question


def decode(path: Path, *, size: int | None = None) -> Picture:
    """Read the PNG, JPEG or DICOM file ``path``, told by its content, not its name.

    With ``size`` the smaller side of ``pixels`` may come out reduced, to no less than ``size``,
    which is much faster for large files. Of several frames the first is read. Raises ImageError
    for a file that is missing, truncated, corrupt, unsupported or too large.
    """
    with _fenced(path), _opened(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        raw = _read(file, _kind(file), size)
        pixels = raw.turn.apply(raw.pixels)
        if raw.colour < _COLOURED and is_negative(pixels):
            pixels = 255 - pixels
        width, height = raw.turn.size(raw.width, raw.height)
        return Picture(path, pixels, width, height, digest, raw.colour)


def check(path: Path) -> None:
    """Raise ImageError when ``path`` is no image by its header, its length and its end.

    Much quicker than ``decode``; damage inside the file is not seen.
    """
    with _fenced(path), _opened(path) as file:
        kind = _kind(file)
        if kind is None:
            from ehrqa_cli.vqa.imaging import dicom

            dicom.check(file)
        else:
            raster.check(file, kind)


def dicom_header(path: Path) -> Header | None:
    """What a DICOM file says of patient and study; None for another image. Raises ImageError."""
    with _fenced(path), _opened(path) as file:
        if _kind(file) is not None:
            return None
        from ehrqa_cli.vqa.imaging import dicom

        return dicom.header(file)


def _read(file: IO[bytes], kind: bytes | None, size: int | None) -> Raw:
    if kind is not None:
        return raster.read(file, kind, size)
    from ehrqa_cli.vqa.imaging import dicom

    return dicom.read(file, size)


def _kind(file: IO[bytes]) -> bytes | None:
    """The magic of PNG or JPEG, None for DICOM; the file is then at its start."""
    file.seek(0)
    head = file.read(_HEAD + 4)
    file.seek(0)
    if not head:
        raise ImageError("the file is empty", _AGAIN)
    for magic in (raster.JPEG, raster.PNG):
        if head.startswith(magic):
            return magic
    # old DICOM files lack the preamble and begin with a tag of group 2 or 8
    bare = head[:2] in (b"\x02\x00", b"\x08\x00") and head[3:4] == b"\x00"
    if head[_HEAD:] == b"DICM" or bare:
        return None
    raise ImageError("it is not an image that ehrqa reads", _FORMATS)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        facts = path.stat()
        if stat.S_ISDIR(facts.st_mode):
            raise ImageError("it is a folder", _FORMATS)
        if not stat.S_ISREG(facts.st_mode):  # reading a pipe could wait for ever
            raise ImageError("it is not a file", _FORMATS)
        if facts.st_size > MAX_FILE:
            raise ImageError(f"the file is larger than {MAX_FILE >> 20} MiB", "export it again")
        file = path.open("rb")
    except FileNotFoundError:
        raise ImageError("there is no such file", "check the name and the image folder") from None
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise ImageError(f"cannot be opened: {what}", "check the name and permissions") from error
    with file:
        yield file


@contextmanager
def _fenced(path: Path) -> Iterator[None]:
    """Make every error an ImageError that names ``path``."""
    try:
        yield
    except ImageError as error:
        raise ImageError(f"{path}: {error.message}", error.hint) from error
    except MemoryError as error:
        raise ImageError(f"{path}: not enough memory", "close other programs") from error
    except Exception as error:  # a damaged file can make a decoder raise nearly anything
        what = " ".join(str(error).split())[:200] or type(error).__name__
        raise ImageError(f"{path}: truncated or corrupt ({what})", _AGAIN) from error
