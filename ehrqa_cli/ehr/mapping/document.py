"""A mapping: which SELECT over another layout's tables gives each table of ours, as one TOML file.

docs/schemas.md describes the file. Its SQL is SQLite's, like all SQL of this program; each piece
is checked here before anything is opened: it must be one value, or tables with conditions, and
call only functions that the guard lets through. What it gives is put in the place of the tables'
names (ehr/mapping/mapped.py), so that it can do no more than a statement of the user's own.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ehrqa_cli import sqltext
from ehrqa_cli.contracts.errors import Refused, UsageError
from ehrqa_cli.ehr.backend.guard import FUNCTIONS
from ehrqa_cli.ehr.schema import BY_NAME

FOLDER = Path(__file__).with_name("mappings")
MOST = 1 << 18  # bytes of a mapping
_HEAD = frozenset({"name", "about", "signature", "text", "as_of", "absent", "notes"})
_TEXTS = ("lower", "as_is")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
# Words before a bracket that call nothing.
_LISTS = (
    "in and or not as from where values exists select over cast on join when then else between",
    "like glob union all intersect except distinct by case filter is using with",
)
_WORDS = frozenset(" ".join(_LISTS).split())
_CLOCK = frozenset({"current_time", "current_date", "current_timestamp"})
# A mapping is made of some hundred pieces, each looked at several times. Statements are not kept:
# they may be long.
reading = lru_cache(maxsize=1024)(sqltext.reading)
_EXAMPLE = "`ehrqa db map --show mimic_iv_raw` prints one that is right"


@dataclass(frozen=True)
class Part:
    """One SELECT of a table: its FROM and WHERE, and an expression for each column it has."""

    source: str
    where: str
    columns: Mapping[str, str]


@dataclass(frozen=True)
class SchemaMap:
    """A mapping that has been read.

    ``tables`` maps our tables to their parts (rows of several parts are put together). ``absent``
    says why a table, or ``table.column``, has no data. ``signature`` are the tables and columns
    (``table.column``) by which a database of this layout is known. ``lower``: text is trimmed and
    put in lower case. ``sha256`` is of the file.
    """

    name: str
    about: str
    notes: str
    signature: tuple[str, ...]
    lower: bool
    as_of: str | None
    absent: Mapping[str, str]
    tables: Mapping[str, tuple[Part, ...]]
    sha256: str
    text: str


def shipped() -> tuple[str, ...]:
    """The names of the mappings that come with the program."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def load(named: str) -> SchemaMap:
    """A mapping by name, or by the path of its file. Raises UsageError naming what is wrong."""
    if named in shipped():
        return read(FOLDER / f"{named}.toml")
    path = Path(named).expanduser()
    if path.suffix != ".toml" and not path.is_file():
        near = difflib.get_close_matches(named, shipped(), 1)
        hint = f"did you mean {near[0]}?" if near else f"it knows {', '.join(shipped())}"
        raise UsageError(f"there is no mapping '{named}'", f"{hint}; a file's name ends in .toml")
    return read(path)


def read(path: Path) -> SchemaMap:
    """The mapping in the file at ``path``. Raises UsageError naming what is wrong."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST + 1)
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        what = error.strerror or type(error).__name__
        raise UsageError(f"cannot read {path}: {what}", "check the path") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8", "save the file as UTF-8") from error
    if len(raw) > MOST:
        raise UsageError(f"{path} is too large for a mapping", "name a TOML file of a mapping")
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        hint = "mend the line; SQL stands in quotes"
        raise UsageError(f"{path}: not valid TOML: {error}", hint) from error
    return _Reader(path).mapping(data, text, hashlib.sha256(raw).hexdigest())


class _Reader:
    """Reads one file; every complaint names it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def mapping(self, data: Mapping[str, Any], text: str, sha256: str) -> SchemaMap:
        for key in data:
            if key not in _HEAD and key not in BY_NAME:
                near = difflib.get_close_matches(key, [*BY_NAME, *_HEAD], 1)
                hint = f"did you mean {near[0]}?" if near else "tables have EHRSQL-2024's names"
                raise self._wrong(f"unknown table or key '{key}'", hint)
        name = self._text(data, "name", "name")
        if not _NAME.fullmatch(name):
            raise self._wrong("name must be lower-case letters, digits and _", 'name = "ward_7"')
        style = self._text(data, "text", "text", "lower")
        if style not in _TEXTS:
            raise self._wrong(f"text is '{style}'", 'write text = "lower" or text = "as_is"')
        as_of = self._text(data, "as_of", "as_of", "")
        if as_of and not _TIME.fullmatch(as_of):
            raise self._wrong(f"as_of is '{as_of}'", 'write as_of = "2105-12-31 23:59:00"')
        absent = data.get("absent", {})
        tables = {
            table: tuple(self._parts(table, data[table], absent))
            for table in BY_NAME
            if table in data
        }
        for table in ("patients", "admissions"):
            if table not in tables:
                raise self._wrong(f"it has no [{table}]", _EXAMPLE)
        return SchemaMap(
            name=name,
            about=self._text(data, "about", "about", ""),
            notes=self._text(data, "notes", "notes", "").strip(),
            signature=self._signature(data.get("signature", [])),
            lower=style == "lower",
            as_of=as_of or None,
            absent=self._absent(absent, tables),
            tables=tables,
            sha256=sha256,
            text=text,
        )

    def _parts(self, table: str, given: Any, absent: Any) -> Iterator[Part]:
        several = given if isinstance(given, list) else [given]
        for number, part in enumerate(several, 1):
            where = f"{table} (part {number})" if len(several) > 1 else table
            if not isinstance(part, dict):
                raise self._wrong(f"{where} is no table of keys", f"write [{table}]")
            for key in part:
                if key not in ("from", "where", "same", "columns"):
                    raise self._wrong(
                        f"{where}: unknown key '{key}'", "it takes from, where, same and columns"
                    )
            source = self._source(where, self._text(part, "from", f"{where}.from"))
            columns = part.get("columns", {})
            if isinstance(columns, dict) and (of := self._same(where, part, source)) is not None:
                left = [c for c in BY_NAME[table].names() if f"{table}.{c}" not in absent]
                columns = {**{c: f"{of}{c}" for c in left}, **columns}
            if not isinstance(columns, dict) or not columns:
                raise self._wrong(f"{where} has no columns", f"write [{table}.columns]")
            yield Part(
                source,
                self._condition(where, self._text(part, "where", f"{where}.where", "")),
                {c: self._value(table, where, c, sql) for c, sql in columns.items()},
            )

    def _same(self, where: str, part: Mapping[str, Any], source: str) -> str | None:
        """What stands before the columns that have our names; None where none are taken so."""
        same = part.get("same")
        if same is None or same is True:
            return None if same is None else ""
        called = {r.called for r in reading(f"SELECT 1 FROM {source}").references}
        if same not in called:
            hint = f"write same = true, or one of {', '.join(sorted(called))}"
            raise self._wrong(f"{where}.same names no table of from", hint)
        return f"{same}."

    def _source(self, where: str, sql: str) -> str:
        self._piece(f"{where}.from", sql)
        try:
            extra = sqltext.clauses(f"SELECT 1 FROM {sql}") - {"from", "joins"}
            reading(f"SELECT 1 FROM {sql}")
        except Refused as error:
            raise self._wrong(f"{where}.from: {error.message}", error.hint) from error
        if extra:
            hint = "put conditions into where, and groups into a query in brackets"
            raise self._wrong(f"{where}.from has {', '.join(sorted(extra))}", hint)
        return sql

    def _condition(self, where: str, sql: str) -> str:
        return self._expression(f"{where}.where", sql) if sql else ""

    def _value(self, table: str, where: str, column: str, sql: Any) -> str:
        known = BY_NAME[table].names()
        if column not in known:
            near = difflib.get_close_matches(column, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise self._wrong(f"{table} has no column '{column}'", hint)
        if not isinstance(sql, str) or not sql.strip():
            hint = "leave the column out if there is none"
            raise self._wrong(f"{where}.{column} must be SQL in quotes", hint)
        return self._expression(f"{where}.{column}", sql.strip())

    def _expression(self, where: str, sql: str) -> str:
        self._piece(where, sql)
        try:
            sqltext.expression(sql)
            reading(f"SELECT {sql}")
        except Refused as error:
            raise self._wrong(f"{where}: {error.message}", error.hint) from error
        return sql

    def _piece(self, where: str, sql: str) -> None:
        """What holds for all SQL in the file."""
        if "--" in sql or "/*" in sql:
            raise self._wrong(f"{where} holds a comment", "write comments as TOML's, after #")
        try:
            found = sqltext.tokens(sql)
        except Refused as error:
            raise self._wrong(f"{where}: {error.message}", error.hint) from error
        for token, after in zip(found, [*found[1:], None], strict=True):
            word = token.text.lower()
            if token.kind != "word":
                continue
            if word in _CLOCK:
                raise self._wrong(f"{where} reads the computer's clock ({word})", _EXAMPLE)
            calls = after is not None and after.text == "(" and _NAME.fullmatch(word)
            if calls and word not in FUNCTIONS | _WORDS:
                hint = "use SQLite's ordinary functions only"
                raise self._wrong(f"{where} calls {word}, which is not allowed", hint)

    def _signature(self, given: Any) -> tuple[str, ...]:
        if not isinstance(given, list) or not all(isinstance(s, str) for s in given):
            hint = 'write signature = ["person.person_id"]'
            raise self._wrong("signature must be a list of texts", hint)
        return tuple(s.lower() for s in given)

    def _absent(self, given: Any, tables: Mapping[str, tuple[Part, ...]]) -> dict[str, str]:
        if not isinstance(given, dict):
            raise self._wrong("absent must be a table of texts", 'cost = "it has no prices"')
        for name, why in given.items():
            table, _, column = name.partition(".")
            if table not in BY_NAME or (column and column not in BY_NAME[table].names()):
                raise self._wrong(f"absent names '{name}', which is none of our tables", _EXAMPLE)
            if not isinstance(why, str):
                raise self._wrong(f"absent.{name} must be text", 'cost = "it has no prices"')
            parts = tables.get(table, ())
            if (parts and not column) or any(column in part.columns for part in parts):
                raise self._wrong(f"{name} is both mapped and absent", "take one of them out")
        return dict(given)

    def _text(self, data: Mapping[str, Any], key: str, where: str, default: str = "\0") -> str:
        value = data.get(key, default)
        if not isinstance(value, str) or value == "\0":
            raise self._wrong(f"{where} must be text in quotes", _EXAMPLE)
        return value

    def _wrong(self, what: str, hint: str) -> UsageError:
        return UsageError(f"{self.path}: {what}", hint)
