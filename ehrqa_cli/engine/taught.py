"""What people taught, as it is kept: wordings, each with the logical form that is meant by it.

A wording is kept as the model reads it, with placeholders (``what was the last <lab>#1 of patient
<pat>#2?``), so that no value and no patient of a database is in it. The file has one JSON object a
line; it is beside the answer log and for its owner alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import EhrqaError, UsageError
from ehrqa_cli.store import own

if TYPE_CHECKING:
    from ehrqa_cli.config import Settings

FILE = "taught.jsonl"
Kinds = tuple[tuple[str, ...], ...]


class TaughtError(EhrqaError):
    """The file of taught wordings cannot be read or written."""


@dataclass(frozen=True)
class Wording:
    """What has to be the same: the linked question's text, and in their order the types of its
    links, the filters that it restricts by and the kinds of visits that it names."""

    question: str
    links: Kinds
    restricts: Kinds = ()
    visits: Kinds = ()

    @property
    def key(self) -> Wording:
        """Without what says nothing: case, spaces, the sign at its end."""
        plain = " ".join(self.question.lower().split()).rstrip(" .?!")
        return replace(self, question=plain)


@dataclass(frozen=True)
class Entry:
    """A wording, its form with references to the links, and when it was taught (UTC,
    YYYY-MM-DD HH:MM:SS)."""

    wording: Wording
    form: str
    when: str

    def as_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {**asdict(self.wording), "form": self.form, "when": self.when}

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Entry:
        """What `as_json` made. Raises KeyError, TypeError or ValueError for anything else."""
        texts = [raw[name] for name in ("question", "form", "when")]
        if not all(isinstance(text, str) and text for text in texts):
            raise ValueError("an entry without its text")
        kinds = [_kinds(raw[name]) for name in ("links", "restricts", "visits")]
        return cls(Wording(texts[0], *kinds), texts[1], texts[2])


def _kinds(raw: Any) -> Kinds:
    if not all(isinstance(one, list) and all(isinstance(x, str) for x in one) for one in raw):
        raise ValueError("no types of links")
    return tuple(map(tuple, raw))


@dataclass(frozen=True)
class Taught:
    """The entries of a file, in the order in which they were taught."""

    entries: tuple[Entry, ...]

    def fingerprint(self) -> str:
        """A hash of all of it."""
        told = json.dumps([entry.as_json() for entry in self.entries])
        return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:16]

    def of(self, wording: Wording) -> Entry | None:
        """The entry of this very wording."""
        key = wording.key
        return next((entry for entry in self.entries if entry.wording.key == key), None)


def taught_path(settings: Settings) -> Path:
    """Where what was taught is kept; it may not exist yet."""
    return settings.log_path().with_name(FILE)


def here() -> Taught | None:
    """What was taught on this computer; None for nothing, or where the settings do not want it.
    Raises TaughtError for a damaged file, UsageError for wrong settings."""
    from ehrqa_cli import config

    settings = config.load()
    entries = load(taught_path(settings)) if settings.taught else ()
    return Taught(entries) if entries else None


def load(path: Path) -> tuple[Entry, ...]:
    """All entries; none where there is no file. Raises TaughtError for one that is damaged."""
    try:
        lines = path.read_bytes().decode().split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(path, getattr(error, "strerror", None) or "it is not UTF-8") from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(Entry.of(json.loads(line)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _damaged(path, f"line {number} is no entry") from error
    return tuple(found)


def _damaged(path: Path, what: str) -> TaughtError:
    hint = "mend it or move it away; EHRQA_TAUGHT=off answers without it"
    return TaughtError(f"cannot read what was taught, {path}: {what}", hint)


def add(path: Path, entry: Entry) -> None:
    """Keep an entry, in place of one of the same wording. Raises TaughtError."""
    key = entry.wording.key
    _change(path, lambda old: [*(one for one in old if one.wording.key != key), entry])


def remove(path: Path, number: int) -> Entry:
    """Forget the ``number``-th entry, from 1; returns it. Raises UsageError where there is none,
    TaughtError."""
    gone: list[Entry] = []

    def without(old: tuple[Entry, ...]) -> list[Entry]:
        if not 1 <= number <= len(old):
            raise UsageError(f"there is no entry {number}", "see `ehrqa teach list`")
        gone.append(old[number - 1])
        return [*old[: number - 1], *old[number:]]

    _change(path, without)
    return gone[0]


def _change(path: Path, change: Callable[[tuple[Entry, ...]], Iterable[Entry]]) -> None:
    """Write the file anew, whole or not at all, by one process at a time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone(path):
            entries = change(load(path))
            text = "".join(f"{json.dumps(x.as_json(), ensure_ascii=False)}\n" for x in entries)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # mode 0600
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(text.encode("utf-8", "backslashreplace"))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(name, path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
    except OSError as error:
        what = f"cannot write what was taught, {path}: {error.strerror or error}"
        raise TaughtError(what, "check its folder, or name another in EHRQA_LOG_FILE") from error


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """While no other process changes the file."""
    lock = path.with_name(f".{path.name}.lock")
    with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600), "rb") as file:
        if not own(file):
            raise TaughtError(f"{path} is being changed by another ehrqa", "try it again")
        yield


_LONG_NUMBER = re.compile(r"\d{5,}")


def private(wording: Wording) -> bool:
    """May it hold a patient's number, one that was not found in the database?"""
    return _LONG_NUMBER.search(wording.question) is not None
