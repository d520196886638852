"""What a query may do in SQLite: an allow-list, and bounds on what it may use.

Measured on SQLite: opening with ``mode=ro`` still lets ATTACH create files and VACUUM INTO copy
the database, and PRAGMA can switch ``query_only`` off. So every action that is not listed here
is denied when a statement is prepared, and SQLite's own limits bound the rest.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.dialects import times
from ehrqa_cli.ehr.backend import clock as sqlite_clock

# One connection's working memory, in bytes; SQLite counts it for the whole process.
HEAP_BYTES = 256 << 20
# Longer needles and character sets make SQLite's own instr and trim quadratic in one step,
# which no time limit can end.
MAX_SET = 1000

_LISTS = (
    "count sum total avg min max group_concat",
    "row_number rank dense_rank percent_rank cume_dist ntile lag lead",
    "first_value last_value nth_value",
    "abs coalesce ifnull nullif iif length lower upper trim ltrim rtrim substr substring instr",
    "concat concat_ws string_agg octet_length",
    "replace like glob printf format typeof round sign hex quote char unicode likely unlikely",
    "date time datetime julianday strftime unixepoch timediff",
    "ceil ceiling floor trunc sqrt exp ln log log10 log2 pow power mod pi",
)
FUNCTIONS = frozenset(" ".join(_LISTS).split())
_OURS = sqlite_clock.FUNCTIONS
_CLOCK = frozenset({"current_time", "current_date", "current_timestamp"})
_VIRTUAL = frozenset({"dbstat", "sqlite_dbpage", "sqlite_stmt", "bytecode", "tables_used"})
_COMMENT = re.compile(r"\s+|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)", re.S)

_ACTIONS: Mapping[int, str] = {
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_INSERT: "INSERT",
    sqlite3.SQLITE_UPDATE: "UPDATE",
    sqlite3.SQLITE_DELETE: "DELETE",
    sqlite3.SQLITE_TRANSACTION: "a transaction",
    sqlite3.SQLITE_SAVEPOINT: "a savepoint",
}
_CALL = re.compile(r"[\w\"`\]]\s*\(|\|\|")
_WORK = 1_000_000_000  # bytes that all calls of a statement may look at for one row
_SHORT = 10_000  # bytes that a text may have in any statement
_BOUNDS: Mapping[int, int] = {
    sqlite3.SQLITE_LIMIT_COLUMN: 500,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 200,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 1_000_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_NO_VIEW = "ask for what it shows with a SELECT of your own"
_ONE_SELECT = "ask with one SELECT; the database is only ever read"


def check_statement(sql: str) -> None:
    """Raise Refused unless ``sql`` begins as a SELECT (or WITH) and is text SQLite can take."""
    if "\x00" in sql:
        raise Refused("the query contains a NUL character", "remove it")
    try:
        sql.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("the query is not valid Unicode text", "retype it") from None
    position = 0
    while match := _COMMENT.match(sql, position):
        position = match.end()
    word = re.match(r"\w*", sql[position : position + 20])
    keyword = word.group().upper() if word else ""
    if keyword in ("SELECT", "WITH"):
        return
    if not sql[position:].strip():
        raise Refused("the query is empty", _ONE_SELECT)
    raise Refused(f"{keyword or 'this'} is not a SELECT", _ONE_SELECT)


class Authorizer:
    """SQLite's authorizer callback: allows reading ``schema`` and pure functions, denies the rest.

    ``denied`` says, after a refusal, what was denied: (what, hint).
    """

    def __init__(
        self,
        schema: Mapping[str, Iterable[str]],
        modules: Iterable[str] = (),
        views: Mapping[str, str] | None = None,
    ) -> None:
        self._columns = {t.lower(): {c.lower() for c in cols} for t, cols in schema.items()}
        self._virtual = _VIRTUAL | {m.lower() for m in modules}
        self._views = {name.lower(): sql for name, sql in (views or {}).items()}
        self.denied: tuple[str, str] | None = None

    def __call__(
        self, action: int, one: str | None, two: str | None, base: str | None, by: str | None
    ) -> int:
        """Called by SQLite while it prepares a statement."""
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            return self._read((one or "").lower(), (two or "").lower(), base)
        if action == sqlite3.SQLITE_FUNCTION:
            return self._function((two or "").lower(), (by or "").lower())
        if action == sqlite3.SQLITE_UPDATE and (one or "").lower() == "sqlite_master":
            # how SQLite asks before it sets up a virtual table, such as pragma_table_info
            return self._deny("a table function", "only the tables of the EHR can be read")
        return self._deny(_ACTIONS.get(action, "changing the database"), _ONE_SELECT)

    def _read(self, table: str, column: str, base: str | None) -> int:
        columns = self._columns.get(table)
        if columns is not None:
            # "" is a read of the table as such, as in count(*); rowid is asked for by its name
            if column in columns or column in ("", "rowid"):
                return sqlite3.SQLITE_OK
        elif column == "" and base is None and not self._internal(table):
            return sqlite3.SQLITE_OK  # a CTE: SQLite asks for those by name, without a database
        return self._deny(f"reading {table}", "only the tables of the EHR can be read")

    def _internal(self, table: str) -> bool:
        return table in self._virtual or table.startswith(("sqlite_", "pragma_", "ehrqa_"))

    def _function(self, name: str, view: str) -> int:
        # What a view calls stands in the database, where no time can be put to the test.
        if name in sqlite_clock.TIMES and not sqlite_clock.is_plain(self._views.get(view, "")):
            return self._deny(f"the view {view} (it may look at the computer's clock)", _NO_VIEW)
        if name in FUNCTIONS or name in _OURS:
            return sqlite3.SQLITE_OK
        if name in _CLOCK:
            hint = "write the time as a literal, 'YYYY-MM-DD HH:MM:SS', or give --as-of"
            return self._deny(f"{name} (the computer's clock)", hint)
        return self._deny(f"the function {name}", "use ordinary SQL functions only")

    def _deny(self, what: str, hint: str) -> int:
        if self.denied is None:
            self.denied = (what, hint)
        return sqlite3.SQLITE_DENY


class TooLong(ValueError):
    """A text function would make or search a text that is too long."""


def _instr(text: object, part: object) -> int | None:
    if text is None or part is None:
        return None
    if isinstance(text, bytes) and isinstance(part, bytes):
        return text.find(part) + 1
    return _as_text(text).find(_as_text(part)) + 1


def _as_text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else str(value)


_CONVERSION = re.compile(r"%([-+ #!,.*l0-9]*)(.?)", re.S)
_LEADING = re.compile(r"\s*[-+]?([0-9]*)")


def _printed(values: tuple[object, ...]) -> int:
    """How long the widths and precisions of printf's arguments make its text at least; SQLite
    makes the text of ``%.1000000000c`` whole, whatever its limits."""
    rest = list(values[:0:-1])
    total = 0
    for found in _CONVERSION.finditer(_as_text(values[0]) if values else ""):
        for number in re.findall(r"[0-9]+|[*]", found[1]):
            given = _as_text(rest.pop() if rest else 0) if number == "*" else number
            digits = _LEADING.match(given)
            total += int((digits[1] if digits else "")[:20] or 0)
        if found[2] != "%" and rest:
            rest.pop()
    return total


class TextFunctions:
    """Replacements for SQLite's own functions whose single step has a bad worst case (instr,
    replace, trim, printf), and the two that keep the clock out (sqlite_clock).

    ``length`` bounds what they make, in bytes; ``now`` is ``Limits.now``.
    """

    def __init__(self) -> None:
        self.length = 1_000_000
        self.now: str | None = None
        self.too_long = False
        self.refused: Refused | None = None
        self._plain: sqlite3.Connection | None = None

    def begin(self, length: int, now: str | None) -> None:
        """Forget the last query."""
        self.length, self.now = length, now
        self.too_long, self.refused = False, None

    def register(self, connection: sqlite3.Connection) -> None:
        """Put them in the place of SQLite's own."""
        make = connection.create_function
        make("instr", 2, _instr, deterministic=True)
        make("replace", 3, self._replace, deterministic=True)
        make("trim", 2, lambda t, c: self._strip(t, c, str.strip), deterministic=True)
        make("ltrim", 2, lambda t, c: self._strip(t, c, str.lstrip), deterministic=True)
        make("rtrim", 2, lambda t, c: self._strip(t, c, str.rstrip), deterministic=True)
        make("printf", -1, self._printf, deterministic=True)
        make("format", -1, self._printf, deterministic=True)
        make(sqlite_clock.MOMENT, 1, self._moment, deterministic=True)
        make(sqlite_clock.MODIFIER, 1, self._modifier, deterministic=True)

    def _moment(self, value: object) -> Any:
        try:
            return times.fixed(value, self.now)
        except Refused as error:
            self.refused = error
            raise

    def _modifier(self, value: object) -> Any:
        try:
            return times.zoneless(value)
        except Refused as error:
            self.refused = error
            raise

    def _printf(self, *values: Any) -> Any:
        if _printed(values) > self.length:
            self.too_long = True
            raise TooLong
        if self._plain is None:
            self._plain = sqlite3.connect(":memory:", check_same_thread=False)
        self._plain.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self.length)
        sql = f"SELECT printf({','.join('?' * len(values))})"
        return self._plain.execute(sql, values).fetchone()[0]

    def _replace(self, text: object, old: object, new: object) -> str | None:
        if text is None or old is None or new is None:
            return None
        whole, part, other = _as_text(text), _as_text(old), _as_text(new)
        if not part:
            return whole
        if len(whole) + whole.count(part) * max(0, len(other) - len(part)) > self.length:
            self.too_long = True
            raise TooLong
        return whole.replace(part, other)

    def _strip(self, text: object, chars: object, how: object) -> str | None:
        if text is None or chars is None:
            return None
        charset = _as_text(chars)
        if len(charset) > MAX_SET:
            self.too_long = True
            raise TooLong
        return how(_as_text(text), charset) if callable(how) and charset else _as_text(text)


def bound(connection: sqlite3.Connection, length: int, sql: str) -> int:
    """Set SQLite's own limits for ``sql``: ``length`` bounds the statement and any text or row in
    it, in bytes, less where it has so many calls that texts of that length took minutes. Gives
    the length that a text may have."""
    for limit, value in _BOUNDS.items():
        connection.setlimit(limit, value)
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, max(length, len(sql.encode())))
    calls = sum(1 for _ in _CALL.finditer(sql))
    length = min(length, max(_SHORT, _WORK // max(calls, 1)))
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length)
    return length


def prepare(connection: sqlite3.Connection) -> None:
    """PRAGMAs of a connection that only reads; must run before the authorizer is installed."""
    for pragma in (
        "query_only=ON",
        "trusted_schema=OFF",
        "cell_size_check=ON",
        "temp_store=MEMORY",  # no query may leave a file, not even an unlinked one
        "cache_size=-32000",
        f"hard_heap_limit={HEAP_BYTES}",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()
