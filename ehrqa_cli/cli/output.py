"""The only writer to stdout: text, JSON, tables and CSV. stdout is data and nothing else.

Everything printed for people goes through `safe`, because names in a database and lines of a
note are untrusted: a control character in them could move the cursor or set a window title.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing costs a third of the time that `ehrqa --help` may take
    from collections.abc import Iterable, Sequence
    from typing import Any


class ReaderGone(Exception):
    """The reader of our pipe closed it (``| head``). Not BrokenPipeError: click handles that."""


def safe(text: str) -> str:
    """``text`` with control characters (all but newline and tab) shown as escapes."""
    if text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


def prepare() -> None:
    """In a terminal or pipe that is not UTF-8, escape what it lacks rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def write(text: str) -> None:
    """Write ``text`` as it is and flush, so that a reader of the pipe has it at once.

    Raises ReaderGone when nobody reads the pipe any more.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Nothing may be left to be written at exit, where it would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ReaderGone from None


def line(text: str = "") -> None:
    """Write one line for a person."""
    write(safe(text) + "\n")


def finish(text: str) -> int:
    """Write the last text of the program; returns the exit code, also when nobody reads."""
    try:
        write(text)
    except ReaderGone:
        return 0  # as in `| head`: not an error
    return 0


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON of plain values: UTF-8 kept, numbers that JSON lacks (NaN, infinity) as null."""
    import json

    text = json.dumps(_finite(value), ensure_ascii=False, indent=indent, default=str)
    # Half a surrogate pair has no UTF-8; its escape \udXXX is what JSON would write for it.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def json_line(value: Any) -> None:
    """One JSON object on one line."""
    write(to_json(value) + "\n")


def csv_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """RFC 4180 CSV with a header; NULL is an empty field."""
    write("".join(map(csv_line, (columns, *rows))))


def csv_line(cells: Sequence[Any]) -> str:
    """One row of CSV with a newline at its end."""
    import csv
    import io

    buffer = io.StringIO()
    # Of the two characters that end lines, Python's module quotes only those of its own line end.
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().removesuffix("\r\n") + "\n"


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Iterable[int] = ()
) -> None:
    """A table for a person: drawn with rich on a terminal, tab-separated in a pipe.

    ``numeric`` are the indexes of the columns to align right.
    """
    cells = [["" if cell is None else safe(str(cell)) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [list(columns), *cells]:
            write("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row) + "\n")
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    right = set(numeric)
    for index, column in enumerate(columns):
        drawn.add_column(Text(column), justify="right" if index in right else "left")
    for row in cells:
        drawn.add_row(*map(Text, row))  # Text, not str: clinical text is never markup
    Console(file=sys.stdout, highlight=False).print(drawn)
