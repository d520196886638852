"""What a query may do: one SELECT of the EHR's tables, with functions that only calculate.

DuckDB's own settings are the real barrier (read-only, no files, no extensions, locked). This one
also keeps out what those let through: its catalog, its settings, and functions that run a text as
a query. DuckDB itself parses the statement, so that what is looked at is what will run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb

from ehrqa_cli.contracts.errors import DatabaseError, LimitExceeded, Refused

_ONE_SELECT = "ask with one SELECT; the database is only ever read"
_LISTS = (
    "now today get_current_time get_current_timestamp current_date current_time current_timestamp",
    "current_localtime current_localtimestamp transaction_timestamp",
    "query query_table getenv getvariable current_setting set_config glob nextval currval setseed",
    "random uuid gen_random_uuid txid_current current_query current_user current_database",
    "current_schema current_schemas version repeat_row test_all_types sniff_csv",
)
_CLOCK = frozenset(" ".join(_LISTS[:2]).split())
_BAD = frozenset(" ".join(_LISTS[2:]).split())
_INTERNAL = ("duckdb_", "pragma_", "pg_", "has_", "read_", "sqlite_", "parquet_", "json_execute_")


class Guard:
    """Checks statements against the tables of one database."""

    def __init__(self, tables: Mapping[str, object]) -> None:
        self._tables = {table.lower() for table in tables}

    def check(self, sql: str, connection: duckdb.DuckDBPyConnection) -> None:
        """Raise Refused unless ``sql`` is one SELECT that only reads the EHR's tables.

        Raises DatabaseError for what DuckDB cannot parse, and its own errors.
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
        found = json.loads(row[0]) if row else {"error": True}
        if found.get("error"):
            raise Refused("this is not a SELECT of data", _ONE_SELECT)
        try:
            nodes = list(_nodes(found["statements"]))
        except RecursionError:
            raise LimitExceeded("the query is nested too deeply", "ask for less at once") from None
        self._look(nodes)

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
                _function(str(node["function_name"]).lower())
            elif kind == "COLUMN_REF":
                names = [str(part).lower() for part in node.get("column_names") or ()]
                if len(names) == 1 and names[0] in _CLOCK:  # written without brackets
                    _function(names[0])

    def _table(self, node: Mapping[str, Any], ctes: set[str]) -> None:
        name = str(node.get("table_name")).lower()
        schema = node.get("schema_name") or node.get("catalog_name")
        if schema or (name not in self._tables and name not in ctes):
            raise Refused(
                f"reading {name} is not allowed", "only the tables of the EHR can be read"
            )


def _function(name: str) -> None:
    if name in _CLOCK:
        hint = "write the time as a literal, 'YYYY-MM-DD HH:MM:SS', or give --as-of"
        raise Refused(f"{name} (the computer's clock) is not allowed", hint)
    if name in _BAD or name.startswith(_INTERNAL):
        raise Refused(f"the function {name} is not allowed", "use ordinary SQL functions only")


def _nodes(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from _nodes(part)
    elif isinstance(value, list):
        for part in value:
            yield from _nodes(part)
