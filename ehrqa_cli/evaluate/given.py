"""Answers of another system, read from a file: ``--predictions FILE``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.types import Row
from ehrqa_cli.evaluate.files import hash_file

_QUERY = re.compile(r"\s*(select|with)\b", re.I)
_SHAPE = (
    'expected {"id": answer, ...}, or lines of {"id", "prediction"} or of `ehrqa batch`; an '
    "answer is a list, a query, or null where the system declined"
)


@dataclass(frozen=True)
class Given:
    """One answer: ``rows``, or a ``query`` (NeuralSQL) that makes them, or neither: declined.

    ``probability`` (0 to 1) is that of yes, where the question is answered by yes or no.
    """

    status: str
    rows: tuple[Row, ...] | None = None
    query: str | None = None
    probability: float | None = None
    why: str | None = None


def read_given(path: Path, ids: Iterable[str]) -> tuple[Mapping[str, Given], str]:
    """The answers by question id, one for each of ``ids``, and the file's SHA-256.

    Raises EvaluationError for another file, or when an answer lacks.
    """
    try:
        raw = _parse(path.read_text(encoding="utf-8"))
        found = {key: _given(value) for key, value in raw.items()}
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check the path") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise EvaluationError(f"{path} holds no predictions", _SHAPE) from None
    wanted = list(ids)
    missing = [key for key in wanted if key not in found]
    if missing:
        raise EvaluationError(
            f"{path} lacks {len(missing)} of {len(wanted)} questions",
            f"give each an answer or null; the first is {missing[0]}",
        )
    return found, hash_file(path)


def _parse(text: str) -> dict[str, Any]:
    try:
        whole = json.loads(text)
    except ValueError:
        whole = [json.loads(line) for line in text.split("\n") if line.strip()]
    if isinstance(whole, dict) and "id" in whole:
        whole = [whole]
    if isinstance(whole, list):
        return {str(line["id"]): line for line in whole if "header" not in line}
    return {str(key): value for key, value in whole.items()}


def _given(value: Any) -> Given:
    """Of one value, or of one line with its fields."""
    if not isinstance(value, dict):
        return _plain(value)
    probability = value.get("probability")
    probability = None if probability is None else float(probability)
    if probability is not None and not 0.0 <= probability <= 1.0:
        raise ValueError(probability)
    if "status" in value:  # a line of `ehrqa batch`
        answered = value["status"] == "answered"
        rows = value.get("rows")
        return Given(
            str(value["status"]),
            rows_of(rows if rows is not None else value.get("value")) if answered else None,
            value.get("neuralsql") if answered else None,
            probability,
            why(value),
        )
    named = [name for name in ("prediction", "answer", "neuralsql") if name in value]
    found = _plain(value[named[0]])
    return Given(found.status, found.rows, found.query, probability)


def _plain(value: Any) -> Given:
    if value is None or value == "null":
        return Given("abstained")
    if isinstance(value, str) and _QUERY.match(value):
        return Given("answered", query=value)
    return Given("answered", rows=rows_of(value))


def rows_of(value: Any) -> tuple[Row, ...]:
    """Rows of an answer as benchmarks write it: a value, a list of values or of rows."""
    values: Sequence[Any] = value if isinstance(value, list) else [value]
    rows = [tuple(v) if isinstance(v, list) else (v,) for v in values]
    for cell in (cell for row in rows for cell in row):
        if not isinstance(cell, str | int | float | None):
            raise ValueError(f"{cell!r} is no value")
    return tuple(rows)


def why(line: Mapping[str, Any]) -> str | None:
    """The kind of reason, or the error, that a line of ``ehrqa batch`` gives."""
    for name in ("reason", "error"):
        told = line.get(name)
        if isinstance(told, dict):
            return str(told.get("kind") or told.get("message"))
        if told:
            return str(told)
    return None
