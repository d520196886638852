"""The questions of a batch, one after another: JSON Lines, CSV or plain lines, never held whole."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from ehrqa_cli.cli import output, questions
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.contracts.types import Question

STREAM = Path("-")
JSON_LINES, CSV, LINES = "jsonl", "csv", "lines"
FORMATS = (JSON_LINES, CSV, LINES)
_ENDINGS = {
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".csv": CSV,
    ".tsv": CSV,
    ".txt": LINES,
}
_HEAD = 65536  # bytes looked at to tell the format
LONGEST = 1 << 20  # bytes of a line; what is longer is a fault of its row
_LETTERS = "ABCDEFGHIJ"


@dataclass(frozen=True)
class Item:
    """One question of the input, or why there is none; ``id`` and ``text`` as they were given,
    ``films`` the size and time of change (ns) of each of its images, None of one that is gone."""

    number: int
    id: Any
    text: str
    question: Question | None
    error: UsageError | None = None
    films: tuple[tuple[int, int] | None, ...] = ()


@dataclass(frozen=True)
class Given:
    """What is given for all questions: the ``patient`` where one names none, and the folder that
    paths of images are relative to."""

    patient: int | None = None
    images: Path = field(default_factory=Path.cwd)


def folder_of(source: Path, images: Path | None) -> Path:
    """What paths of images in ``source`` are relative to: --images, else the folder it is in."""
    folder = images or (Path() if source == STREAM else source.parent)
    return folder.absolute()


def format_of(path: Path) -> str | None:
    """What the ending of a file's name says; None where it says nothing."""
    return _ENDINGS.get(path.suffix.lower())


@contextmanager
def opened(source: Path) -> Iterator[BinaryIO]:
    """The input, standard input for ``-``. Raises UsageError."""
    if source == STREAM:
        yield sys.stdin.buffer
        return
    try:
        file = source.open("rb")
    except OSError as error:
        hint = "check the path of IN"
        raise UsageError(f"cannot read {source}: {error.strerror}", hint) from error
    with file:
        yield file


def items(
    file: BinaryIO, source: Path, format: str | None, given: Given | None = None
) -> Iterator[Item]:
    """The questions of the input in their order; blank lines are none.

    ``format`` None is told by the file's name, else by how it begins. A line that cannot be read
    is an Item with an error. Raises UsageError for what is no text.
    """
    given = given or Given()
    lines = _Lines(file, source)
    head = lines.head()
    kind = format or format_of(source) or _looks_like(head)
    if kind == CSV:
        return _of_csv(lines, given)
    if kind == LINES:
        return _of_lines(lines, given)
    if head.lstrip("\ufeff \t\r\n").startswith("["):
        raise UsageError(
            f"{source} is one JSON array, not one object a line",
            "write each object on a line of its own, for instance with `jq -c '.[]'`",
        )
    return _of_json(lines, given)


def count(source: Path) -> int | None:
    """About how many questions a file has; None for a stream."""
    if source == STREAM or not source.is_file():
        return None
    with source.open("rb") as file:
        found = sum(1 for line in file if line.strip())
    return found - (format_of(source) == CSV)


class _Lines:
    """Numbered lines of text. Split at newlines only: other line separators may stand inside a
    JSON text. Bytes that are no UTF-8 are kept as escapes."""

    def __init__(self, file: BinaryIO, source: Path) -> None:
        self._file = file
        self._source = source
        self._first = b""
        self.number = 0

    def head(self) -> str:
        """How the input begins; it is read again after this. Raises UsageError."""
        self._first = self._read(self._file.readline, _HEAD)
        # The first line alone may be blank.
        while not self._first.strip() and (more := self._read(self._file.readline, _HEAD)):
            self._first += more
            if len(self._first) > _HEAD:
                break
        if b"\x00" in self._first:
            raise UsageError(
                f"{self._source} is not text", "save it as JSON Lines, CSV or lines in UTF-8"
            )
        return self._first.decode("utf-8", "backslashreplace")

    def _read(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except OSError as error:
            hint = "check the path of IN"
            raise UsageError(f"cannot read {self._source}: {error.strerror}", hint) from error

    def _raw(self) -> Iterator[bytes]:
        *whole, part = self._first.split(b"\n")
        for line in whole:
            yield line + b"\n"
        self._first = b""
        while line := self._read(self._file.readline, LONGEST - len(part)):
            yield part + line
            part = b""
        if part:
            yield part

    def __iter__(self) -> Iterator[str | None]:
        """Lines with their ends, None for one that is too long."""
        too_long = False
        for raw in self._raw():
            ended = raw.endswith(b"\n")
            if too_long or (not ended and len(raw) >= LONGEST):
                if not too_long:
                    self.number += 1
                    yield None
                too_long = not ended
                continue
            self.number += 1
            text = raw.decode("utf-8", "backslashreplace")
            yield text.removeprefix("\ufeff") if self.number == 1 else text


def _looks_like(head: str) -> str:
    first = next((line for line in head.split("\n") if line.strip("\ufeff \t\r")), "")
    first = first.strip("\ufeff \t\r")
    if first.startswith(("{", "[")) or not first:
        return JSON_LINES
    return CSV if _delimiter(first) else LINES


def _delimiter(header: str) -> str | None:
    for mark in (",", ";", "\t"):
        try:
            names = next(csv.reader([header], delimiter=mark), [])
        except csv.Error:
            continue
        if "question" in (name.strip().lower() for name in names):
            return mark
    return None


def _too_long(number: int) -> Item:
    error = UsageError(f"line {number}: longer than {LONGEST:,} bytes", "ask a shorter question")
    return Item(number, None, "", None, error)


def _of_lines(lines: _Lines, given: Given) -> Iterator[Item]:
    for line in lines:
        if line is None:
            yield _too_long(lines.number)
        elif text := line.strip():
            yield _item(lines.number, {"question": text}, given)


def _of_json(lines: _Lines, given: Given) -> Iterator[Item]:
    for line in lines:
        if line is None:
            yield _too_long(lines.number)
            continue
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            wrong = "" if isinstance(data, dict) else "not a JSON object"
        except (ValueError, RecursionError) as error:
            data, wrong = None, f"not JSON: {error}"
        if wrong:
            hint = 'write one object a line, as {"id": "1", "question": "..."}'
            told = UsageError(f"line {lines.number}: {wrong}", hint)
            yield Item(lines.number, None, "", None, told)
        else:
            yield _item(lines.number, data, given)


def _item(number: int, data: dict[str, Any], given: Given) -> Item:
    text = data.get("question")
    shown = text[: questions.GIVEN_TEXT] if isinstance(text, str) else ""
    name = None
    try:
        name = _id_of(data)
        question = questions.from_record({**data, "id": name}, given.patient)
    except UsageError as error:
        told = UsageError(f"line {number}: {error.message}", error.hint)
        return Item(number, name, shown, None, told)
    if not question.images:
        return Item(number, name, shown, question)
    images = tuple(str(given.images / image) for image in question.images)
    films = tuple(_state(image) for image in images)
    return Item(number, name, shown, replace(question, images=images), films=films)


def _state(path: str) -> tuple[int, int] | None:
    try:
        now = os.stat(path)
    except (OSError, ValueError):
        return None
    return now.st_size, now.st_mtime_ns


def _id_of(data: dict[str, Any]) -> Any:
    """The id as its row will hold it (JSON has no NaN), so that the row can be told by it."""
    try:
        return json.loads(output.to_json(data.get("id")))
    except RecursionError:
        raise UsageError("the 'id' is nested too deeply", "give a text or a number") from None


def _of_csv(lines: _Lines, given: Given) -> Iterator[Item]:
    # A line that is too long is a fault of the csv module's as well, which tells it.
    fed = (line if line is not None else '"' for line in lines)
    header = next((line for line in fed if line.strip()), "")
    mark = _delimiter(header.strip("\r\n"))
    if mark is None:
        raise UsageError(
            "the CSV file has no column 'question'", "name the questions' column in its first line"
        )
    names = [name.strip() for name in next(csv.reader([header], delimiter=mark))]
    names = [name if name in _LETTERS else name.lower() for name in names]
    reader = csv.reader(fed, delimiter=mark)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            told = UsageError(f"line {lines.number}: not CSV: {error}", "mend its quotes")
            yield Item(lines.number, None, "", None, told)
            continue
        if row is None:
            return
        cells = {name: cell for name, cell in zip(names, row, strict=False) if cell.strip()}
        if cells:
            yield _csv_item(lines.number, cells, given)


def _csv_item(number: int, cells: dict[str, str], given: Given) -> Item:
    data: dict[str, Any] = dict(cells)
    letters = {name: text for name, text in cells.items() if name in _LETTERS}
    try:
        for name in ("choices", "images"):
            if name in cells and (name == "choices" or cells[name].lstrip().startswith("[")):
                data[name] = json.loads(cells[name])
    except (ValueError, RecursionError) as error:
        told = UsageError(
            f"line {number}: '{name}' is not JSON: {error}", 'write {"A": "yes", "B": "no"}'
        )
        return Item(number, cells.get("id"), cells.get("question", ""), None, told)
    if letters and "choices" not in data:
        data["choices"] = letters
    return _item(number, data, given)
