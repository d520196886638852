"""A connection to a SQLite file through which a query can read it and do nothing else."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ehrqa_cli.contracts.backend import took_longer
from ehrqa_cli.contracts.errors import (
    Cancelled,
    DatabaseError,
    DatabaseFault,
    EhrqaError,
    LimitExceeded,
    Refused,
)
from ehrqa_cli.contracts.types import Limits, Row, Scalar
from ehrqa_cli.ehr.backend import file as sqlite_file
from ehrqa_cli.ehr.backend import guard
from ehrqa_cli.ehr.backend.clock import timed

_STEPS = 1000  # virtual machine steps between two looks at how many are left
_TOO_MUCH = re.compile(
    "too (large|many (terms|columns|references)|complex)|stack overflow|too deep", re.I
)
# The file is damaged, gone, locked, or SQLite has no room to work in: no fault of the query.
_FAULTS = frozenset(
    {
        *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR),
        *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
        *(sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL),
    }
)
# What comes out of SQLite; a message with a scrambled name in it cannot be decoded.
ERRORS = (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError, UnicodeDecodeError)
_NO_TABLE = re.compile(r"no such table: (?:main\.)?(.+)")


class GuardedConnection:
    """A connection with SQLite's authorizer, its own limits, and functions in the place of those
    whose single step has a bad worst case."""

    def __init__(self, path: Path) -> None:
        """Open the file at ``path``, which is one of SQLite's. Raises sqlite3's errors, OSError
        and MemoryError."""
        self.path = path
        self.raw = sqlite3.connect(
            sqlite_file.uri(path), uri=True, check_same_thread=False, isolation_level=None
        )
        self._looks = 0  # that are left before Limits.steps are over; below 0 for no such limit
        self._left = False  # does nobody wait any more for what runs?
        try:
            self.raw.text_factory = sqlite_file.decode
            guard.prepare(self.raw)
            self.schema: Mapping[str, Sequence[str]] = sqlite_file.read_schema(self.raw)
            self._authorizer = guard.Authorizer(
                self.schema, sqlite_file.modules(self.raw), sqlite_file.views(self.raw)
            )
            self._functions = guard.TextFunctions()
            self._functions.register(self.raw)
            self.raw.set_authorizer(self._authorizer)
            self.raw.set_progress_handler(self._tick, _STEPS)
        except BaseException:
            self.raw.close()
            raise

    def rows(self, sql: str, limits: Limits) -> tuple[tuple[str, ...], Iterator[Row]]:
        """The columns and rows of one SELECT. Raises Refused, sqlite3's errors, MemoryError,
        OverflowError and UnicodeDecodeError."""
        bound = timed(sql, limits.now)
        self._authorizer.denied = None
        length = guard.bound(self.raw, limits.length, bound.sql)
        self._functions.begin(length, limits.now)
        self._looks = -1 if limits.steps is None else limits.steps // _STEPS + 1
        cursor = self.raw.cursor()
        cursor.execute(bound.sql)
        columns = tuple(d[0] for d in cursor.description or ())
        return bound.columns(columns), _plain(cursor)

    def interrupt(self) -> None:
        """End what runs, from another thread."""
        with suppress(sqlite3.ProgrammingError):  # it has ended and is closed
            self.raw.interrupt()

    def leave(self) -> None:
        """End what runs, and whatever it goes on with: nobody waits for it."""
        self._left = True
        self.interrupt()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self.raw.close()

    @contextmanager
    def unguarded(self) -> Iterator[sqlite3.Connection]:
        """Within, the program's own statements may look at anything; it is still read-only."""
        self.raw.set_authorizer(None)
        try:
            yield self.raw
        finally:
            self.raw.set_authorizer(self._authorizer)

    def _tick(self) -> int:
        self._looks -= 1
        return int(self._looks == 0 or self._left)

    def explained(self, error: BaseException, limits: Limits) -> EhrqaError | None:
        """An error of ``rows`` in words; None for one that is not SQLite's."""
        code = getattr(error, "sqlite_errorcode", None)
        if not isinstance(error, ERRORS):
            return None
        if isinstance(error, sqlite3.Error) and self._looks == 0:
            return took_longer(f"{limits.steps:,} steps")
        if self._functions.refused is not None:
            return self._functions.refused
        if self._authorizer.denied is not None:
            what, hint = self._authorizer.denied
            return Refused(f"{what} is not allowed", hint)
        if isinstance(error, MemoryError):
            return LimitExceeded(
                f"the query needs more than {guard.HEAP_BYTES >> 20} MiB of memory",
                "ask about fewer patients or a shorter time",
            )
        if (
            self._functions.too_long
            or code == sqlite3.SQLITE_TOOBIG
            or isinstance(error, (sqlite3.DataError, OverflowError))
        ):
            return LimitExceeded(
                f"a text in the query is longer than {self._functions.length:,} bytes",
                "ask for less",
            )
        return _told(error, code or 0, str(error), self.path, self.schema)


def _told(
    error: BaseException, code: int, text: str, path: Path, schema: Mapping[str, Sequence[str]]
) -> EhrqaError:
    """What SQLite says of a statement, or of the file."""
    if code == sqlite3.SQLITE_INTERRUPT:
        return Cancelled("the query was interrupted", "run it again when you like")
    if _TOO_MUCH.search(text):
        return LimitExceeded(f"the query is too large: {text}", "ask for less at once")
    if "one statement at a time" in text:
        return Refused("several statements", "send one SELECT at a time")
    if "bindings" in text or "SQL variables" in text or "variable number" in text:
        return Refused("the query has parameters", "write the values into it")
    missing = _NO_TABLE.match(text)
    fault = code & 0xFF in _FAULTS or isinstance(error, UnicodeDecodeError)
    if fault or (missing and missing[1] in schema):
        return DatabaseFault(f"cannot read the database {path}: {text}", damaged(error))
    return DatabaseError(f"SQL error: {text}", "`ehrqa db info` lists tables and columns")


def damaged(error: BaseException) -> str:
    """What to do about a file that cannot be read."""
    if "lock" in str(error):
        return "another program is writing to it; try again later"
    if "full" in str(error):
        return "free some space for temporary files, and try again"
    return "the file may be damaged; put a copy in its place, or import the data again"


def _plain(cursor: sqlite3.Cursor) -> Iterator[Row]:
    try:
        for raw in cursor:
            yield tuple(map(_scalar, raw))
    finally:
        cursor.close()


def _scalar(value: object) -> Scalar:
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, (str, int, float)) else None
