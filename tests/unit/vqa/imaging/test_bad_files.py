"""Files that are no image, are damaged, or would take all memory: one clear error each."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydicom.encaps import encapsulate
from pydicom.uid import JPEG2000Lossless, JPEGBaseline8Bit, RLELossless

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.vqa.imaging.decode import check, decode

from .conftest import Write, bare_dataset, film

FILM = film(300, 250)
MEBIBYTE = 1 << 20


def refused(path: Path, match: str, read=decode) -> None:
    with pytest.raises(ImageError, match=match) as error:
        read(path)
    assert error.value.message.startswith(str(path)) and error.value.hint
    assert "\n" not in error.value.message and error.value.exit_code == 1


def encoded(kind: str) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(FILM).save(stream, kind)
    return stream.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_bomb(side: int, depth: int = 1) -> bytes:
    """A PNG of ``side`` x ``side`` black pixels, of about a thousandth of that size."""
    packer, row = zlib.compressobj(1), bytes(1 + (side * depth + 7) // 8)
    data = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, depth, 0, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


@pytest.mark.parametrize("read", [decode, check])
def test_what_is_no_image(tmp_path: Path, read) -> None:
    path = tmp_path / "a.jpg"
    refused(path, "no such file", read)
    refused(tmp_path, "folder", read)
    path.write_bytes(b"")
    refused(path, "empty", read)
    path.write_text("patient,finding\n1,effusion\n" * 20)
    refused(path, "not an image", read)
    refused(Path("nul\0byte"), "cannot be opened", read)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jpg")
    refused(tmp_path / "a.jpg", "not a file")


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.9, 0.99])
def test_truncated(tmp_path: Path, kind: str, share: float) -> None:
    whole = encoded(kind)
    path = tmp_path / "a"
    path.write_bytes(whole[: max(20, int(len(whole) * share))])
    refused(path, "truncated or corrupt")
    refused(path, "truncated or corrupt", check)


def test_trailing_bytes_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(encoded("JPEG") + bytes(10_000))
    check(path)
    assert decode(path).pixels.shape == FILM.shape


def test_corrupt_png(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.png", bytearray(encoded("PNG"))
    whole[len(whole) // 2 :] = bytes(len(whole) - len(whole) // 2)
    path.write_bytes(whole)
    refused(path, "truncated or corrupt")


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_is_an_image_error_or_a_picture(
    tmp_path: Path, write_dicom: Write, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    dicom = write_dicom(FILM.astype(np.uint16), 12, WindowCenter=99, WindowWidth=200).read_bytes()
    path = tmp_path / "a"
    for whole in (encoded("JPEG"), encoded("PNG"), dicom):
        damaged = np.frombuffer(whole, dtype=np.uint8).copy()
        reach = len(damaged) if seed % 2 else min(900, len(damaged))
        damaged[rng.integers(0, reach, 8)] = rng.integers(0, 256, 8)
        path.write_bytes(damaged.tobytes())
        try:
            assert decode(path).pixels.ndim == 2
        except ImageError as error:
            assert error.hint


def test_truncated_dicom(write_dicom: Write) -> None:
    path = write_dicom(FILM)
    path.write_bytes(path.read_bytes()[:-1000])
    refused(path, "truncated")
    refused(path, "fewer pixels", check)


def test_dicom_without_an_image(write_dicom: Write) -> None:
    path = write_dicom(FILM)
    dataset = bare_dataset(FILM, 8)
    del dataset.PixelData, dataset.Rows, dataset.Columns
    dataset.save_as(path, enforce_file_format=True)
    refused(path, "DICOM without an image")


def test_empty_dicom_image(write_dicom: Write) -> None:
    refused(write_dicom(FILM, Rows=0), "250 x 0 pixels")


@pytest.mark.parametrize("read", [decode, check])
def test_too_many_pixels_are_refused_from_the_header(
    tmp_path: Path, write_dicom: Write, read
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png_bomb(30_000))
    assert path.stat().st_size < MEBIBYTE
    refused(path, "30,000 x 30,000 pixels", read)
    refused(write_dicom(FILM, Rows=60_000, Columns=60_000), "60,000 x 60,000 pixels", read)
    wide = write_dicom(FILM, Rows=9_000, Columns=11_000, BitsAllocated=64)
    refused(wide, "unpack to more than 512 MiB", read)


def bomb_jpeg(path: Path) -> None:
    whole = bytearray(encoded("JPEG"))
    at = whole.index(b"\xff\xc0")
    whole[at + 5 : at + 9] = struct.pack(">HH", 40_000, 40_000)
    path.write_bytes(whole)


def bomb_deflated(path: Path) -> None:
    dataset = bare_dataset(FILM, 8)
    dataset.file_meta.TransferSyntaxUID = "1.2.840.10008.1.2.1.99"
    dataset.save_as(path, enforce_file_format=True)
    body = path.read_bytes()
    meta = body[: 132 + 12 + struct.unpack_from("<I", body, 132 + 8)[0]]
    packer = zlib.compressobj(1, wbits=-15)
    # one element that is 320 MiB long: (0009,1001) OB
    packed = packer.compress(struct.pack("<HH2sHI", 9, 0x1001, b"OB", 0, 320 * MEBIBYTE))
    zeros = bytes(16 * MEBIBYTE)
    packed += b"".join(packer.compress(zeros) for _ in range(20)) + packer.flush()
    path.write_bytes(meta + packed)
    assert len(packed) < 4 * MEBIBYTE


def _encapsulated(path: Path, frame: bytes, syntax: str) -> None:
    dataset = bare_dataset(FILM, 8)
    dataset.file_meta.TransferSyntaxUID = syntax
    dataset.PixelData = encapsulate([frame])
    dataset["PixelData"].VR = "OB"
    dataset.save_as(path, enforce_file_format=True)


def bomb_in_dicom_jpeg(path: Path) -> None:
    bomb_jpeg(path)
    _encapsulated(path, path.read_bytes(), JPEGBaseline8Bit)


def bomb_in_dicom_j2k(path: Path) -> None:
    stream = io.BytesIO()
    Image.fromarray(FILM).save(stream, "JPEG2000", no_jp2=True)
    whole = bytearray(stream.getvalue())
    whole[8:16] = struct.pack(">II", 40_000, 40_000)
    _encapsulated(path, bytes(whole), JPEG2000Lossless)


def bomb_rle(path: Path) -> None:
    runs = b"\x81\x00" * (5 * MEBIBYTE)  # 128 pixels each
    _encapsulated(path, struct.pack("<16I", 1, 64, *[0] * 14) + runs, RLELossless)


def bomb_png(path: Path) -> None:
    path.write_bytes(png_bomb(30_000))


BOMBS = [bomb_png, bomb_jpeg, bomb_deflated, bomb_in_dicom_jpeg, bomb_in_dicom_j2k, bomb_rle]

_PEAK = """
import sys
from pathlib import Path
from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.vqa.imaging.decode import check, decode
for path in map(Path, sys.argv[1:]):
    for read in (check, decode):
        try:
            read(path)
            print(path.name, read.__name__, "read")
        except ImageError as error:
            print(path.name, read.__name__, "refused")
status = Path("/proc/self/status").read_text()  # getrusage would count the parent's memory
print("peak", int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


def peak_of(*paths: Path) -> tuple[list[str], int]:
    """What became of each file in another process, and its peak memory in MiB."""
    command = [sys.executable, "-c", _PEAK, *map(str, paths)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    *lines, last = ran.stdout.splitlines()
    return lines, int(last.split()[1])


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux counts it")
def test_bombs_are_refused_in_little_memory(tmp_path: Path) -> None:
    paths = []
    for make in BOMBS:
        paths.append(tmp_path / make.__name__)
        make(paths[-1])
        assert paths[-1].stat().st_size < 16 * MEBIBYTE
    lines, peak = peak_of(*paths)
    decoded = [line for line in lines if "decode" in line]
    assert decoded == [f"{path.name} decode refused" for path in paths]
    assert peak < 300


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux counts it")
def test_the_largest_that_is_read_takes_about_a_gigabyte(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(png_bomb(10_000, 8))
    lines, peak = peak_of(path)
    assert lines[-1] == "a.png decode read"
    assert peak < 1100
