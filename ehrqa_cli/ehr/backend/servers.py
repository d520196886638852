"""Databases that are not a file here: a small file stands for each, so that each has a path.

Notes, thresholds, read images and conversations are kept by their database's path. A server's
address has none, so one is made for it in the user's data folder the first time it is named: a
text of two lines, readable by its owner only (0600), with the address and no password. It opens
like any other database, and whatever belongs to the server lies beside it.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ehrqa_cli.contracts.errors import DatabaseError, UsageError

SUFFIX = ".server"
MARK = "ehrqa server 1"
_LONGEST = 4096
_SECRET = re.compile(r"[?&;](ssl)?(password|passwd|pwd|token|secret)=", re.I)


def folder() -> Path:
    """Where the files are; it may not exist yet."""
    import platformdirs

    return Path(platformdirs.user_data_dir("ehrqa", appauthor=False)) / "servers"


def stand_in(address: str) -> Path:
    """The file that stands for ``address``, made if there is none.

    Raises UsageError for an address with a password in it, DatabaseError when the file cannot be
    written.
    """
    check(address)
    digest = hashlib.sha256(address.encode()).hexdigest()[:8]
    path = folder() / f"{_name(address)}-{digest}{SUFFIX}"
    if address_in(path) == address:
        return path
    text = f"{MARK}\n{address}\n"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = path.with_name(f".{path.name}.{os.getpid()}")
        handle = os.open(made, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        made.replace(path)
    except OSError as error:
        raise DatabaseError(
            f"cannot write {path}: {error.strerror}", "set XDG_DATA_HOME to a folder of yours"
        ) from error
    return path


def address_in(path: Path) -> str | None:
    """The address that the file at ``path`` stands for; None when it is no such file."""
    try:
        if path.suffix != SUFFIX or not path.is_file():
            return None
        with path.open(encoding="utf-8") as file:
            lines = file.read(_LONGEST).splitlines()
    except (OSError, ValueError):
        return None
    return lines[1] if len(lines) == 2 and lines[0] == MARK else None


def called(path: Path) -> str:
    """A short name of the database at ``path``: of a server NAME@HOST, else the file's name."""
    if address_in(path) is None:
        return path.name
    return path.name.removesuffix(SUFFIX).rpartition("-")[0]


def check(address: str) -> None:
    """Raise UsageError for an address that holds a password: command lines, settings and logs can
    be read by others. The message does not repeat it."""
    try:
        secret = urlsplit(address).password is not None
    except ValueError:
        raise UsageError("the database's address cannot be read", "check --db") from None
    # One with a / or ? in it that was not written as %2F or %3F ends the host too early.
    before, at, _ = address.partition("//")[2].rpartition("@")
    secret = secret or bool(at and ":" in before)
    if secret or _SECRET.search(unquote(address)):
        raise UsageError(
            "the database's address has a password in it, which others could read",
            "leave it out, and give it in a password file (~/.pgpass) or in PGPASSWORD",
        )


def _name(address: str) -> str:
    """A part of the file's name that a person knows again: DATABASE@HOST, or the last folder."""
    parts = urlsplit(address)
    last = Path(parts.path).name or parts.scheme
    name = f"{last}@{parts.hostname}" if parts.hostname else last
    return re.sub(r"[^A-Za-z0-9@._-]+", "-", name)[:60]
