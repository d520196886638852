"""What ``--db`` names, opened by the backend that can read it.

Backends are plugins of the group ``ehrqa.database``, ours as well as third parties'. A scheme names
one (``NAME:FILE``, ``NAME://HOST/...``, or what it is registered for in ``ehrqa.scheme``). A file
that is SQLite's is told by its first bytes; any other file, and a folder, is the first plugin's, by
name, that knows it.
"""

from __future__ import annotations

import re
from pathlib import Path

from ehrqa_cli import registry
from ehrqa_cli.contracts.errors import DatabaseError, PluginError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.ehr.backend import servers
from ehrqa_cli.ehr.backend.sqlite import MAGIC, SqliteDatabase
from ehrqa_cli.ehr.mapping import choice as mapping_choice

SQLITE = "sqlite"
_SCHEME = re.compile(r"([a-z][a-z0-9+-]+):(.*)", re.S)


def open_database(target: str | Path) -> Database:
    """Open the EHR that ``target`` names, for reading; it takes SQLite's SQL whatever it is, and
    over our tables whatever its own are (ehr/mapping/document.py).

    Raises DatabaseError when there is none or it is not an EHR, PluginError for a backend that is
    not installed, UsageError for settings or a mapping that are wrong.
    """
    return mapping_choice.as_ehr(open_as_it_is(target), str(address_of(target)))


def open_as_it_is(target: str | Path) -> Database:
    """As ``open_database``, whatever its tables; its SQL is over those."""
    target = address_of(target)
    plugin, rest = plugin_of(target)
    if issubclass(plugin, SqliteDatabase):
        return plugin.open_any(Path(rest))
    database = plugin.open(rest)
    if database.dialect == SQLITE:
        return database
    from ehrqa_cli.ehr.backend.translated import Translated

    return Translated(database, str(target))


def plugin_of(target: str | Path) -> tuple[type[Database], str]:
    """The plugin that reads ``target``, and what it is to open.

    Raises PluginError for one that is not installed, UsageError for a password in an address.
    """
    name, rest = backend_of(target)
    plugin = _plugin(name)
    if not plugin.in_files:
        servers.check(str(target))
    return plugin, rest


def backend_of(target: str | Path) -> tuple[str, str]:
    """The backend's name, and what it is to open.

    Raises DatabaseError for a file unreadable, PluginError for a backend that is not installed,
    UsageError for an address of such a one with a password in it.
    """
    text = str(address_of(target))
    found = _SCHEME.fullmatch(text)
    if found is None or Path(text).exists():
        return _knowing(Path(text)), text
    name = registry.database_of(found[1])
    if name is None:
        servers.check(text)
        raise PluginError(
            f"{text} needs the {found[1]} backend, which is not installed",
            "install its plugin with pip (in a checkout, plugins/ has ours: ehrqa-...)",
        )
    return name, found[2] if _plugin(name).in_files else text


def _plugin(name: str) -> type[Database]:
    return registry.load(registry.DATABASE, name, Database)  # type: ignore[type-abstract]


def _knowing(path: Path) -> str:
    """The backend of a file or folder: SQLite's for what nobody knows, which says what is wrong.

    Raises PluginError where nobody knows it and a plugin that might does not load.
    """
    try:
        if not path.is_dir():
            with path.open("rb") as file:
                if file.read(len(MAGIC)) == MAGIC:
                    return SQLITE
    except (OSError, ValueError):
        return SQLITE
    broken: PluginError | None = None
    for name in registry.names(registry.DATABASE):
        try:
            if name != SQLITE and _plugin(name).knows(path):
                return name
        except PluginError as error:
            broken = broken or error
    if broken is not None:
        raise broken
    return SQLITE


def address_of(target: str | Path) -> str | Path:
    """What a file that stands for a server says (`servers`); any other target as it is."""
    return servers.address_in(Path(target)) or target


def path_of(target: str) -> Path:
    """The file or folder that ``target`` names: where its notes lie beside, and all else that is
    kept by a database's path. ``NAME:FILE`` is FILE; a server has a file that stands for it.

    Raises DatabaseError for a file of another backend, PluginError for a backend that is not
    installed, UsageError for a password in an address.
    """
    if servers.address_in(Path(target)) is not None:
        return Path(target)
    name, rest = backend_of(target)
    if name != SQLITE and not _plugin(name).in_files:
        return servers.stand_in(_whole(target))
    path = Path(rest)
    if rest != target and path.exists() and _knowing(path) != name:
        raise DatabaseError(
            f"{rest} is not a {name} database", "leave the scheme out, or name another file"
        )
    return path


def _whole(address: str) -> str:
    """An address that is a backend's name before a path of this machine, with the whole path: the
    file that stands for it outlives the folder that the user is in."""
    found = _SCHEME.fullmatch(address)
    if found is None or not Path(found[2]).exists():
        return address
    return f"{found[1]}:{Path(found[2]).absolute()}"
