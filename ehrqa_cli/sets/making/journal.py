"""A set under construction: its settings, and one line for each attempt, in their order.

An attempt is a pure function of the seed, its number and the lines before it; so a build that was
killed reads its lines back, goes on behind the last whole one, and ends in the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ehrqa_cli.contracts.errors import BuildError, UsageError
from ehrqa_cli.sets.making.files import Plain, replace_text, whole_lines, writing
from ehrqa_cli.store import own

SETTINGS, CARD = "settings.json", "card.json"
WORK = ".build"
_ATTEMPTS = "attempts.jsonl"


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
        with writing(path):
            if path.is_file():
                self._compare(path)
            elif self.out.exists() and (not self.out.is_dir() or any(self.out.iterdir())):
                raise UsageError(
                    f"{self.out} holds something else", "give a new or empty folder with --out"
                )

    def claim(self) -> None:
        """Make the folder this set's own. Raises BuildError when it cannot be written."""
        path = self.out / SETTINGS
        with writing(path):
            self.out.mkdir(parents=True, exist_ok=True)
            for part in self.out.rglob("*.part*"):  # of a build that was killed
                part.unlink()
            if not path.is_file():
                text = json.dumps(self.settings, indent=1, ensure_ascii=False)
                replace_text(path, text + "\n")

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
        with writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            kept = 0
            for line, end in whole_lines(self._path):
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

    def lines(self) -> Iterator[Plain]:
        """All attempts of a finished run."""
        return (line for line, _ in whole_lines(self._path))

    def clear(self) -> None:
        """Remove what was only needed to go on."""
        shutil.rmtree(self.out / WORK, ignore_errors=True)
