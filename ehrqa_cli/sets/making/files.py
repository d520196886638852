"""The files of a set: each is written whole or not at all, or line by line so that it can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import BuildError

Plain = dict[str, Any]


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Files of the set ``path`` are written in the block. Raises BuildError where one cannot be."""
    try:
        yield
    except OSError as error:
        raise BuildError(
            f"cannot write {path}: {error.strerror or error}",
            "make room or choose another --out, then run the same command again: it goes on",
        ) from None


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Where to write what shall stand at ``path`` when the block ends well. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    yield part
    os.replace(part, path)


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises OSError."""
    with whole(path) as part:
        part.write_text(text, encoding="utf-8")


def write_joined(path: Path, begin: str, items: Iterable[str], end: str) -> int:
    """A JSON text, one item a line, written as the items come; the number of items. Raises
    OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(begin)
        for item in items:
            file.write((",\n" if count else "\n") + item)
            count += 1
        file.write(end)
    return count


def write_list(path: Path, items: Iterable[Any]) -> int:
    """A JSON list, as ``write_joined``."""
    shown = (json.dumps(item, ensure_ascii=False) for item in items)
    return write_joined(path, "[", shown, "\n]\n")


def write_lines(path: Path, items: Iterable[Any]) -> int:
    """JSON Lines, written as the items come; the number of items. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for item in items:
            file.write(json.dumps(item, ensure_ascii=False) + "\n")
            count += 1
    return count


def whole_lines(path: Path) -> Iterator[tuple[Plain, int]]:
    """Whole lines of JSON with where each ends; what follows a torn one is not read."""
    if not path.is_file():
        return
    end = 0
    with path.open("rb") as file:
        for raw in file:
            try:
                line = json.loads(raw)
            except ValueError:
                return
            if not raw.endswith(b"\n") or not isinstance(line, dict):
                return
            end += len(raw)
            yield line, end
