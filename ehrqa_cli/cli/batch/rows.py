"""The rows of a batch: written as they come, found again for the same question, gone on with.

Beside OUT lies ``OUT.part`` while it is unfinished: what the run was made with, then after each
row how many there are, how many bytes they take, and a hash of the questions that they answer.
Killed at any point, OUT is cut to the last line of it and goes on. OUT itself is locked by the
process that writes it; the lock ends with that process, however it ends.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from ehrqa_cli.cli import output
from ehrqa_cli.cli.batch.reading import STREAM, Item
from ehrqa_cli.contracts.errors import EhrqaError, UsageError
from ehrqa_cli.contracts.types import Answer, Question, Status

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PRIVATE = 0o600  # answers are about patients
_ANEW = "--restart begins anew; or name another OUT"


def row_text(record: dict[str, Any], as_csv: bool) -> bytes:
    """One row of OUT: a line of JSON, or of CSV with lists and objects as JSON in their fields."""
    if not as_csv:
        return (output.to_json(record) + "\n").encode()
    return _csv_line([_cell(value) for value in record.values()])


@cache
def fields() -> tuple[str, ...]:
    """The names of a row's fields, in their order."""
    from ehrqa_cli.store import answer_record

    return tuple(answer_record(Answer(Question(""), Status.FAILED)))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else output.to_json(value)


def _csv_line(cells: Sequence[str]) -> bytes:
    return output.csv_line(cells).encode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class Row:
    """A row that was written: its bytes, the id and the status in them, its cells in CSV."""

    raw: bytes
    id: Any
    status: str
    cells: tuple[str, ...] | None = None

    def answers(self, item: Item, as_csv: bool) -> bool:
        """Has it the id of this question?"""
        if not as_csv:
            return bool(self.id == item.id)
        return bool(self.id == _cell(item.id).encode("utf-8", "backslashreplace").decode())

    def answer_to(self, item: Item, as_csv: bool) -> bytes:
        """The same answer for another question of the same words."""
        if as_csv:
            assert self.cells is not None
            return _csv_line([_cell(item.id), item.text, *self.cells[2:]])
        record = json.loads(self.raw)
        return row_text({**record, "id": item.id, "question": item.text}, as_csv)


def read_row(file: BinaryIO, as_csv: bool) -> Row | None:
    """The next whole row; None at the end, or where it was cut short."""
    if not as_csv:
        raw = file.readline()
        if not raw.endswith(b"\n"):
            return None
        try:
            record = json.loads(raw)
            return Row(raw, record.get("id"), str(record.get("status")))
        except (ValueError, AttributeError):
            return Row(raw, object(), "")  # equal to no id
    taken: list[bytes] = []

    def lines() -> Iterator[str]:
        while line := file.readline():
            taken.append(line)
            yield line.decode("utf-8", "replace")

    limit = csv.field_size_limit(1 << 30)  # the module's own, for all who read CSV
    try:
        cells = next(csv.reader(lines()), None)
    finally:
        csv.field_size_limit(limit)
    raw = b"".join(taken)
    if not raw.endswith(b"\n") or cells is None:
        return None
    whole = len(cells) == len(fields())
    return Row(raw, cells[0], cells[fields().index("status")] if whole else "", tuple(cells))


def told_of(digest: Any, item: Item, vision: str | None = None) -> None:
    """Add a question, and the state of its film and what looks at it, to the hash of those that
    have been answered."""
    question = repr(item.question) if item.question else str(item.error)
    question += f"{item.films} {vision}" if item.films else ""
    digest.update(f"{item.id!r}\n{item.text}\n{question}\n".encode("utf-8", "backslashreplace"))


def open_private(path: Path, mode: str, **more: Any) -> Any:
    """Open a file; a new one is for its owner alone. Raises OSError."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, _PRIVATE), **more)


def _write(file: Any, raw: bytes) -> None:
    left = memoryview(raw)
    while left:
        left = left[file.write(left) :]


def _last_mark(marks: BinaryIO, size: int) -> list[Any]:
    """The last that is whole and within an OUT of ``size`` bytes."""
    best = [0, 0, ""]
    for line in marks:
        try:
            rows, place, digest = json.loads(line)
            if rows >= 0 and 0 <= place <= size and isinstance(digest, str):
                best = [rows, place, digest]
        except (ValueError, TypeError):
            continue  # cut short, or what a computer that lost its power left
    return best


class Target:
    """OUT: a file that can be gone on with, or a stream. Every fault is an EhrqaError."""

    def __init__(
        self, path: Path, as_csv: bool, settings: dict[str, Any], vision: str | None = None
    ) -> None:
        """``vision`` names what looks at films; it counts where a question names one."""
        self.path = path
        self.as_csv = as_csv
        self.rows = 0
        self.digest = hashlib.sha256()
        self._settings = settings
        self._vision = vision
        self._regular = path != STREAM and (path.is_file() or not path.exists())
        self._part = path.with_name(path.name + ".part")
        self.held = False
        self._lock: Any = None
        self._file: Any = None
        self._marks: Any = None
        self._read: Any = None
        self._at = 0

    def own(self) -> None:
        """Keep every other batch from OUT until this one is closed. Raises UsageError."""
        from ehrqa_cli import store

        if not self._regular:
            return
        with self._told("write"):
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, _PRIVATE)
            self._lock = os.fdopen(handle, "rb")
        if not store.own(self._lock):
            raise UsageError(
                f"another batch is writing {self.path}",
                "wait until it has ended, or name another OUT",
            )

    def unfinished(self) -> list[Any] | None:
        """[rows, bytes, hash] of what OUT has of this very run; None for nothing to go on with.

        Raises UsageError where OUT is of another run.
        """
        if not self._regular or not self._part.is_file():
            return None
        try:
            with self._part.open("rb") as file:
                header = file.readline()
                if not header.endswith(b"\n"):
                    return None  # a full disk cut it short, and OUT was not begun
                made = json.loads(header)["settings"]
                best = _last_mark(file, self.path.stat().st_size)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"cannot go on with {self.path}: {error}", _ANEW) from error
        if made != self._settings:
            names = sorted({*made, *self._settings})
            changed = [name for name in names if made.get(name) != self._settings.get(name)]
            raise UsageError(
                f"{self.path} was begun with other settings (different {', '.join(changed)})",
                _ANEW,
            )
        return best

    def is_answers(self) -> bool:
        """Is OUT empty, or does it begin as answers do?"""
        if not self._regular or not self.path.exists() or not self.path.stat().st_size:
            return True
        with self.path.open("rb") as file:
            head = file.read(65536)
        if self.as_csv:
            return head.startswith(_csv_line(fields()).rstrip(b"\n"))
        return head.lstrip().startswith(b'{"id":') and b'"question":' in head

    def cut(self, size: int) -> None:
        """Keep the first ``size`` bytes of OUT."""
        with self._told("write"):
            os.truncate(self.path, size)

    def begin(self, anew: bool) -> None:
        """Open OUT for writing at its end, or for new rows alone."""
        with self._told("write"):
            if self.path == STREAM:
                self._file = tempfile.NamedTemporaryFile(buffering=0)  # noqa: SIM115
                self._read = open(self._file.name, "rb")  # noqa: SIM115
            else:
                if self._regular:
                    self._begin_part(anew)
                self._file = self.path.open("wb" if anew else "ab", buffering=0)
                if self._regular:
                    self._read = self.path.open("rb")
            self._at = 0 if anew or not self._regular else self.path.stat().st_size
        if self.as_csv and self._at == 0:
            self._put(_csv_line(fields()))

    def _begin_part(self, anew: bool) -> None:
        """Before OUT is written: an OUT without it would pass for a finished one."""
        self._marks = open_private(self._part, "wb" if anew else "ab", buffering=0)
        if anew:
            _write(self._marks, json.dumps({"settings": self._settings}).encode())
        _write(self._marks, b"\n")  # also after a mark that was cut short

    def add(self, raw: bytes, item: Item, again: bool = False) -> int:
        """Write one row; where it begins. ``again``: from this row on the same command shall ask
        again, though OUT is written to its end."""
        place = self._at
        self._put(raw)
        self.rows += 1
        self.held = self.held or again
        self.note(item)
        if not self.held:
            self._mark()
        return place

    def note(self, item: Item) -> None:
        """Count a question among those that OUT answers."""
        told_of(self.digest, item, self._vision)

    def _put(self, raw: bytes) -> None:
        with self._told("write"):
            if self.path == STREAM:
                output.write(raw.decode())
            _write(self._file, raw)
        self._at += len(raw)

    def _mark(self) -> None:
        """Note how far OUT is."""
        if self._marks is not None:
            told = json.dumps([self.rows, self._at, self.digest.hexdigest()])
            with self._told("write"):
                _write(self._marks, told.encode() + b"\n")

    def row_at(self, place: int) -> Row | None:
        """A row written before; None where OUT cannot be read again."""
        if self._read is None:
            return None
        with self._told("read"):
            self._read.seek(place)
            return read_row(self._read, self.as_csv)

    def finish(self) -> None:
        """OUT is whole."""
        if self._regular and not self.held:
            with self._told("write"):
                self._part.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the files; what they have is kept."""
        for file in (self._file, self._marks, self._read, self._lock):
            if file is not None:
                with suppress(OSError):
                    file.close()

    def _told(self, what: str) -> _Told:
        return _Told(self.path, what, self._regular)


class _Told:
    """A fault of the operating system as an error with the next step."""

    def __init__(self, path: Path, what: str, resumable: bool) -> None:
        self._path = "standard output" if path == STREAM else path
        self._what = what
        self._resumable = resumable

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OSError):
            what = f"cannot {self._what} {self._path}: {error.strerror or error}"
            raise EhrqaError(what, self._hint(error)) from error

    def _hint(self, error: OSError) -> str:
        if not self._resumable:
            return "name a file OUT, which can be gone on with"
        if error.errno in _NO_ROOM:
            return "free some space, then run the same command: it goes on where it was"
        return "check its permissions and the disk, or name another OUT"
