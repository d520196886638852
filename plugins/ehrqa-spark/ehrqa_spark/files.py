"""Tables as Parquet in a folder: TABLE.parquet (a file or a folder of parts), or a folder TABLE.

They lie in the folder itself or one folder down (hosp/, icu/), as PhysioNet has them. A table may
be divided into folders KEY=VALUE.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ehrqa_cli.contracts.errors import DatabaseError

_PARQUET = ".parquet"
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_PART = re.compile(r"(part|data)[-_].*|[0-9].*", re.I)
_LISTED = 5  # folders down: module, table, and a few KEY=VALUE


@dataclass(frozen=True, order=True)
class File:
    """A file below the EHR's folder: its path from there, its size in bytes, and when it was
    changed, as its file system counts."""

    path: str
    size: int
    changed: int


def in_folder(folder: Path) -> list[File]:
    """The Parquet files of a local folder. Raises DatabaseError."""
    found: list[File] = []
    try:
        for place, folders, names in os.walk(folder, followlinks=True, onerror=_raise):
            here = Path(place).relative_to(folder)
            folders[:] = sorted(f for f in folders if not _hidden(f))
            if len(here.parts) >= _LISTED:
                folders.clear()
            for name in names:
                if name.lower().endswith(_PARQUET) and not _hidden(name):
                    known = (folder / here / name).stat()
                    relative = (here / name).as_posix()
                    found.append(File(relative, known.st_size, known.st_mtime_ns))
    except OSError as error:
        what = f"cannot read {folder}: {error.strerror}"
        raise DatabaseError(what, "check its permissions") from error
    return sorted(found)


def _raise(error: OSError) -> None:
    raise error


def _hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def tables_in(files: Iterable[File], called: str) -> dict[str, str]:
    """Table name (lower case) to the path of its file or folder, from the EHR's.

    Raises DatabaseError without any, or for two that claim one name. ``called`` is the folder.
    """
    out: dict[str, str] = {}
    for file in files:
        path = _table_at(PurePosixPath(file.path))
        name = path.name.lower().removesuffix(_PARQUET) if path is not None else ""
        if path is None or not _NAME.fullmatch(name):
            continue
        if out.setdefault(name, str(path)) != str(path):
            both = f"{out[name]} and {path}"
            raise DatabaseError(f"two tables are called {name}: {both}", "take one away")
    if not out:
        raise DatabaseError(
            f"{called} holds no Parquet files",
            "name the folder that has TABLE.parquet, or a folder TABLE of parts",
        )
    return out


def _table_at(path: PurePosixPath) -> PurePosixPath | None:
    """The file or folder that a file is a table or a part of; None for what lies elsewhere."""
    if any(_hidden(part) for part in path.parts):
        return None
    folder = path.parent
    while "=" in folder.name:
        folder = folder.parent
    in_parts = folder != path.parent or folder.name.lower().endswith(_PARQUET)
    table = folder if folder.name and (in_parts or _PART.fullmatch(path.name)) else path
    return table if len(table.parts) <= 2 else None


def fingerprint(files: Iterable[File]) -> str:
    """16 hex digits of the names, sizes and times of change of all files."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.path}:{file.size}:{file.changed}\n".encode())
    return digest.hexdigest()[:16]
