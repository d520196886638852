"""The compressed frame of a DICOM file must be of the size that its header declares.

A decoder allocates what the codestream declares, whatever the header says, so a small file could
take all memory.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.vqa.imaging.raw import MAX_FRAME

if TYPE_CHECKING:
    from pydicom.dataset import Dataset

# Start of frame: baseline to differential lossless (ISO/IEC 10918-1 table B.1), JPEG-LS
_FRAMES = frozenset({*range(0xC0, 0xD0), 0xF7}) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset({0x01, *range(0xD0, 0xDA)})  # markers without a length
_J2K_SIZE = b"\xff\x4f\xff\x51"  # start of codestream and SIZ (ISO/IEC 15444-1 A.5.1)
_AGAIN = "export the file again"


def check(dataset: Dataset, syntax: Any) -> None:
    """Raise ImageError unless the first frame unpacks to what ``dataset`` declares."""
    from pydicom import uid
    from pydicom.encaps import get_frame

    frames = int(dataset.get("NumberOfFrames") or 1)
    data = get_frame(dataset.PixelData, 0, number_of_frames=max(1, frames))
    if syntax == uid.RLELossless:
        _check_rle(data)
        return
    found = _j2k(data) if syntax in uid.JPEG2000TransferSyntaxes else _jpeg(data)
    declared = (int(dataset.Columns), int(dataset.Rows), int(dataset.SamplesPerPixel))
    if found is None:
        raise ImageError("truncated or corrupt: its compressed frame has no header", _AGAIN)
    if found != declared:
        sizes = " but holds ".join("{} x {} ({})".format(*size) for size in (declared, found))
        raise ImageError(f"corrupt: it declares {sizes}", _AGAIN)


def _jpeg(data: bytes) -> tuple[int, int, int] | None:
    """Width, height and samples of a JPEG or JPEG-LS codestream."""
    at = 2
    while at + 10 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # fill
            at += 1
        elif marker in _FRAMES:
            height, width, samples = struct.unpack_from(">HHB", data, at + 5)
            return width, height, samples
        else:
            at += 2 if marker in _ALONE else 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


def _j2k(data: bytes) -> tuple[int, int, int] | None:
    """Width, height and samples of a JPEG 2000 codestream, bare or in a JP2 file."""
    at = data.find(_J2K_SIZE)
    if at < 0 or at + 42 > len(data):
        return None
    right, bottom, left, top = struct.unpack_from(">4I", data, at + 8)
    return right - left, bottom - top, struct.unpack_from(">H", data, at + 40)[0]


def _check_rle(data: bytes) -> None:
    """Count what the runs unpack to (PackBits, PS3.5 annex G)."""
    count, *offsets = struct.unpack_from("<16I", data)
    ends = [*offsets[1:count], len(data)]
    unpacked = 0
    for start, end in zip(offsets[:count], ends, strict=False):
        at = start
        while at < end:
            code = data[at]
            if code > 128:
                unpacked += 257 - code
                at += 2
            else:
                unpacked += 0 if code == 128 else code + 1
                at += 1 if code == 128 else code + 2
            if unpacked > MAX_FRAME:
                what = f"it would unpack to more than {MAX_FRAME >> 20} MiB"
                raise ImageError(what, _AGAIN)
