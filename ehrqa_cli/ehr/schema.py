"""The tables of an EHR (schema.toml): the 17 of EHRSQL-2024 (Lee et al., 2024) and optional ones.

Everything that needs names goes by this module: the importer and the demo create tables from
it, the backend checks a database against it. Times are text ``YYYY-MM-DD HH:MM:SS``; text is
lower case; every table has ``row_id``, an integer that names one row and serves as evidence.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

META_TABLE = "ehrqa_meta"
TIME_TYPE = "TIMESTAMP(0)"
_ALWAYS = ("hadm_id", "stay_id")  # columns of every event, though they may be empty


@dataclass(frozen=True)
class Column:
    """One column: its SQL type, whether it may be NULL, and where MIMIC-IV has it."""

    name: str
    type: str
    required: bool = True
    source: str = ""
    words: str = ""  # what it says
    extra: bool = False  # beyond what its table needs: a database without it is still an EHR

    def ddl(self) -> str:
        """The column's line in CREATE TABLE."""
        return f"{self.name} {self.type}{' NOT NULL' if self.required else ''}"


@dataclass(frozen=True)
class EhrTable:
    """One table. ``time`` is the column that dates an event; ``indexes`` are column lists."""

    name: str
    columns: tuple[Column, ...]
    time: str | None = None
    foreign_keys: tuple[tuple[str, str, str], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    unique: str | None = None  # what other tables refer to it by
    optional: bool = False
    file: str | None = None  # MIMIC-IV's, without its ending
    parent: tuple[str, str] | None = None  # table and column that give an event its time
    about: str = ""  # what it holds

    @property
    def key(self) -> str:
        """The column whose value names one row."""
        return "row_id"

    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(c.name for c in self.columns)

    def column(self, name: str) -> Column:
        """The column of this name. Raises StopIteration without one."""
        return next(c for c in self.columns if c.name == name)

    def only(self, names: Collection[str]) -> EhrTable:
        """The same without the columns of ours that are not among ``names``, for what lacks them;
        and without the indexes that they are part of."""
        kept = tuple(c for c in self.columns if not c.extra or c.name in names)
        have = {c.name for c in kept}
        indexes = tuple(i for i in self.indexes if have.issuperset(i))
        return replace(self, columns=kept, indexes=indexes)

    def ddl(self) -> str:
        """CREATE TABLE; ``row_id`` is the rowid itself, which saves an index a table."""
        lines = [f"{self.key} INTEGER NOT NULL PRIMARY KEY"]
        lines += [c.ddl() for c in self.columns if c.name != self.key]
        lines += [f"FOREIGN KEY({c}) REFERENCES {t}({r})" for c, t, r in self.foreign_keys]
        return f"CREATE TABLE {self.name} (\n    " + ",\n    ".join(lines) + "\n)"

    def every_index(self) -> list[tuple[str, tuple[str, ...], bool]]:
        """Name and columns of each index, and is it unique; to be made after the rows are in."""
        one = [(f"ux_{self.name}_{self.unique}", (self.unique,), True)] if self.unique else []
        return one + [(f"ix_{self.name}_{'_'.join(c)}", c, False) for c in self.indexes]


def _table(name: str, said: dict[str, Any]) -> EhrTable:
    columns = [Column("row_id", "INT", source="numbered here, from 0, in file order")]
    told = (line.split(": ") for line in said.get("words", ()))
    words = {column: about for columns_, about in told for column in columns_.split(", ")}
    optional = said.get("optional", False)
    for ours, line in [(key, line) for key in ("columns", "ours") for line in said.get(key, ())]:
        column, kind, *source = line.split(" | ", 2)
        spare = "file" in said and optional and kind.endswith("?") and column not in _ALWAYS
        columns.append(
            Column(
                column,
                kind.removesuffix("?"),
                not kind.endswith("?"),
                source[0] if source else column,
                words.get(column, column.replace("_", " ")),
                ours == "ours" or spare,
            )
        )
    return EhrTable(
        name,
        tuple(columns),
        said.get("time"),
        tuple((column, table, column) for column, table in said.get("keys", {}).items()),
        tuple(map(tuple, said.get("indexes", ()))),
        said.get("unique"),
        optional,
        said.get("file"),
        (said["parent"][0], said["parent"][1]) if "parent" in said else None,
        said.get("about", ""),
    )


_SAID = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_EVERY = tuple(_table(name, said) for name, said in _SAID.items())
TABLES: tuple[EhrTable, ...] = tuple(t for t in _EVERY if not t.optional)
OPTIONAL_TABLES: tuple[EhrTable, ...] = tuple(t for t in _EVERY if t.optional)
IMAGE_TABLES: tuple[EhrTable, ...] = tuple(t for t in OPTIONAL_TABLES if "cxr" in t.name)
CXR_TABLES: tuple[EhrTable, ...] = tuple(t for t in IMAGE_TABLES if t.name != "tb_cxr")
BY_NAME: Mapping[str, EhrTable] = {t.name: t for t in _EVERY}


def has_graphs(schema: Mapping[str, Sequence[str]]) -> bool:
    """Does a database hold scene graphs as tables?"""
    present = {name.lower() for name in schema}
    return all(table.name in present for table in CXR_TABLES)


def missing(schema: Mapping[str, Sequence[str]]) -> list[str]:
    """What ``schema`` (table to columns) lacks to be an EHR: ``table`` or ``table.column``."""
    have = {t.lower(): {c.lower() for c in cols} for t, cols in schema.items()}
    out: list[str] = []
    for table in TABLES:
        columns = have.get(table.name)
        if columns is None:
            out.append(table.name)
            continue
        wanted = (c.name for c in table.columns if not c.extra)
        out += [f"{table.name}.{name}" for name in wanted if name not in columns]
    return out
