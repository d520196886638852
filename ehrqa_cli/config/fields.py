"""What can be set, and what is a right value of it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from ehrqa_cli.config.document import APP, Keys
from ehrqa_cli.contracts.errors import PluginError, UsageError

_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")
_FILES = (".json", ".onnx", ".gguf", ".toml")
_SCHEME = re.compile(r"([a-z][a-z0-9+-]+):(.+)", re.S)


@dataclass(frozen=True)
class Settings:
    """What the user has set; None means the default. `FIELDS` says what each is."""

    profile: str | None = None
    db: Path | str | None = None  # a text: an address, or a path with its backend's name
    model: str = "local"
    models: Path | None = None
    schema: str | None = None
    images: Path | None = None
    scene_graphs: Path | None = None
    vision: str | None = None
    notes: Path | None = None
    reader: str = "embedded"
    as_of: str | None = None
    goal: str | None = None
    thresholds: Path | None = None
    concepts: tuple[Path, ...] = ()
    taught: bool = True
    log: bool = True
    log_file: Path | None = None
    theme: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)

    def models_dir(self) -> Path:
        """The folder of pulled models; it may not exist yet."""
        import platformdirs

        return self.models or Path(platformdirs.user_data_dir(APP, appauthor=False)) / "models"

    def log_path(self) -> Path:
        """The answer log's file; it may not exist yet."""
        import platformdirs

        state = Path(platformdirs.user_state_dir(APP, appauthor=False))
        return self.log_file or state / "answers.db"


class SettingKind(Enum):
    """What a value is, in words for the user."""

    TEXT = "text in quotes"
    PATH = "a path in quotes"
    PATHS = "a path in quotes, or a list of them"
    TARGET = "a path or an address in quotes"
    NAME = "a name or a path in quotes"
    TIME = "a time"
    SWITCH = "true or false"
    KEYS = "a table of keys"


@dataclass(frozen=True)
class Field:
    """One setting: its name in `Settings`, its example in TOML, and whose table it stands in."""

    name: str
    kind: SettingKind
    example: str
    about: str
    table: Keys = ()

    @property
    def path(self) -> Keys:
        """Its keys in the file."""
        return (*self.table, self.name)

    @property
    def key(self) -> str:
        """As it is called in messages."""
        return ".".join(self.path)

    @property
    def variable(self) -> str | None:
        """Its environment variable; a table has none."""
        return None if self.kind is SettingKind.KEYS else f"EHRQA_{self.name.upper()}"


# In the order in which they are shown.
FIELDS = (
    Field("db", SettingKind.TARGET, '"/data/ehr.sqlite"', "the database of commands without --db"),
    Field("schema", SettingKind.NAME, '"mimic_iv_raw"', "the mapping of a db of other tables"),
    Field("images", SettingKind.PATH, '"/data/mimic-cxr"', "the folder of chest X-rays"),
    Field(
        "scene_graphs", SettingKind.PATH, '"/data/labels"', "labels to read in place of the X-rays"
    ),
    Field("model", SettingKind.TEXT, '"local"', "the text-to-SQL model, by its plugin's name"),
    Field("models", SettingKind.PATH, '"/data/models"', "where pulled models are kept"),
    Field(
        "vision",
        SettingKind.NAME,
        '"vision"',
        "what reads X-rays: a model's name, or its card.json",
    ),
    Field(
        "notes", SettingKind.PATH, '"/data/notes"', "the folder of db's notes [default: beside db]"
    ),
    Field(
        "reader",
        SettingKind.NAME,
        '"embedded"',
        "what reads notes: a plugin, a pulled model, a .gguf",
    ),
    Field("as_of", SettingKind.TIME, '"2100-12-31 23:59:00"', 'what "now" means in a question'),
    Field("goal", SettingKind.TEXT, '"penalty=10"', "what to weigh: penalty=N or precision=P"),
    Field(
        "thresholds", SettingKind.PATH, '"thresholds.json"', "the file to decide by how sure to be"
    ),
    Field(
        "concepts",
        SettingKind.PATHS,
        '["concepts.toml"]',
        "files of your own concepts [default: the one beside db]",
    ),
    Field("taught", SettingKind.SWITCH, "true", "whether what you taught is answered"),
    Field("log", SettingKind.SWITCH, "true", "whether answers are kept in the answer log"),
    Field("log_file", SettingKind.PATH, '"/data/answers.db"', "where the answer log is"),
    Field("theme", SettingKind.TEXT, '"nord"', "the colours of the chat", ("chat",)),
    Field(
        "keys",
        SettingKind.KEYS,
        '{ cancel = "ctrl+x" }',
        "keys of the chat: action = key",
        ("chat",),
    ),
)
CHAT = "chat"
PROFILE, PROFILES = "profile", "profiles"


def from_toml(of: Field, value: Any, folder: Path) -> Any:
    """A value of the file; paths are relative to ``folder``, which the file is in.

    Raises UsageError, without the place.
    """
    if of.kind is SettingKind.SWITCH:
        if isinstance(value, bool):
            return value
        raise _wrong(of, value)
    if of.kind is SettingKind.KEYS:
        return _keys(of, value)
    if of.kind is SettingKind.TIME and isinstance(value, date):  # TOML has times of its own
        return value.strftime("%Y-%m-%d %H:%M:%S" if isinstance(value, datetime) else "%Y-%m-%d")
    if of.kind is SettingKind.PATHS:
        paths = value if isinstance(value, list) else [value]
        if not all(isinstance(path, str) and path.strip() for path in paths):
            raise _wrong(of, value)
        return tuple(_path(of, path, folder) for path in paths)
    if not isinstance(value, str):
        raise _wrong(of, value)
    return from_text(of, value, folder)


def from_text(of: Field, text: str, folder: Path | None = None) -> Any:
    """A value of a variable or a flag, or a text of the file. Raises UsageError."""
    if of.kind is SettingKind.SWITCH:
        if text.lower() in _ON + _OFF:
            return text.lower() in _ON
        raise UsageError(f"{of.key} must be on or off", f"set {of.variable}=off")
    if not text.strip() or any(ord(char) < 32 for char in text):
        raise UsageError(f"{of.key} is empty or has control characters", f"write {_line(of)}")
    if of.kind is SettingKind.TARGET and (named := _SCHEME.fullmatch(text)):
        if _in_files(named[1]):  # relative to the settings file, as paths are
            return f"{named[1]}:{_path(of, named[2], folder)}"
        return text
    if of.kind is SettingKind.PATHS:
        return tuple(_path(of, path, folder) for path in text.split(os.pathsep) if path.strip())
    if of.kind in (SettingKind.PATH, SettingKind.TARGET):
        return _path(of, text, folder)
    if of.kind is SettingKind.NAME and (Path(text).name != text or Path(text).suffix in _FILES):
        return str(_path(of, text, folder))
    return text


def _in_files(scheme: str) -> bool:
    """Does a path follow the scheme? The database plugin that it belongs to says so."""
    from ehrqa_cli import registry
    from ehrqa_cli.contracts.plugins import Database

    name = registry.database_of(scheme)
    try:
        plugin = registry.load(registry.DATABASE, name or "", Database)  # type: ignore[type-abstract]
    except PluginError:
        return False  # whoever opens it says that it is not installed
    return plugin.in_files


def _path(of: Field, text: str, folder: Path | None) -> Path:
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise UsageError(f"{of.key}: there is no such home folder", "write the path out") from None
    return path if folder is None else folder / path


def _keys(of: Field, value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _wrong(of, value)
    for action, key in value.items():
        if not isinstance(key, str) or not key.strip():
            hint = f'write {action} = "ctrl+x"'
            raise UsageError(f"{of.key}.{action} must be text, not {kind_of(key)}", hint)
    return dict(value)


def _wrong(of: Field, value: Any) -> UsageError:
    return UsageError(
        f"{of.key} must be {of.kind.value}, not {kind_of(value)}", f"write {_line(of)}"
    )


def _line(of: Field) -> str:
    return f"{of.key} = {of.example}"


def kind_of(value: Any) -> str:
    """What a TOML value is, in words. Not the value: a line that is wrong may hold anything."""
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "true or false"),
        (int, "a number"),
        (float, "a number"),
        (str, "text"),
        (list, "a list"),
        (dict, "a table"),
    )
    return next((words for kind, words in kinds if isinstance(value, kind)), "a time")
