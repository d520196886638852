"""What a query may do: one SELECT of the EHR's tables, with functions that only calculate.

Spark's own parser and analyzer say what a statement is, twice: as it was written, before anything
of it is looked up (analyzing EXECUTE IMMEDIATE or a script would already run it), and as Spark
understood it, which is the very plan that then runs. Both are lists of what is allowed: a part of a
plan that has no line here is refused, whatever later versions of Spark add.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import LimitExceeded, Refused

_ONE_SELECT = "ask with one SELECT; the database is only ever read"
_ONLY = "only the tables of the EHR can be read"
_CATALYST = "org.apache.spark.sql.catalyst."
_TABLE = "org.apache.spark.sql.execution.datasources.LogicalRelation"


def _allowed() -> tuple[frozenset[str], frozenset[str]]:
    """Functions by name, and classes, from ``allowed.txt``."""
    functions: set[str] = set()
    classes = {_TABLE}
    section = ""
    text = Path(__file__).with_name("allowed.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif section == "functions":
            functions.update(line.split())
        elif section:
            classes.update(f"{_CATALYST}{section}.{name}" for name in line.split())
    return frozenset(functions), frozenset(classes)


_FUNCTIONS, _CLASSES = _allowed()


def check_text(sql: str) -> None:
    """Raise Refused for a text that is none to Java."""
    if "\x00" in sql:
        raise Refused("the query contains a NUL character", "remove it")
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise Refused("the query is not valid Unicode text", "retype it") from None


def check_parsed(plan: str, tables: Iterable[str]) -> None:
    """Raise Refused unless a plan as it was written (its ``toJSON``) is a SELECT of ``tables``."""
    nodes = list(_nodes(plan))
    known = {table.lower() for table in tables}
    for node in nodes:
        if _kind(node) == "UnresolvedWith":
            known |= {str(part.get("_1")).lower() for part in node.get("cteRelations") or ()}
    for node in nodes:
        _class(node)
        kind = _kind(node)
        if kind == "UnresolvedRelation":
            _relation(node, known)
        elif kind == "UnresolvedFunction":
            _function(_only(node.get("nameParts")))


def check_analyzed(plan: str) -> None:
    """Raise Refused unless a plan as Spark understood it (its ``toJSON``) only reads."""
    for node in _nodes(plan):
        _class(node)


def _class(node: Mapping[str, Any]) -> None:
    name = str(node["class"])
    if name in _CLASSES:
        return
    short = name.rsplit(".", 1)[-1].removesuffix("$")
    if name.startswith(f"{_CATALYST}expressions."):
        raise Refused(f"{short} is not allowed", "use ordinary SQL functions only")
    raise Refused(f"{short} is not a SELECT of the EHR's tables", _ONE_SELECT)


def _kind(node: Mapping[str, Any]) -> str:
    return str(node["class"]).rsplit(".", 1)[-1]


def _relation(node: Mapping[str, Any], known: set[str]) -> None:
    name = _only(node.get("multipartIdentifier"))
    if name not in known or node.get("options") or node.get("isStreaming"):
        raise Refused(f"reading {name[:60]} is not allowed", _ONLY)


def _function(name: str) -> None:
    if name not in _FUNCTIONS:
        raise Refused(f"the function {name[:60]} is not allowed", "use ordinary SQL functions only")


def _only(parts: object) -> str:
    """A name of one part, which Spark writes as ``[name]``."""
    return str(parts).removeprefix("[").removesuffix("]").lower()


def _nodes(plan: str) -> Iterator[dict[str, Any]]:
    """Everything in a plan that has a class: its parts, their expressions, the queries in them."""
    try:
        stack: list[Any] = [json.loads(plan)]
    except RecursionError:
        raise LimitExceeded("the query is nested too deeply", "ask for less at once") from None
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if "class" in value:
                yield value
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
