"""Files in whatever encoding: UTF-8 with and without a byte order mark, UTF-16 and -32, cp1252.

The order is fixed and nothing is guessed from letter frequencies: charset-normalizer 3.5, tried on
short notes, took a Latin-1 sentence for cp775 and "PT 38 °C" for UTF-16. What is not Unicode is
Windows-1252, which has Latin-1 in it, unless the user names another encoding.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ehrqa_cli.contracts.errors import ImportFailed, UsageError

_SAMPLE = 1 << 18  # bytes looked at
_BUFFER = 1 << 20
# UTF-32's marks begin with UTF-16's
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MIXED = "ehrqa-mixed"  # the error handler's name
_CODES_LIKE_ASCII = ("utf-8", "utf-8-sig")


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """The bytes that are not UTF-8, read as Windows-1252, or Latin-1 where it has no letter."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    stray.count += error.end - error.start
    wrong = bytes(error.object[error.start : error.end])
    return "".join(_windows(byte) for byte in wrong), error.end


def _windows(byte: int) -> str:
    try:
        return bytes((byte,)).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


@dataclass
class _Stray:
    """How many bytes were no UTF-8 and read as Windows-1252, since the program began."""

    count: int = 0


stray = _Stray()
codecs.register_error(_MIXED, _as_windows)


def known_encoding(name: str | None) -> str | None:
    """``name`` if Python reads texts in it. Raises UsageError."""
    if name is None:
        return None
    try:
        codecs.lookup(name)
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise UsageError(f"no encoding {name!r}", "try utf-8, cp1252 or utf-16") from error
    return name


def detect(sample: bytes) -> str:
    """The encoding of a text that begins with ``sample``."""
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return name
    pairs = len(sample) // 2
    if pairs and sample.count(0) > 0.3 * pairs:
        # Western text in UTF-16 has a zero in nearly every pair of bytes, always the same one.
        if sample[1::2].count(0) > 0.6 * pairs and sample[::2].count(0) < 0.1 * pairs:
            return "utf-16-le"
        if sample[::2].count(0) > 0.6 * pairs and sample[1::2].count(0) < 0.1 * pairs:
            return "utf-16-be"
    return "utf-8"


def decode(data: bytes, encoding: str | None = None) -> str:
    """The text of ``data``. Raises ImportFailed when it is not in ``encoding``."""
    chosen = encoding or detect(data[:_SAMPLE])
    try:
        return data.decode(chosen, _MIXED if chosen in _CODES_LIKE_ASCII else "strict")
    except UnicodeError as error:
        raise ImportFailed(f"not {chosen} text ({error})", _ENCODING_HINT) from error


_ENCODING_HINT = "name the file's encoding with --encoding, or save it as UTF-8"


@dataclass
class TextFile:
    """An open file: its ``text``, and how many of its ``size`` bytes are read."""

    path: Path
    text: io.TextIOWrapper
    raw: IO[bytes]
    size: int

    def position(self) -> int:
        """Bytes read so far."""
        return min(self.raw.tell(), self.size)


@contextmanager
def open_text(path: Path, encoding: str | None = None) -> Iterator[TextFile]:
    """Open a file, also one that gzip made. Line ends are left as they are.

    Raises ImportFailed for whatever is wrong with the file, also while it is read.
    """
    try:
        with io.BufferedReader(io.FileIO(path), _BUFFER) as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
            data = io.BufferedReader(gzip.GzipFile(fileobj=raw), _BUFFER) if packed else raw
            chosen = encoding or detect(data.peek(_SAMPLE)[:_SAMPLE])
            errors = _MIXED if chosen in _CODES_LIKE_ASCII else "strict"
            text = io.TextIOWrapper(data, encoding=chosen, errors=errors, newline="")
            yield TextFile(path, text, raw, path.stat().st_size)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ImportFailed(
            f"{path}: broken gzip data ({error})", "download it again; what was read is kept"
        ) from error
    except UnicodeError as error:
        raise ImportFailed(f"{path}: not {chosen} text ({error})", _ENCODING_HINT) from error
    except OSError as error:
        raise ImportFailed(
            f"cannot read {path}: {error.strerror or error}", "check the file"
        ) from error
