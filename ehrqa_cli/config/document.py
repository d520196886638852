"""The settings file as text: where it is, its TOML, and on which line each key stands."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import UsageError

APP = "ehrqa"
MOST = 1 << 18  # bytes of a settings file
_LONG = 200  # lines of one statement: no value of ours comes near
_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)

Keys = tuple[str, ...]


def settings_file(environ: Mapping[str, str] | None = None) -> Path:
    """The settings file's path, whether it exists or not."""
    named = (os.environ if environ is None else environ).get("EHRQA_CONFIG")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_config_dir(APP, appauthor=False)) / "config.toml"


@dataclass(frozen=True)
class Document:
    """A settings file that is valid TOML."""

    path: Path
    text: str
    data: Mapping[str, Any]

    @cached_property
    def lines(self) -> dict[Keys, int]:
        """The line, from 1, on which each key or table begins."""
        found: dict[Keys, int] = {}
        for keys, line in _key_lines(self.text):
            found.setdefault(keys, line)
        return found

    def line(self, keys: Keys) -> int:
        """The line of a key, or of the table it is in."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys, 1)


def read(path: Path) -> Document | None:
    """The file at ``path``; None when there is none. Raises UsageError naming file and line."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        hint = "check what it is and its permissions"
        raise UsageError(f"cannot read {path}: {error.strerror}", hint) from error
    if len(raw) > MOST:
        hint = "is EHRQA_CONFIG the settings file?"
        raise UsageError(f"{path} is too large for a settings file", hint)
    try:
        # utf-8-sig: some editors begin a file with a byte order mark.
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: not UTF-8", "save the file as UTF-8") from error
    try:
        return Document(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        what, line = _place(str(error), text)
        hint = "mend the line; texts and paths stand in quotes"
        raise UsageError(f"{path}:{line}: not valid TOML: {what}", hint) from error
    except ValueError as error:  # Python reads no number of more than 4,300 digits
        hint = "mend or remove the file"
        raise UsageError(f"{path} holds a number that is too long", hint) from error
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply", "mend or remove the file") from None


def _place(message: str, text: str) -> tuple[str, int]:
    found = _PLACE.fullmatch(message)
    if found is None:
        return message, 1
    return found[1], int(found[2] or text.rstrip("\n").count("\n") + 1)


def _key_lines(text: str) -> Iterator[tuple[Keys, int]]:
    """Every key with its line. tomllib tells no lines of keys, but it tells where a statement
    ends: a statement is the fewest lines that are TOML by themselves."""
    table: Keys = ()
    pending: list[str] = []
    start = 1
    for number, line in enumerate(text.split("\n"), 1):
        if not pending:
            start = number
        pending.append(line)
        try:
            data = tomllib.loads("\n".join(pending))
        except tomllib.TOMLDecodeError:
            if len(pending) > _LONG:
                return
            continue
        header = pending[0].lstrip().startswith("[")
        pending = []
        inside = list(_paths(data))
        for keys in inside:
            yield (keys if header else table + keys), start
        if header:
            table = inside[-1]


def _paths(data: Any) -> Iterator[Keys]:
    """The keys of nested tables, outer ones first."""
    if isinstance(data, list):  # [[name]]
        data = data[0] if data and isinstance(data[0], dict) else {}
    if isinstance(data, dict):
        for key, value in data.items():
            yield (key,)
            for rest in _paths(value):
                yield (key, *rest)
