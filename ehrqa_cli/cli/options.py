"""Options that several commands share, and the database that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ehrqa_cli.cli.profile import profile_option
from ehrqa_cli.contracts.errors import UsageError

if TYPE_CHECKING:
    from ehrqa_cli.config import Settings
    from ehrqa_cli.contracts.plugins import Database

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)
TARGET = click.Path(path_type=str)  # as it is written: a Path would make one of two slashes


def as_path(
    context: click.Context | None, option: click.Parameter | None, value: str | Path | None
) -> Path | None:
    """A callback for what names a database: the file or folder by whose path all that belongs to
    it is kept, without the backend's name before it (``duckdb:FILE``), and for a server the file
    that stands for it. Raises DatabaseError, and UsageError for a password in an address."""
    del context, option
    from ehrqa_cli.ehr.open import path_of

    return None if value is None else path_of(str(value))


_db_option = click.option(
    "--db",
    type=TARGET,
    callback=as_path,
    metavar="TARGET",
    help="The EHR: a SQLite or DuckDB file, a folder of Parquet or CSV files, or the address of "
    "a server [default: EHRQA_DB, or db in the settings file].",
)


def db_option(command: Command) -> Command:
    """Add ``--db``, and ``--profile``, which may name the database instead."""
    return _db_option(profile_option(command))


as_of_option = click.option(
    "--as-of",
    metavar="TIME",
    help="What 'now' means: a time, a date (its 23:59:00), or now [default: the database's].",
)
concepts_option = click.option(
    "--concepts",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Your own concepts: TOML, CSV or JSON of OMOP; may be repeated [default: those of the "
    "settings; one named DB.concepts.toml is always read first].",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def database_path(given: Path | None, settings: Settings | None = None) -> Path:
    """The database of --db or of the settings. Raises UsageError without one."""
    path = database_named(given, settings)
    if path is None:
        raise UsageError(
            "no database given",
            "add --db FILE, or build one with `ehrqa db demo --out demo.sqlite`",
        )
    return path


def database_named(given: Path | None, settings: Settings | None = None) -> Path | None:
    """The database of --db or of the settings; None without one. Raises UsageError for a wrong
    address."""
    from ehrqa_cli import config

    return given or as_path(None, None, (settings or config.load()).db)


def target_of(path: Path) -> str:
    """What the user calls the database at ``path``: a server's address, else the path."""
    from ehrqa_cli.ehr.open import address_of

    return str(address_of(path))


def open_database(path: Path) -> Database:
    """Open the EHR at ``path`` (or what else --db names) for reading. Raises DatabaseError, or
    PluginError for a backend that is not installed."""
    from ehrqa_cli.ehr import open as door

    return door.open_database(path)
