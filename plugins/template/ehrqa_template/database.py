"""What holds an EHR: here a folder of CSV files, read into memory, where yours asks a server."""

from __future__ import annotations

import csv
import hashlib
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ehrqa_cli.contracts.backend import Backend
from ehrqa_cli.contracts.dialect import NUMBER, Dialect
from ehrqa_cli.contracts.errors import DatabaseError, EhrqaError, LimitExceeded
from ehrqa_cli.contracts.sample import SampleTable
from ehrqa_cli.contracts.types import Limits, Row
from ehrqa_template.dialect import AS_REAL, FUNCTIONS, Words

_TYPES = {"integer": "INTEGER", "real": "REAL"}
_NUMBER = re.compile(NUMBER.removesuffix("?") + r"?\s*")


class Folder(Backend[sqlite3.Connection]):
    """Users choose it with ``--db template:FOLDER``: files TABLE.csv, whose first line has
    NAME:KIND for each column (integer, real, timestamp, text). An empty cell is NULL.

    ``Backend`` keeps the limits: a database only makes connections that can do nothing but read
    (``ready``), gives rows (``rows``), and ends what runs (``interrupt``).
    """

    dialect: ClassVar[str] = "template"
    words: ClassVar[type[Dialect] | None] = Words  # leave it out where you take SQLite's SQL
    ready_counts: ClassVar[bool] = False  # the time of reading the files is not the question's

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._types = {path.stem: _header(path) for path in sorted(folder.glob("*.csv"))}
        if not self._types:
            raise DatabaseError(f"{folder} holds no CSV files", "name a folder of TABLE.csv")

    @classmethod
    def open(cls, target: str) -> Folder:
        """Open what ``--db`` says, ``template:FOLDER``. Raises DatabaseError."""
        return cls(Path(target.partition(":")[2]))

    def schema(self) -> Mapping[str, Sequence[str]]:
        """Table name to column names; what begins with ``ehrqa_`` is no table of the EHR."""
        return {table: tuple(kinds) for table, kinds in self.types().items()}

    def types(self) -> Mapping[str, Mapping[str, str]]:
        """Table to column to what it holds."""
        return {t: kinds for t, kinds in self._types.items() if not t.startswith("ehrqa_")}

    def fingerprint(self) -> str:
        """It changes when the data do."""
        digest = hashlib.sha256()
        for path in sorted(self._folder.glob("*.csv")):
            digest.update(path.name.encode() + path.read_bytes())
        return f"csv:{digest.hexdigest()[:16]}"

    @classmethod
    def sample(cls, folder: Path, tables: Sequence[SampleTable]) -> str:
        """A folder of ``tables``, for the contract suite."""
        made = folder / "sample"
        made.mkdir()
        for table in tables:
            with (made / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(f"{name}:{kind}" for name, kind in table.columns)
                writer.writerows(table.rows)
        return f"{cls.dialect}:{made}"

    # --- what Backend asks for

    def ready(self, held: sqlite3.Connection | None) -> sqlite3.Connection:
        """The connection of the last statement, or a new one that can only read."""
        if held is not None:
            return held
        made = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        try:
            made.create_function(AS_REAL, 1, _as_real, deterministic=True)
            for table, kinds in self._types.items():
                _read(made, self._folder / f"{table}.csv", kinds)
            made.execute("PRAGMA query_only = ON")
            made.set_authorizer(self._allowed)
        except BaseException:
            made.close()
            raise
        return made

    def rows(
        self, held: sqlite3.Connection, sql: str, limits: Limits
    ) -> tuple[Sequence[str], Iterable[Row]]:
        """One statement's columns and rows."""
        held.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(limits.length, len(sql.encode())))
        cursor = held.execute(sql)
        return [part[0] for part in cursor.description or ()], cursor

    def interrupt(self, held: sqlite3.Connection) -> None:
        """End what runs; it is repeated until that has ended."""
        held.interrupt()

    def release(self, held: sqlite3.Connection) -> None:
        """Close it."""
        held.close()

    def explained(
        self, error: BaseException, held: sqlite3.Connection | None, limits: Limits
    ) -> EhrqaError | None:
        """Your engine's errors as one line with a hint; the limits' are told already."""
        del held, limits
        if isinstance(error, sqlite3.DataError):
            return LimitExceeded("a text in the query is too long", "ask for less at once")
        if isinstance(error, (OSError, UnicodeError, csv.Error)):
            return DatabaseError(f"cannot read {self._folder}: {error}", "is it CSV in UTF-8?")
        if isinstance(error, (sqlite3.Error, sqlite3.Warning)):
            return DatabaseError(f"SQL error: {error}", "`ehrqa db info` lists tables and columns")
        return None

    def _allowed(
        self, action: int, one: str | None, two: str | None, base: str | None, by: str | None
    ) -> int:
        """The engine's own lock: what is not allowed by name is refused."""
        del by
        reads = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
        if action == sqlite3.SQLITE_READ:
            shared = not two and base is None  # a name that WITH gives
            own = str(one).startswith(("sqlite_", "pragma_"))
            reads = one in self.types() or (shared and not own)
        if action == sqlite3.SQLITE_FUNCTION:
            reads = str(two).lower() in FUNCTIONS
        return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY


def _header(path: Path) -> dict[str, str]:
    """Column to kind; empty where the first line does not say. Raises DatabaseError."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            cells = [cell.partition(":") for cell in next(csv.reader(file), [])]
    except (OSError, UnicodeError, csv.Error) as error:
        raise DatabaseError(f"cannot read {path}: {error}", "is it CSV in UTF-8?") from error
    return {name: kind for name, _, kind in cells if kind}


def _read(connection: sqlite3.Connection, path: Path, kinds: Mapping[str, str]) -> None:
    """Make a table of a file. Raises sqlite3's errors."""
    name, *names = (part.replace('"', '""') for part in (path.stem, *kinds))
    types = [_TYPES.get(kind, "TEXT") for kind in kinds.values()]
    columns = ", ".join(f'"{c}" {type_}' for c, type_ in zip(names, types, strict=True))
    connection.execute(f'CREATE TABLE "{name}" ({columns})')
    marks = ", ".join("?" * len(kinds))
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        values = ([cell or None for cell in row] for row in rows)
        connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)


def _as_real(text: object) -> float | None:
    """A text as a number, NULL where it is none."""
    return float(text) if isinstance(text, str) and _NUMBER.fullmatch(text) else None
