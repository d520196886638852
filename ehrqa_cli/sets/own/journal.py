"""A set under construction: its settings, and one line for each attempt, in their order.

An attempt is a pure function of the seed, its number and the lines before it; so a build that was
killed reads its lines back, goes on behind the last whole one, and ends in the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.store import own

SETTINGS, CARD = "settings.json", "card.json"
WORK = ".build"
_ATTEMPTS = "attempts.jsonl"
Plain = dict[str, Any]


def writing(path: Path, error: OSError) -> BuildError:
    """What to raise when a file of the set cannot be written."""
    return BuildError(
        f"cannot write {path}: {error.strerror or error}",
        "make room or choose another --out, then run the same command again: it goes on",
    )


def run_hash(settings: Mapping[str, Any]) -> str:
    """What names a set: the start of the SHA-256 of its settings."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


class Journal:
    """The folder of one set. Raises UsageError for a folder that holds something else."""

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        self.out = out
        self.settings = json.loads(json.dumps(settings))
        self.hash = run_hash(self.settings)
        self._file: IO[str] | None = None
        self._path = out / WORK / _ATTEMPTS
        self._check()

    @property
    def complete(self) -> bool:
        """Has this very set been finished already?"""
        return (self.out / CARD).is_file()

    def _check(self) -> None:
        path = self.out / SETTINGS
        try:
            if path.is_file():
                self._compare(path)
            elif self.out.exists() and (not self.out.is_dir() or any(self.out.iterdir())):
                raise UsageError(
                    f"{self.out} holds something else", "give a new or empty folder with --out"
                )
        except OSError as error:
            raise writing(path, error) from None

    def claim(self) -> None:
        """Make the folder this set's own. Raises BuildError when it cannot be written."""
        path = self.out / SETTINGS
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            for part in self.out.rglob("*.part*"):  # of a build that was killed
                part.unlink()
            if not path.is_file():
                text = json.dumps(self.settings, indent=1, ensure_ascii=False)
                replace_text(path, text + "\n")
        except OSError as error:
            raise writing(path, error) from None

    def _compare(self, path: Path) -> None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if found == self.settings:
            return
        other = found if isinstance(found, dict) else {}
        keys = {*self.settings, *other}
        changed = sorted(k for k in keys if other.get(k, self) != self.settings.get(k, self))
        raise UsageError(
            f"{self.out} holds another set (different {', '.join(changed) or 'settings'})",
            "give another folder with --out, or the same options as before to go on",
        )

    def run(self, attempt: Callable[[Plain | None], Plain | None]) -> int:
        """Call ``attempt`` with each line that is there, then with None for a new one, until it
        gives None. Returns the number of attempts. Raises BuildError when nothing can be
        written."""
        self.claim()
        count = 0
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            kept = 0
            for line, end in self._lines():
                if attempt(line) is None:
                    break
                kept, count = end, count + 1
            with self._path.open("a", encoding="utf-8") as self._file:
                self._own(self._file)
                self._file.truncate(kept)
                while (made := attempt(None)) is not None:
                    # Line by line, as the reader of a killed build has only what was written.
                    self._file.write(json.dumps(made, ensure_ascii=False) + "\n")
                    self._file.flush()
                    count += 1
        except OSError as error:
            raise writing(self._path, error) from None
        return count

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the folder for the time of the block. Raises BuildError when another process is
        building in it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            self._own(file)
            yield

    def _own(self, file: IO[str]) -> None:
        """Two builds of one set would write between each other's lines."""
        if not own(file):
            raise BuildError(
                f"{self.out} is being built by another process", "wait until it has ended"
            )

    def _lines(self) -> Iterator[tuple[Plain, int]]:
        """Whole lines with where each ends; what follows a torn one is not read."""
        if not self._path.is_file():
            return
        end = 0
        with self._path.open("rb") as file:
            for raw in file:
                try:
                    line = json.loads(raw)
                except ValueError:
                    return
                if not raw.endswith(b"\n") or not isinstance(line, dict):
                    return
                end += len(raw)
                yield line, end

    def lines(self) -> Iterator[Plain]:
        """All attempts of a finished run."""
        return (line for line, _ in self._lines())

    def clear(self) -> None:
        """Remove what was only needed to go on."""
        shutil.rmtree(self.out / WORK, ignore_errors=True)


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def write_list(path: Path, items: Iterable[Any]) -> int:
    """A JSON list, one item a line, written as the items come; the number of items."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for item in items:
            file.write((",\n" if count else "\n") + json.dumps(item, ensure_ascii=False))
            count += 1
        file.write("\n]\n")
    return count


def write_lines(path: Path, items: Iterable[Any]) -> int:
    """JSON Lines, written as the items come; the number of items."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for item in items:
            file.write(json.dumps(item, ensure_ascii=False) + "\n")
            count += 1
    return count
