"""Seeded bad image files for the decoder: real ones of odd kinds, and those damaged.

    python tests/unit/vqa/imaging/fuzzed.py --count 10000 [--predict N] [--seed S]

Decodes so many files and prints what came of them and the slowest; ``--predict`` runs the last N
of them through ``ehrqa images predict`` as well.
"""

from __future__ import annotations

import argparse
import io
import random
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pydicom
from PIL import Image
from pydicom.data import get_testdata_file
from pydicom.dataelem import DataElement

from ehrqa_cli.contracts.errors import ImageError
from ehrqa_cli.vqa.imaging.decode import decode

_MODES = ("L", "RGB", "RGBA", "CMYK", "P", "1", "LA", "I;16", "I", "F", "YCbCr", "HSV", "LAB")
_SIZES = ((1, 1), (1, 400), (400, 1), (3, 5), (17, 90), (64, 64), (224, 224), (300, 200))
_KINDS = ("PNG", "JPEG", "GIF", "TIFF", "BMP", "WEBP")
_NAMES = ("a.png", "a.jpg", "a.jpeg", "a.dcm", "a", "a.PNG", "a.b.c", "a.txt")
_TEXT = b"not an image \x89PNG\r\n\x1a\n\xff\xd8\xff DICM <svg/> GIF89a"
_TAGS = (
    *("Rows", "Columns", "BitsAllocated", "BitsStored", "HighBit", "SamplesPerPixel"),
    *("PixelRepresentation", "PlanarConfiguration", "NumberOfFrames", "PhotometricInterpretation"),
    *("WindowCenter", "WindowWidth", "RescaleSlope", "RescaleIntercept", "PatientOrientation"),
)
_VALUES = (0, 1, -1, 2, 7, 65535, 2**31, "", "x", "1e999", "nan", "\\\\", [], [1, 2, 3], None)


def make(rng: random.Random, folder: Path, number: int) -> Path:
    """One file (or folder, or link) in ``folder``."""
    path = folder / f"{number}{rng.choice(_NAMES)}"
    kind = rng.random()
    if kind < 0.02:
        path.mkdir()
    elif kind < 0.04:
        path.symlink_to(rng.choice([folder / "nothing", path, folder, Path("/dev/zero")]))
    elif kind < 0.07:
        path.write_bytes(rng.choice([b"", _TEXT, _TEXT * 999, rng.randbytes(500)]))
    elif kind < 0.1:
        path.write_bytes(_bomb(rng))
    else:
        whole = _dicom(rng) if rng.random() < 0.4 else _picture(rng)
        path.write_bytes(_damaged(rng, whole) if rng.random() < 0.8 else whole)
    return path


def _picture(rng: random.Random) -> bytes:
    size, mode = rng.choice(_SIZES), rng.choice(_MODES)
    noise = np.frombuffer(rng.randbytes(size[0] * size[1]), np.uint8).reshape(size[::-1])
    plain = Image.fromarray(noise)
    into = io.BytesIO()
    try:
        image = plain.convert(mode) if mode != "LAB" else plain.convert("RGB")
        more = {"save_all": True, "append_images": [image] * 3} if rng.random() < 0.1 else {}
        image.save(into, rng.choice(_KINDS), **more)
    except (
        OSError,
        ValueError,
        KeyError,
    ):  # a mode, or several frames, that this kind of file has not
        plain.save(into, "PNG")
    return into.getvalue()


def _dicom(rng: random.Random) -> bytes:
    dataset = pydicom.dcmread(str(get_testdata_file("CT_small.dcm")))
    for name in rng.sample(_TAGS, rng.randint(0, 3)):
        tag, value = pydicom.tag.Tag(name), rng.choice(_VALUES)
        try:
            dataset[tag] = DataElement(tag, pydicom.datadict.dictionary_VR(tag), value)
        except Exception:  # pydicom refuses some values by itself
            dataset.pop(tag, None)
    into = io.BytesIO()
    try:
        pydicom.dcmwrite(into, dataset)
    except Exception:  # or when it writes them
        return Path(str(get_testdata_file("CT_small.dcm"))).read_bytes()
    return into.getvalue()


def _bomb(rng: random.Random) -> bytes:
    """A PNG that says it is huge, or is in few bytes."""
    wide, high = rng.choice([(50_000, 50_000), (2**31 - 1, 1), (0, 9), (9_000, 9_000)])

    def chunk(name: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check

    header = struct.pack(">IIBBBBB", wide, high, 1, 0, 0, 0, 0)
    body = zlib.compress(bytes(1_000_000), 9)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )


def _damaged(rng: random.Random, whole: bytes) -> bytes:
    data = bytearray(whole)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(min(len(data), rng.choice([64, 900, len(data)])))
        data[at] ^= 1 << rng.randrange(8)
    if rng.random() < 0.3:
        del data[rng.randrange(len(data)) :]
    if rng.random() < 0.1:
        data += rng.randbytes(rng.randrange(2000))
    return bytes(data)


def outcome(path: Path, size: int | None) -> str:
    """What ``decode`` makes of a file: "a picture", or "refused" with one line and a hint."""
    try:
        picture = decode(path, size=size)
    except ImageError as error:
        assert error.hint and "\n" not in error.message + error.hint, error
        return "refused"
    assert picture.pixels.ndim == 2 and picture.pixels.dtype == np.uint8 and picture.pixels.size
    return "a picture"


def main() -> None:
    """Run by hand."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--predict", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    found: Counter[str] = Counter()
    slowest, wrong = (0.0, ""), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(given.count):
            path = make(rng, folder, number)
            begun = time.monotonic()
            try:
                found[outcome(path, rng.choice([None, 224]))] += 1
            except Exception as error:
                wrong += 1
                print(number, path.name, type(error).__name__, str(error)[:150])
            slowest = max(slowest, (time.monotonic() - begun, path.name))
            if number < given.count - given.predict:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        print(dict(found), "wrong:", wrong, "slowest:", slowest)
        if given.predict:
            command = [sys.executable, "-m", "ehrqa_cli", "images", "predict", name]
            ran = subprocess.run(
                [*command, "--out", f"{name}.jsonl"], capture_output=True, text=True, check=False
            )
            Path(f"{name}.jsonl").unlink(missing_ok=True)
            print("predict:", ran.returncode, "Traceback" in ran.stderr, ran.stderr[-300:])


if __name__ == "__main__":
    main()
