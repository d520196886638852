"""What a query may do: one SELECT of the EHR's tables, with functions that only calculate.

DuckDB's own settings are the real barrier (read-only, no files, no extensions, locked). This one
also keeps out what those let through: its catalog, its settings, and functions that run a text as
a query. DuckDB itself parses the statement, so that what is looked at is what will run.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

import duckdb

from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded, Refused

_ONE_SELECT = "ask with one SELECT; the database is only ever read"
_CLOCK_HINT = "write the time as a literal, 'YYYY-MM-DD HH:MM:SS', or give --as-of"
# Functions, and operators, which are functions to DuckDB: what dialect.py writes, and
# others that only calculate, in a time that their arguments' lengths bound.
_LISTS = (
    "+ - * / // % ** ^ || ~~ !~~ ~~* !~~* ~~~ like_escape ilike_escape not_like_escape",
    "not_ilike_escape",
    "count count_star sum fsum kahan_sum sumkahan avg favg mean min max first last any_value",
    "arg_min arg_max string_agg group_concat list median mode quantile_cont quantile_disc",
    "stddev stddev_pop stddev_samp variance var_pop var_samp corr bool_and bool_or",
    "approx_count_distinct",
    "row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value",
    "nth_value",
    "abs sign round trunc floor ceil ceiling sqrt cbrt exp ln log log10 log2 pow power pi mod",
    "isnan isinf isfinite",
    "coalesce ifnull nullif greatest least",
    "length len strlen lower upper trim ltrim rtrim replace substr substring left right strpos",
    "instr position contains starts_with ends_with prefix suffix concat concat_ws chr ascii",
    "unicode split_part reverse printf regexp_matches regexp_extract regexp_replace",
    "regexp_full_match",
    "strftime strptime try_strptime date_trunc date_part date_diff datediff epoch epoch_ms",
    "year month day hour minute second make_date make_timestamp last_day dayofweek dayofyear week",
    "isodow to_years to_months to_days to_hours to_minutes to_seconds to_milliseconds",
    "to_microseconds to_weeks",
)
FUNCTIONS = frozenset(" ".join(_LISTS).split())
# Names that need no brackets: DuckDB takes them for these where there is no such column.
_BARE = ("current_", "local", "session_user", "user")
_A_SECOND = 20_000_000  # bytes of DuckDB's own writing of a statement that are read in a second
_TOO_LONG = LimitExceeded("the query takes too long to read", "ask for less at once")
_PRINTF = "%.9f"  # a width could make a text of any length in one step


class Guard:
    """Checks statements against the tables of one database."""

    def __init__(self, tables: Mapping[str, Iterable[str]]) -> None:
        self._tables = {table.lower() for table in tables}
        self._columns = {name.lower() for columns in tables.values() for name in columns}

    def check(
        self, sql: str, connection: duckdb.DuckDBPyConnection, deadline: float = math.inf
    ) -> None:
        """Raise Refused unless ``sql`` is one SELECT that only reads the EHR's tables.

        Raises LimitExceeded at ``deadline`` (of time.monotonic), DatabaseError for what DuckDB
        cannot parse, and its own errors.
        """
        if "\x00" in sql:
            raise Refused("the query contains a NUL character", "remove it")
        try:
            statements = connection.extract_statements(sql)
        except duckdb.ParserException as error:
            text = str(error).splitlines()[0]
            raise DatabaseError(f"SQL error: {text}", "`ehrqa db info` lists tables") from error
        except UnicodeEncodeError:
            raise Refused("the query is not valid Unicode text", "retype it") from None
        if len(statements) != 1:
            raise Refused(f"{len(statements)} statements instead of one", _ONE_SELECT)
        if statements[0].type != duckdb.StatementType.SELECT:
            raise Refused(f"{statements[0].type.name} is not a SELECT", _ONE_SELECT)
        if statements[0].named_parameters:
            raise Refused("the query has parameters", "write the values into it")
        row = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
        text = row[0] if row else '{"error": true}'
        if len(text) > _A_SECOND * (deadline - time.monotonic()):
            raise _TOO_LONG
        try:
            found = json.loads(text)
        except RecursionError:
            raise LimitExceeded("the query is nested too deeply", "ask for less at once") from None
        if found.get("error"):
            raise Refused("this is not a SELECT of data", _ONE_SELECT)
        self._look(_nodes(found["statements"], deadline))

    def _look(self, nodes: list[dict[str, Any]]) -> None:
        # A CTE may have any name: names are looked for in the whole statement, and one that is
        # also a table of DuckDB's own is still only reachable through a schema.
        ctes = {
            str(entry["key"]).lower()
            for node in nodes
            if isinstance(node.get("map"), list)
            for entry in node["map"]
            if isinstance(entry, dict) and "key" in entry
        }
        ctes |= {str(node["cte_name"]).lower() for node in nodes if node.get("cte_name")}
        for node in nodes:
            kind = node.get("type")
            if kind == "BASE_TABLE":
                self._table(node, ctes)
            elif kind in ("TABLE_FUNCTION", "SHOW_REF"):
                raise Refused("a table function is not allowed", "read the EHR's tables only")
            elif "function_name" in node:
                _function(node)
            elif kind == "COLUMN_REF":
                names = [str(part).lower() for part in node.get("column_names") or ()]
                if len(names) == 1 and names[0].startswith(_BARE) and names[0] not in self._columns:
                    raise Refused(f"{names[0]} is not allowed", _CLOCK_HINT)
            if node.get("sample"):
                raise Refused("a sample is not allowed", "it is another one each time; use LIMIT")

    def _table(self, node: Mapping[str, Any], ctes: set[str]) -> None:
        name = str(node.get("table_name")).lower()
        if _is_qualified(node) or (name not in self._tables and name not in ctes):
            raise Refused(
                f"reading {name} is not allowed", "only the tables of the EHR can be read"
            )


def _function(node: Mapping[str, Any]) -> None:
    name = str(node["function_name"]).lower()
    if name not in FUNCTIONS or _is_qualified(node):
        raise Refused(f"the function {name[:60]} is not allowed", "use ordinary SQL functions only")
    if name == "printf" and _first_literal(node) != _PRINTF:
        raise Refused("printf with this format is not allowed", f"use '{_PRINTF}', or ROUND")


def _is_qualified(node: Mapping[str, Any]) -> bool:
    path = (node.get("qualified_name") or {}).get("path") or ()
    keys = ("schema", "catalog", "schema_name", "catalog_name")
    return len(path) > 1 or any(node.get(key) for key in keys)


def _first_literal(call: Mapping[str, Any]) -> object:
    """The first argument of a call, if it is a literal (DuckDB 2 writes it otherwise than 1.4)."""
    first = (call.get("arguments") or call.get("children") or [{}])[0]
    inner = first.get("expression") or first
    return (inner.get("literal") or {}).get("text") or (inner.get("value") or {}).get("value")


def _nodes(value: object, deadline: float) -> list[dict[str, Any]]:
    """Everything in a statement that has parts with names. Raises LimitExceeded at the deadline."""
    found: list[dict[str, Any]] = []
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            found.append(part)
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
        if len(found) % 1000 == 0 and time.monotonic() > deadline:
            raise _TOO_LONG
    return found
