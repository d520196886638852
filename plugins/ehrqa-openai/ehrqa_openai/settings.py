"""How the server is reached: ``EHRQA_OPENAI_*`` variables, and a small TOML file below them."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ehrqa_cli.contracts.errors import UsageError
from ehrqa_openai.hosts import Address, address, allow

PREFIX = "EHRQA_OPENAI_"
_FILE = f"{PREFIX}CONFIG"
_KEY = f"{PREFIX}KEY"
_NAMES = (
    "url", "model", "hosts", "key_env", "key_file", "timeout", "retries", "concurrency", "proxy",
    "ca_file", "max_tokens", "logprobs",
)  # fmt: skip
T = TypeVar("T")


class Secret:
    """A text that is never shown."""

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the header of a request only."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(...)"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._text)


@dataclass(frozen=True)
class Settings:
    """Where the server is and how it is asked. ``timeout`` is in seconds, for a whole answer.

    ``logprobs`` None: they are asked for until the server says that it has none.
    """

    url: str
    model: str
    hosts: tuple[str, ...] = ()
    key: Secret = field(default=Secret(""))
    timeout: float = 120.0
    retries: int = 2
    concurrency: int = 1
    proxy: str = ""
    ca_file: str = ""
    max_tokens: int | None = None
    logprobs: bool | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for an address that is none or not allowed."""
        target = address(self.url, f"{PREFIX}URL")
        allow(target, self.hosts)
        if self.key and target.scheme == "http" and not target.loopback:
            raise UsageError(
                f"the key would travel unencrypted to {target}", "use an https address, or no key"
            )
        if self.proxy:
            allow(address(self.proxy, f"{PREFIX}PROXY"), self.hosts)

    @property
    def address(self) -> Address:
        """Scheme, host and port of the server."""
        return address(self.url, f"{PREFIX}URL")

    @property
    def base(self) -> str:
        """The address that was checked, put together anew, with the path."""
        return f"{self.address}{urlsplit(self.url).path.rstrip('/')}"

    @classmethod
    def load(cls) -> Settings:
        """What the variables and the file say. Raises UsageError."""
        found = _found()
        if todo := _lacking(found):
            raise UsageError(*todo)
        return cls(
            url=_text(found, "url"),
            model=_text(found, "model"),
            hosts=_hosts(found),
            key=_key(found),
            timeout=_number(found, "timeout", float, 0.1, 3600.0, 120.0),
            retries=_number(found, "retries", int, 0, 10, 2),
            concurrency=_number(found, "concurrency", int, 1, 64, 1),
            proxy=_text(found, "proxy"),
            ca_file=_text(found, "ca_file"),
            max_tokens=_number(found, "max_tokens", int, 1, 100_000, 0) or None,
            logprobs=_switch(found, "logprobs"),
        )


def lacking() -> str:
    """What must be set before a server can be asked; "" for nothing. Never raises UsageError: what
    is wrong is told when the plugin is made."""
    try:
        todo = _lacking(_found())
    except UsageError:
        return ""
    return f"{todo[0]} ({todo[1]})" if todo else ""


def file() -> Path:
    """The TOML file: ``EHRQA_OPENAI_CONFIG``, else openai.toml in ehrqa's configuration folder."""
    import platformdirs

    named = os.environ.get(_FILE)
    if named:
        return Path(named).expanduser()
    return Path(platformdirs.user_config_dir("ehrqa", appauthor=False)) / "openai.toml"


def _found() -> dict[str, tuple[Any, str]]:
    """Every setting with where it stands; variables win, and an empty one counts as none."""
    path = file()
    found: dict[str, tuple[Any, str]] = {}
    for name, value in _table(path).items():
        if name not in _NAMES:
            hint = f"known are {', '.join(_NAMES)}"
            if name == "key":
                hint = f"a key stands in {_KEY} or in a file of its own, named by key_file"
            raise UsageError(f"{path}: unknown setting '{str(name)[:40]}'", hint)
        found[name] = (value, f"{name} in {path}")
    for name in _NAMES:
        if value := os.environ.get(PREFIX + name.upper()):
            found[name] = (value, PREFIX + name.upper())
    return found


def _table(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as opened:
            return tomllib.load(opened)
    except FileNotFoundError:
        if os.environ.get(_FILE):
            raise UsageError(f"{path} does not exist", f"mend or unset {_FILE}") from None
        return {}
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", f"mend it, or set {_FILE}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        # The parser's own words may quote the line, and so a key that stands there.
        raise UsageError(f"{path} is not TOML in UTF-8", "mend it, as the README shows") from None


def _lacking(found: Mapping[str, Any]) -> tuple[str, str] | None:
    missing = [PREFIX + name.upper() for name in ("url", "model") if name not in found]
    if not missing:
        return None
    return "no model server is named", f"set {' and '.join(missing)}; see the plugin's README"


def _wrong(where: str, wanted: str) -> UsageError:
    return UsageError(f"{where} is not {wanted}", "see the plugin's README")


def _text(found: Mapping[str, tuple[Any, str]], name: str) -> str:
    value, where = found.get(name, ("", name))
    if not isinstance(value, str) or not value.isprintable():
        raise _wrong(where, "a text")
    return value.strip()


def _hosts(found: Mapping[str, tuple[Any, str]]) -> tuple[str, ...]:
    value, where = found.get("hosts", ("", "hosts"))
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise _wrong(where, "a list of hosts")
    return tuple(each.strip() for each in listed if each.strip())


def _number(
    found: Mapping[str, tuple[Any, str]],
    name: str,
    kind: Callable[[Any], T],
    least: float,
    most: float,
    default: T,
) -> T:
    if name not in found:
        return default
    value, where = found[name]
    wanted = f"a number from {least:g} to {most:g}"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _wrong(where, wanted)
    try:
        number = kind(value)
    except (ValueError, OverflowError):
        raise _wrong(where, wanted) from None
    if not least <= number <= most:  # type: ignore[operator]
        raise _wrong(where, wanted)
    return number


def _switch(found: Mapping[str, tuple[Any, str]], name: str) -> bool | None:
    value, where = found.get(name, (None, name))
    words = {"on": True, "off": False, "auto": None, None: None, True: True, False: False}
    key = value.strip().lower() if isinstance(value, str) else value
    if not isinstance(key, str | bool | None) or key not in words:
        raise _wrong(where, "on, off or auto")
    return words[key]


def _key(found: Mapping[str, tuple[Any, str]]) -> Secret:
    """The key, from the variable or the file that is named. No other program's is ever taken."""
    variable = _text(found, "key_env")
    if variable and not os.environ.get(variable):
        raise UsageError(f"{variable} is to hold the key and is not set", "set it")
    if given := os.environ.get(variable or _KEY):
        return _checked(given, variable or _KEY)
    named = _text(found, "key_file")
    if not named:
        return Secret("")
    path = Path(named).expanduser()
    try:
        mode = path.stat().st_mode
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UsageError(f"others can read the key in {path}", f"run `chmod 600 {path}`")
        return _checked(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        hint = "name a file that holds the key alone"
        raise UsageError(f"cannot read the key in {path}: {error.strerror}", hint) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} holds no key", "it must hold the key alone") from None


def _checked(text: str, where: str) -> Secret:
    # Refused here, since a header that cannot be sent would be quoted in the error.
    key = text.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key or len(key) > 8192:
        raise UsageError(f"{where} holds no key", "it must hold the key alone, on one line")
    return Secret(key)
