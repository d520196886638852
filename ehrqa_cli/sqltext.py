"""SQL as text and as a tree: the only importer of sqlglot.

Everything is SQLite's dialect, the one EHRSQL's gold queries and our compiler write. sqlglot is
imported inside the functions, because its import alone takes longer than ``ehrqa --help`` may.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import Refused

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

DIALECT = "sqlite"
ONE_SELECT = "ask for data with one SELECT statement"


@dataclass(frozen=True)
class Token:
    """One token; ``text`` is without quotes, ``start`` and ``end`` bound it, quotes included.

    ``kind`` is ``string``, ``number``, ``quoted`` (a quoted identifier) or ``word`` for all else.
    """

    kind: str
    text: str
    start: int
    end: int


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
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
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
