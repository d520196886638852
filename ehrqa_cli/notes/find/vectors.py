"""Vectors in a flat file, four bits a number: 192 bytes each, read by place without loading it.

A number of a unit vector of 384 is rarely beyond 0.153 (three standard deviations); sixteen steps
over that range keep cosines to within 0.03 (their correlation is 0.999 on our own notes).
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.notes.find.embed import WIDTH

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ehrqa_cli.notes.find.embed import Vectors

    Codes = NDArray[np.uint8]

SUFFIX = ".notes.vectors"
BYTES = WIDTH // 2
_LIMIT = 0.153
_STEP = 2 * _LIMIT / 15


def pack(vectors: Vectors) -> Codes:
    """Codes of ``vectors``, shape (n, 384) to (n, 192)."""
    import numpy as np

    steps = np.clip(np.rint((vectors + _LIMIT) / _STEP), 0, 15).astype(np.uint8)
    codes: Codes = (steps[:, 0::2] << 4) | steps[:, 1::2]
    return codes


def unpack(codes: Codes) -> Vectors:
    """Unit vectors of ``codes``, shape (n, 192) to (n, 384)."""
    import numpy as np

    found: Vectors = _pairs()[codes].reshape(len(codes), WIDTH)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


@cache
def _pairs() -> Vectors:
    """The two numbers of each byte."""
    import numpy as np

    values = (np.arange(16, dtype=np.float32) * np.float32(_STEP)) - np.float32(_LIMIT)
    pairs = np.stack(np.meshgrid(values, values, indexing="ij"), axis=-1)
    return pairs.reshape(256, 2).astype(np.float32)


class VectorFile:
    """The file at ``path``; row k is its k-th vector."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> int:
        """How many whole vectors it holds; 0 when it is not there."""
        try:
            return self.path.stat().st_size // BYTES
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise self._fault(error) from error

    def cut(self, rows: int) -> None:
        """Make the file, and drop what stands after its first ``rows`` vectors."""
        try:
            handle = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                os.ftruncate(handle, rows * BYTES)
            finally:
                os.close(handle)
        except OSError as error:
            raise self._fault(error) from error

    def append(self, vectors: Vectors) -> None:
        """Write ``vectors`` after the last, and see them on the disk."""
        try:
            with self.path.open("ab") as file:
                file.write(pack(vectors).tobytes())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._fault(error) from error

    def read(self, first: int, count: int) -> Vectors:
        """``count`` vectors from row ``first``. Raises DatabaseError when they are not there."""
        import numpy as np

        try:
            with self.path.open("rb") as file:
                file.seek(first * BYTES)
                data = file.read(count * BYTES)
        except OSError as error:
            raise self._fault(error) from error
        if len(data) != count * BYTES:
            raise DatabaseError(
                f"{self.path} is shorter than the index of the notes says",
                "run `ehrqa notes index` again; it mends what is missing",
            )
        return unpack(np.frombuffer(data, dtype=np.uint8).reshape(count, BYTES))

    def _fault(self, error: OSError) -> DatabaseError:
        return DatabaseError(
            f"cannot use {self.path}: {error.strerror}",
            "check its permissions and the disk, or delete it and run `ehrqa notes index` again",
        )
