"""Settings: flags win over EHRQA_* variables, which win over the settings file.

The file is TOML, in the platform's configuration folder (``EHRQA_CONFIG`` names another):

    db = "/data/ehr.sqlite"      # EHRQA_DB: the database of commands without --db
    model = "local"              # EHRQA_MODEL: the text-to-SQL model
    models = "/data/models"      # EHRQA_MODELS: where pulled models are kept
    images = "/data/mimic-cxr"   # EHRQA_IMAGES: where chest X-rays are
    vision = "vision"            # EHRQA_VISION: what reads them, a model's name or its card.json
    reader = "embedded"          # EHRQA_READER: what reads clinical notes, a reader's name
    log = true                   # EHRQA_LOG: on or off, the answer log
    log_file = "/data/log.db"    # EHRQA_LOG_FILE: where the answer log is
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import UsageError

APP = "ehrqa"
_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")


@dataclass(frozen=True)
class Settings:
    """What the user has set; None means the default."""

    db: Path | None = None
    model: str = "local"
    models: Path | None = None
    images: Path | None = None
    vision: str | None = None
    reader: str = "embedded"
    log: bool = True
    log_file: Path | None = None

    def models_dir(self) -> Path:
        """The folder of pulled models; it may not exist yet."""
        import platformdirs

        return self.models or Path(platformdirs.user_data_dir(APP, appauthor=False)) / "models"

    def log_path(self) -> Path:
        """The answer log's file; it may not exist yet."""
        import platformdirs

        state = Path(platformdirs.user_state_dir(APP, appauthor=False))
        return self.log_file or state / "answers.db"


def settings_file(environ: Mapping[str, str] | None = None) -> Path:
    """The settings file's path, whether it exists or not."""
    named = (os.environ if environ is None else environ).get("EHRQA_CONFIG")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_config_dir(APP, appauthor=False)) / "config.toml"


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force. Raises UsageError naming the file or variable that is wrong."""
    env = os.environ if environ is None else environ
    path = settings_file(env)
    settings = Settings()
    if path.is_file():
        settings = _merge(settings, _read(path), str(path))
    elif env.get("EHRQA_CONFIG"):
        hint = "unset EHRQA_CONFIG or create the file"
        raise UsageError(f"there is no settings file {path}", hint)
    for field in fields(Settings):
        name = f"EHRQA_{field.name.upper()}"
        if text := env.get(name):
            settings = _set(settings, field.name, _from_text(field.name, text, name), name)
    return settings


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        hint = "check the file's permissions"
        raise UsageError(f"cannot read {path}: {error.strerror}", hint) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}", "mend or remove the file") from error


def _merge(settings: Settings, values: Mapping[str, Any], origin: str) -> Settings:
    known = [field.name for field in fields(Settings)]
    for key, value in values.items():
        if key not in known:
            from difflib import get_close_matches

            near = get_close_matches(key, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known)}"
            raise UsageError(f"{origin}: unknown setting '{key}'", hint)
        settings = _set(settings, key, value, f"{origin}: {key}")
    return settings


def _set(settings: Settings, key: str, value: Any, origin: str) -> Settings:
    if key == "log":
        if not isinstance(value, bool):
            raise UsageError(f"{origin} must be true or false, not {value!r}", "write log = false")
        return replace(settings, log=value)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{origin} must be a text, not {value!r}", f'write {key} = "..."')
    if key in ("model", "vision", "reader"):
        name: dict[str, Any] = {key: value}
        return replace(settings, **name)
    path: dict[str, Any] = {key: Path(value).expanduser()}
    return replace(settings, **path)


def _from_text(key: str, text: str, origin: str) -> Any:
    if key != "log":
        return text
    if text.lower() in _ON + _OFF:
        return text.lower() in _ON
    raise UsageError(f"{origin} must be on or off, not {text!r}", f"set {origin}=off")
