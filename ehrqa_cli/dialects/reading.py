"""SQLite's SQL as a tree in which functions stay as they are written.

sqlglot turns strftime, date and the like into nodes of its own with meanings of many dialects;
here each must keep SQLite's.
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import sqlglot
from sqlglot import expressions as exp
from sqlglot.dialects import SQLite
from sqlglot.errors import SqlglotError

from ehrqa_cli.contracts.errors import Refused
from ehrqa_cli.sqltext import ONE_SELECT

_LISTS = (
    "COUNT SUM AVG MIN MAX ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST NTILE LAG LEAD",
    "FIRST_VALUE LAST_VALUE NTH_VALUE",
)
_KEPT = frozenset(" ".join(_LISTS).split())


class _Plain(SQLite):  # type: ignore[misc]  # made by a metaclass, which mypy cannot see into
    class Parser(SQLite.Parser):  # type: ignore[misc]
        FUNCTIONS: ClassVar[dict[str, Any]] = {
            k: v for k, v in SQLite.Parser.FUNCTIONS.items() if k in _KEPT
        }
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            k: v for k, v in SQLite.Parser.FUNCTION_PARSERS.items() if k == "CAST"
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}


def parse(sql: str) -> exp.Expr:
    """The tree of one SELECT. Raises Refused."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # what it warns of is refused
    try:
        parsed = [tree for tree in sqlglot.parse(sql, dialect=_Plain) if tree is not None]
    except SqlglotError as error:
        raise Refused(
            f"not readable as SQL: {str(error).splitlines()[0][:120]}", ONE_SELECT
        ) from None
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Select | exp.SetOperation | exp.Subquery):
        raise Refused("not one SELECT", ONE_SELECT)
    return parsed[0]
