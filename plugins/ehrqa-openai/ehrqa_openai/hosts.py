"""Where the plugin may send anything: this machine, and the hosts that the user has named."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from ehrqa_cli.contracts.errors import UsageError

HOSTS = "EHRQA_OPENAI_HOSTS"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Address:
    """Scheme, host and port of a server; nothing in it is secret."""

    scheme: str
    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Is it this machine?"""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def address(url: str, what: str) -> Address:
    """The address in ``url``; ``what`` names the setting.

    Raises UsageError, which never shows the URL: a password may stand in it.
    """
    hint = "write it as http://127.0.0.1:8080/v1"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError(f"{what} is not an address", hint) from None
    _refuse_secrets(parts, what)
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in _PORTS or not parts.hostname or not plain:
        raise UsageError(f"{what} is not an http or https address", hint)
    host = parts.hostname.removesuffix(".").lower()
    return Address(parts.scheme, host, _PORTS[parts.scheme] if port is None else port)


def _refuse_secrets(parts: SplitResult, what: str) -> None:
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError(
            f"{what} holds more than an address",
            "give the key in EHRQA_OPENAI_KEY or in a file named by EHRQA_OPENAI_KEY_FILE",
        )


def allow(target: Address, allowed: Sequence[str]) -> None:
    """Raise UsageError unless ``target`` is this machine or one of ``allowed``.

    An entry is ``host`` or ``host:port``, for https; without encryption only what is named with its
    scheme, ``http://host[:port]``.
    """
    if target.loopback or any(_names(entry, target) for entry in allowed):
        return
    named = f"{target.host}:{target.port}" if target.port != _PORTS[target.scheme] else target.host
    if target.scheme == "http":
        named = f"http://{named}"
    raise UsageError(
        f"the model server {target} is not on this machine, and its host is not allowed",
        f"questions and clinical text would leave this machine; to allow it set {HOSTS}={named}",
    )


def _names(entry: str, target: Address) -> bool:
    text = entry.strip().lower()
    scheme, split, rest = text.partition("://")
    if not split:
        scheme, rest = "https", text
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        port = parts.port
    except ValueError:
        return False
    host = (parts.hostname or "").removesuffix(".")
    return scheme == target.scheme and host == target.host and port in (None, target.port)
