"""What a model has read, kept in files: reading a record takes a minute, loading its state none.

A file is named by the SHA-256 of the model's hash and the tokens that were read, so its name says
nothing of a patient; what is in it stands for the record and is as private, so the folder is 0700
and the files 0600. It begins with the SHA-256 of the rest, which is checked before llama.cpp sees
it: a damaged file is as one that is not there. The least recently used go when the folder grows
over its limit. A folder that cannot be written is no fault: the record is read again.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

APP = "ehrqa"
MOST_BYTES = 2 << 30
_MAGIC = b"ehrqa-read-1\n"
_SUFFIX = ".state"


class States:
    """The folder of states; ``folder`` None is the user's cache folder, ``most_bytes`` 0 keeps
    nothing."""

    def __init__(self, folder: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder or _default()
        self.most_bytes = most_bytes

    @staticmethod
    def key(model: str, tokens: Sequence[int]) -> str:
        """The name of what the model with the hash ``model`` makes of ``tokens``."""
        packed = struct.pack(f"<{len(tokens)}i", *tokens)
        return hashlib.sha256(model.encode() + b"\0" + packed).hexdigest()

    def load(self, key: str) -> bytes | None:
        """The state kept as ``key``; None where there is none that is whole."""
        path = self.folder / (key + _SUFFIX)
        try:
            data = path.read_bytes()
            body = memoryview(data)[len(_MAGIC) + 32 :]
            if data[: len(_MAGIC)] != _MAGIC or (
                hashlib.sha256(body).digest() != data[len(_MAGIC) : len(_MAGIC) + 32]
            ):
                path.unlink(missing_ok=True)
                return None
            os.utime(path)
        except OSError:
            return None
        return bytes(body)

    def save(self, key: str, state: bytes) -> bool:
        """Keep ``state`` as ``key``, if it fits; True where it was kept."""
        if len(state) > self.most_bytes:
            return False
        path = self.folder / (key + _SUFFIX)
        partial = path.with_name(f"{key}.{os.getpid()}.part")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(state).digest())
                file.write(state)
            partial.replace(path)
        except OSError:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            return False
        self._shrink(path)
        return True

    def count(self) -> int:
        """How many states are kept."""
        return len(self._files())

    def purge(self) -> int:
        """Remove all states; how many there were."""
        files = self._files()
        for path in files:
            path.unlink(missing_ok=True)
        return len(files)

    def _files(self) -> list[Path]:
        """The states, the least recently used first."""
        timed = []
        for path in self.folder.glob(f"*{_SUFFIX}"):
            try:
                timed.append((path.stat().st_mtime_ns, path))
            except OSError:  # another process removed it
                continue
        return [path for _, path in sorted(timed)]

    def _shrink(self, newest: Path) -> None:
        files = [path for path in self._files() if path != newest]
        size = sum(path.stat().st_size for path in [*files, newest] if path.exists())
        for path in files:
            if size <= self.most_bytes:
                return
            try:
                size -= path.stat().st_size
                path.unlink(missing_ok=True)
            except OSError:
                continue


def _default() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir(APP, appauthor=False)) / "notes-read"
