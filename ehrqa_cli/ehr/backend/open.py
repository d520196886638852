"""What ``--db`` names, opened by the backend that can read it.

A scheme names the backend (``duckdb:FILE``, ``postgresql://HOST/NAME``); a file is known by its
first bytes and a folder by what is in it. Backends are plugins of the group ``ehrqa.database``,
ours as well as third parties'; one that is not installed is named together with its package.
"""

from __future__ import annotations

import re
from pathlib import Path

from ehrqa_cli import registry
from ehrqa_cli.contracts.errors import DatabaseError, PluginError, UsageError
from ehrqa_cli.contracts.plugins import Database
from ehrqa_cli.ehr.backend import servers
from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.mapping import choice as mapping_choice

SQLITE = "sqlite"
DUCKDB = "duckdb"
TABLE_FILES = (".parquet", ".csv", ".csv.gz")
# The backends that we write, and their packages; others are found by what they are registered as.
PACKAGES = {
    DUCKDB: "ehrqa-duckdb",
    "postgres": "ehrqa-postgres",
    "spark": "ehrqa-spark",
}
_SCHEMES = {"postgresql": "postgres"}
_SCHEME = re.compile(r"([a-z][a-z0-9+-]+):(.*)", re.S)
_FILES = (SQLITE, DUCKDB)


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
    if name not in _FILES:
        servers.check(str(target))
    if name not in registry.names(registry.DATABASE) and name in PACKAGES:
        raise PluginError(
            f"{target} needs the {name} backend, which is not installed",
            f"install {PACKAGES[name]} with pip (in a checkout: plugins/{PACKAGES[name]})",
        )
    return registry.load(registry.DATABASE, name, Database), rest  # type: ignore[type-abstract]


def now_in(database: Database) -> str:
    """What ``current_time`` means in a database when nobody says. Raises UsageError when its data
    do not tell."""
    told = database.default_as_of()
    if told is None:
        raise UsageError("this database does not say when it ends", "name a time with --as-of")
    return told


def backend_of(target: str | Path) -> tuple[str, str]:
    """The backend's name, and what it is to open. Raises DatabaseError for a file unreadable."""
    text = str(address_of(target))
    found = _SCHEME.fullmatch(text)
    if found is not None and not Path(text).exists():
        name = _SCHEMES.get(found[1], found[1])
        if name in _FILES:
            return name, found[2]
        if name in PACKAGES or name in registry.names(registry.DATABASE):
            return name, text
    path = Path(text)
    if path.is_dir() and has_tables(path):
        return DUCKDB, text
    return (DUCKDB if _is_duckdb(path) else SQLITE), text


def address_of(target: str | Path) -> str | Path:
    """What a file that stands for a server says (`servers`); any other target as it is."""
    return servers.address_in(Path(target)) or target


def path_of(target: str) -> Path:
    """The file or folder that ``target`` names: where its notes lie beside, and all else that is
    kept by a database's path. ``duckdb:FILE`` is FILE; a server has a file that stands for it.

    Raises DatabaseError for a file of another backend, UsageError for a password in an address.
    """
    if servers.address_in(Path(target)) is not None:
        return Path(target)
    name, rest = backend_of(target)
    if name not in _FILES:
        return servers.stand_in(_whole(target))
    if rest != target:
        path = Path(rest)
        if path.exists() and backend_of(path)[0] != name:
            raise DatabaseError(
                f"{rest} is not a {name} database", "leave the scheme out, or name another file"
            )
        return path
    return Path(target)


def _whole(address: str) -> str:
    """An address that is a backend's name before a path of this machine, with the whole path: the
    file that stands for it outlives the folder that the user is in."""
    found = _SCHEME.fullmatch(address)
    if found is None or not Path(found[2]).exists():
        return address
    return f"{found[1]}:{Path(found[2]).absolute()}"


def has_tables(folder: Path) -> bool:
    """Does a folder hold tables as Parquet or CSV files, itself or in folders within?"""
    try:
        inside = [folder, *(p for p in folder.iterdir() if p.is_dir())]
        return any(f.name.lower().endswith(TABLE_FILES) for d in inside for f in d.iterdir())
    except OSError as error:
        raise DatabaseError(f"cannot read {folder}: {error}", "check its permissions") from error


def _is_duckdb(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(12)[8:12] == b"DUCK"
    except (OSError, ValueError):
        return False  # the backend says what is wrong with it
