"""SQL as text and as a tree: the only importer of sqlglot.

Everything is SQLite's dialect, the one EHRSQL's gold queries and our compiler write. sqlglot is
imported inside the functions, because its import alone takes longer than ``ehrqa --help`` may.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import LimitExceeded, Refused

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

DIALECT = "sqlite"
ONE_SELECT = "ask for data with one SELECT statement"
_OURS = "name the tables of the EHR by their names alone"


_A_SECOND = 50_000  # words that are read in a second, on a slow computer
_WORD = re.compile(r"\w+|[^\w\s]")


def check_size(sql: str, seconds: float) -> None:
    """Raise LimitExceeded for a statement that would take longer to read than ``seconds``."""
    if len(sql) > _A_SECOND * seconds and sum(1 for _ in _WORD.finditer(sql)) > _A_SECOND * seconds:
        raise LimitExceeded("the query is too long to be read in its time", "ask for less at once")


@dataclass(frozen=True)
class Token:
    """One token; ``text`` is without quotes, ``start`` and ``end`` bound it, quotes included.

    ``kind`` is ``string``, ``number``, ``quoted`` (a quoted identifier) or ``word`` for all else.
    """

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Reference:
    """A table that a statement reads: its lower-case name, where that stands, whether the
    statement gives it another name, and the name that its columns go by (lower case)."""

    table: str
    start: int
    end: int
    aliased: bool
    called: str


@dataclass(frozen=True)
class Reading:
    """What a statement reads.

    ``names`` are all names in it, lower case, columns among them. ``columns`` are (qualifier or "",
    column). ``star``: it asks for whole rows. ``shared`` are the names that WITH gives.
    """

    references: tuple[Reference, ...]
    names: frozenset[str]
    columns: frozenset[tuple[str, str]]
    star: bool
    shared: frozenset[str]


def reading(sql: str) -> Reading:
    """The tables and columns of one SELECT, and where the tables stand. Raises Refused, also for
    ways to name a table whose place cannot be told."""
    from sqlglot import expressions as exp

    tree = parse_select(sql)
    shared = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found: list[Reference] = []
    for table in tree.find_all(exp.Table):
        name = table.name.lower()
        if not isinstance(table.this, exp.Identifier) or table.db:
            raise Refused(f"reading {table.sql(DIALECT)} is not allowed", _OURS)
        if name in shared and _within(table, name):
            continue
        start, end = table.this.meta.get("start"), table.this.meta.get("end")
        if start is None or end is None or sql[start : end + 1].strip("\"'`[]").lower() != name:
            raise Refused(f"reading {name} in this way is not allowed", _OURS)
        called = (table.alias or name).lower()
        found.append(Reference(name, start, end + 1, bool(table.alias), called))
    for part in tree.find_all(exp.In):
        if part.args.get("field") is not None:
            raise Refused("a table after IN is not allowed", "write IN ( SELECT ... )")
    every = {name.name.lower() for name in tree.find_all(exp.Identifier)}
    columns = {
        (column.table.lower(), column.name.lower())
        for column in tree.find_all(exp.Column)
        if not isinstance(column.this, exp.Star)
    }
    star = any(not isinstance(s.parent, exp.Count) for s in tree.find_all(exp.Star)) or any(
        join.args.get("method") for join in tree.find_all(exp.Join)
    )
    return Reading(tuple(found), frozenset(every), frozenset(columns), star, frozenset(shared))


def expression(text: str) -> Expression:
    """The tree of one value, such as ``lower(x)``. Raises Refused for anything else."""
    from sqlglot import expressions as exp

    tree = parse_select(f"SELECT {text} AS value")
    alone = {key for key, part in tree.args.items() if part} <= {"expressions", "kind"}
    if alone and len(tree.expressions) == 1 and tree.expressions[0].alias == "value":
        one: Expression = tree.expressions[0].this
        if not isinstance(one, exp.Star):
            return one
    raise Refused(f"'{text}' is not one value", "write a column or an expression of columns")


def clauses(sql: str) -> set[str]:
    """The clauses of one SELECT beside what it selects: from, joins, where, group, ... Raises
    Refused."""
    tree = parse_select(sql)
    found = {key.strip("_") for key, part in tree.args.items() if part}
    return found - {"expressions", "kind", "hint"}


@lru_cache(maxsize=1024)
def given_names(sql: str) -> frozenset[str]:
    """Lower-case names that one SELECT itself gives to columns. Raises Refused."""
    from sqlglot import expressions as exp

    tree = parse_select(sql)
    found = {part.alias.lower() for part in tree.find_all(exp.Alias)}
    for alias in tree.find_all(exp.TableAlias):
        found |= {column.name.lower() for column in alias.columns}
    for values in tree.find_all(exp.Values):
        widest = max((len(row.expressions) for row in values.expressions), default=0)
        found |= {f"column{i + 1}" for i in range(max(widest, 1))}
    return frozenset(found)


@lru_cache(maxsize=1024)
def is_column(text: str) -> bool:
    """Is a value nothing but a column? Raises Refused."""
    from sqlglot import expressions as exp

    tree = expression(text)
    return isinstance(tree, exp.Column) and isinstance(tree.this, exp.Identifier)


def _within(table: Expression, name: str) -> bool:
    """Is a table of this name one of the WITH of a query that ``table`` stands in?"""
    node = table.parent
    while node is not None:
        with_ = node.args.get("with_")
        if with_ is not None and any(c.alias.lower() == name for c in with_.expressions):
            return True
        node = node.parent
    return False


def tokens(sql: str) -> list[Token]:
    """The tokens of ``sql``, comments left out. Raises Refused where SQLite could not read it."""
    from sqlglot import TokenType
    from sqlglot.dialects import SQLite
    from sqlglot.errors import SqlglotError

    kinds = {
        TokenType.STRING: "string",
        TokenType.NUMBER: "number",
        TokenType.IDENTIFIER: "quoted",
        TokenType.HEX_STRING: "hex",
    }
    try:
        found = SQLite().tokenize(sql)
    except SqlglotError as error:
        raise Refused(f"not readable as SQL: {_first_line(error)}", ONE_SELECT) from None
    return [Token(kinds.get(t.token_type, "word"), t.text, t.start, t.end + 1) for t in found]


def parse_statements(sql: str) -> list[Expression]:
    """Every statement of ``sql`` as a tree. Raises Refused for what cannot be parsed."""
    import sqlglot
    from sqlglot.errors import SqlglotError
    from sqlglot.expressions import Expression

    # It logs what it falls back on; the guard refuses those statements anyway.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        parsed = sqlglot.parse(sql, dialect=DIALECT)
    except SqlglotError as error:
        raise Refused(f"not readable as SQL: {_first_line(error)}", ONE_SELECT) from None
    except RecursionError:
        raise Refused("the SQL is nested too deeply", "write it with fewer brackets") from None
    return [statement for statement in parsed if isinstance(statement, Expression)]


def parse_select(sql: str) -> Expression:
    """The tree of exactly one SELECT (with WITH, UNION and the like). Raises Refused."""
    from sqlglot import expressions as exp

    statements = parse_statements(sql)
    if len(statements) != 1:
        raise Refused(f"{len(statements)} statements instead of one", ONE_SELECT)
    (tree,) = statements
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise Refused(f"{_statement_name(sql)} is not a SELECT", ONE_SELECT)
    return tree


def forbidden_nodes(tree: Expression) -> list[str]:
    """Names of the parts of a tree that write or run a command (a SELECT has none)."""
    from sqlglot import expressions as exp

    bad = (exp.DML, exp.DDL, exp.Command, exp.Pragma, exp.Attach, exp.Detach, exp.Into, exp.Drop)
    queries = (exp.Query, exp.With, exp.CTE)
    return [
        type(node).__name__.lower()
        for node in tree.walk()
        if isinstance(node, bad) and not isinstance(node, queries)
    ]


def table_names(tree: Expression) -> set[str]:
    """Lower-cased names of every table and table-valued function that a tree reads."""
    from sqlglot import expressions as exp

    names: set[str] = set()
    for table in tree.find_all(exp.Table):
        function = table.this if isinstance(table.this, exp.Func) else None
        names.add(_function_name(function) if function is not None else table.name.lower())
        if table.db:
            names.add(f"{table.db.lower()}.")
    return names


def function_names(tree: Expression) -> set[str]:
    """Lower-cased names of every function that a tree calls."""
    from sqlglot import expressions as exp

    return {_function_name(call) for call in tree.find_all(exp.Func)}


def pretty(sql: str) -> str:
    """``sql`` over several lines for people; unchanged if it cannot be parsed."""
    try:
        return parse_select(sql).sql(dialect=DIALECT, pretty=True)
    except Refused:
        return sql


def replace_spans(sql: str, spans: Iterator[tuple[int, int, str]]) -> str:
    """``sql`` with each (start, end, text) span exchanged and every other byte as it was."""
    pieces: list[str] = []
    done = 0
    for start, end, text in spans:
        pieces += [sql[done:start], text]
        done = end
    return "".join([*pieces, sql[done:]])


def quote(value: str) -> str:
    """``value`` as an SQL string literal."""
    return "'" + value.replace("'", "''") + "'"


def _function_name(call: object) -> str:
    from sqlglot import expressions as exp

    if isinstance(call, exp.Anonymous):
        return str(call.name).lower()
    return str(call.sql_name()).lower() if isinstance(call, exp.Func) else ""


def _statement_name(sql: str) -> str:
    words = sql.split(None, 1)
    return words[0].upper()[:20] if words else "nothing"


def _first_line(error: Exception) -> str:
    # sqlglot underlines the place with terminal codes; a one-line error has no room for that.
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text.replace("\x1b[4m", "").replace("\x1b[0m", "")[:160].rstrip(".")
