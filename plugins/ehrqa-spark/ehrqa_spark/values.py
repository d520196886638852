"""Spark's values as the contract has them: text, numbers, NULL.

A row travels as the JSON text of an array of texts: one message for many rows, and every number
as Java writes it, which reads back as the same number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from ehrqa_cli.contracts.types import Row, Scalar

_WHOLE = frozenset({"byte", "short", "integer", "long", "boolean"})
_REAL = frozenset({"float", "double"})


def written(types: Sequence[Any]) -> str:
    """The expression that writes a row of columns ``c0``, ``c1``... of these types (as
    ``StructType.json`` has them) as one text."""
    parts = [_text(f"c{i}", type_) for i, type_ in enumerate(types)]
    return f"TO_JSON(ARRAY({', '.join(parts)}))"


def _text(column: str, type_: Any) -> str:
    if type_ in ("timestamp", "timestamp_ntz"):
        return f"DATE_FORMAT({column}, 'yyyy-MM-dd HH:mm:ss')"
    if type_ == "date":
        return f"CONCAT(CAST({column} AS STRING), ' 00:00:00')"
    if type_ == "boolean":
        return f"CAST(CAST({column} AS INT) AS STRING)"
    if type_ == "binary":
        return f"LOWER(HEX({column}))"
    if _is_decimal(type_):
        return f"CAST(CAST({column} AS DOUBLE) AS STRING)"
    return f"CAST({column} AS STRING)"


def _is_decimal(type_: Any) -> bool:
    return isinstance(type_, str) and type_.startswith("decimal")


def fields(schema: str) -> list[dict[str, Any]]:
    """The columns of a StructType as JSON, each with ``name`` and ``type``."""
    found: list[dict[str, Any]] = json.loads(schema)["fields"]
    return found


def read(text: str, types: Sequence[Any]) -> Row | None:
    """A row from its text; None for a row that was too long to send."""
    held = json.loads(text)
    if held is None:
        return None
    return tuple(_plain(value, type_) for value, type_ in zip(held, types, strict=True))


def _plain(value: str | None, type_: Any) -> Scalar:
    if value is None:
        return None
    if type_ in _WHOLE:
        return int(value)
    if type_ in _REAL or _is_decimal(type_):
        number = float(value)
        return number if math.isfinite(number) else None
    return value
