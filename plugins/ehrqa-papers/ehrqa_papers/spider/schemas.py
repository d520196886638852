"""Spider's tables.json: which tables and columns a database has, and which columns are linked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.files import read_json

NEEDED = ("db_id", "table_names_original", "column_names_original", "foreign_keys")
_HINT = "expected Spider's tables.json: a list of databases, each with " + ", ".join(NEEDED)


@dataclass(frozen=True)
class SpiderSchema:
    """Names in small letters. ``tables`` maps a table to its columns; ``linked`` maps
    ``table.column`` to the column that stands for all that foreign keys tie to it."""

    db_id: str
    tables: Mapping[str, frozenset[str]]
    linked: Mapping[str, str]


@dataclass(frozen=True)
class Schemas:
    """All databases of a tables.json, and the SHA-256 of the file."""

    path: Path
    by_id: Mapping[str, SpiderSchema]
    sha256: str


def read_schemas(path: Path) -> Schemas:
    """Read a tables.json. Raises EvaluationError, which says at which database it is wrong."""
    if not path.is_file():
        kind = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise EvaluationError(f"{path} {kind}", _HINT)
    source = read_json(path)
    entries = source.content
    if not isinstance(entries, list) or not entries:
        raise EvaluationError(f"{path} holds no list of databases", _HINT)
    found = {}
    for number, entry in enumerate(entries, 1):
        lacking = [n for n in NEEDED if not isinstance(entry, dict) or n not in entry]
        if lacking:
            raise EvaluationError(
                f"database {number} of {path} has no {' nor '.join(lacking)}", _HINT
            )
        try:
            schema = make_schema(entry)
        except (TypeError, ValueError, IndexError, AttributeError):
            raise EvaluationError(
                f"database {number} of {path} ({entry['db_id']}) has names or keys of another kind",
                "columns are [table number, name], foreign keys [column number, column number]",
            ) from None
        found[schema.db_id] = schema
    return Schemas(path, found, source.sha256)


def make_schema(entry: Mapping[str, Any]) -> SpiderSchema:
    """One database of tables.json. Raises TypeError, ValueError, IndexError or AttributeError for
    an entry of another shape."""
    tables = [str(name).lower() for name in entry["table_names_original"]]
    columns: dict[str, set[str]] = {name: set() for name in tables}
    names = []
    for table, column in entry["column_names_original"]:
        if table < 0:
            names.append("*")
            continue
        name = column.lower()
        columns[tables[table]].add(name)
        names.append(f"{tables[table]}.{name}")
    return SpiderSchema(
        str(entry["db_id"]),
        {table: frozenset(found) for table, found in columns.items()},
        _linked(names, entry["foreign_keys"]),
    )


def _linked(names: list[str], keys: list[list[int]]) -> dict[str, str]:
    # A key joins the first group that has either of its columns. Groups that a later key would
    # connect stay apart, and a column in two of them goes by the later one: so does the official
    # evaluation, and the same pairs of columns must count as equal here.
    groups: list[set[int]] = []
    for one, other in keys:
        group = next((g for g in groups if one in g or other in g), None)
        if group is None:
            group = set()
            groups.append(group)
        group.update((one, other))
    return {names[k]: names[min(group)] for group in groups for k in sorted(group)}
