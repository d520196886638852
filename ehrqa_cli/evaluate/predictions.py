"""Answers of another system, read from a file: ``--predictions FILE``."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.benchmarks import Reads
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.types import Answer, Question, Row, Status

_QUERY = re.compile(r"\s*(select|with)\b", re.I)
_NULL = "null"
_WHAT = {
    Reads.VALUES: "a list, a query",
    Reads.QUERIES: "a query",
    Reads.WORDS: "a letter or a text",
}
_SHAPE = (
    'expected {{"id": answer, ...}}, or lines of {{"id", "prediction"}} or of `ehrqa batch`; an '
    "answer is {}, or null where the system declined"
)


def read_predictions(
    path: Path, questions: Iterable[Question], reads: Reads = Reads.VALUES
) -> tuple[list[Answer], str]:
    """The answers to ``questions`` in their order, and the file's SHA-256. A query is
    ``truncated``: its rows are still to be had. ``scores["probability"]`` is that of yes.

    Raises EvaluationError for another file, or when an answer lacks.
    """
    raw, digest = _parse(path, reads)
    asked = list(questions)
    check_all(path, [str(question.id) for question in asked], raw)
    try:
        return [_answer(raw[str(q.id)], q, reads) for q in asked], digest
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise _none(path, reads) from None


def check_all(path: Path, ids: Iterable[str], found: Container[str]) -> None:
    """Raises EvaluationError when a question has no prediction."""
    wanted = list(ids)
    missing = [key for key in wanted if key not in found]
    if missing:
        raise EvaluationError(
            f"{path} lacks {len(missing)} of {len(wanted)} questions",
            f"give each an answer or null; the first is {missing[0]}",
        )


def parse_predictions(path: Path) -> dict[str, Any]:
    """Whatever a file says of each id: a JSON object, a list, or lines with an ``id``.

    Raises EvaluationError.
    """
    return _parse(path, Reads.WORDS)[0]


def _parse(path: Path, reads: Reads) -> tuple[dict[str, Any], str]:
    try:
        content = path.read_bytes()
        whole = _whole(content.decode("utf-8-sig"))
        if isinstance(whole, dict) and "id" in whole:
            whole = [whole]
        if isinstance(whole, list):
            found = {str(line["id"]): line for line in whole if "header" not in line}
        else:
            found = {str(key): value for key, value in whole.items()}
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check the path") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _none(path, reads) from None
    return found, hashlib.sha256(content).hexdigest()


def _none(path: Path, reads: Reads) -> EvaluationError:
    return EvaluationError(f"{path} holds no predictions", _SHAPE.format(_WHAT[reads]))


def _whole(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def _answer(value: Any, question: Question, reads: Reads) -> Answer:
    """Of one value, or of one line with its fields."""
    if not isinstance(value, dict):
        return Answer(question, **_plain(value, reads))
    more: dict[str, Any] = {"scores": _probability(value.get("probability"))}
    if reads is Reads.WORDS:
        more |= {
            "choice": str(value["choice"]) if value.get("choice") else None,
            "confidence": value.get("confidence"),
            "evidence": tuple(_note(e) for e in value.get("evidence") or () if _of_note(e)),
        }
    if "status" not in value:
        named = [name for name in ("prediction", "answer", *_NAMES[reads]) if name in value]
        return Answer(question, **_plain(value[named[0]], reads), **more)
    # A line of `ehrqa batch`.
    status = Status(value["status"])
    more |= {"status": status, "reason_kind": _why(value)}
    if status is not Status.ANSWERED:
        return Answer(question, **(more | {"choice": None}))
    if reads is Reads.WORDS:
        told = _words(value.get("text")) or _words(value.get("value"))
        return Answer(question, text=told or "", **more)
    if reads is Reads.QUERIES:
        return Answer(question, neuralsql=value["neuralsql"], truncated=True, **more)
    rows = value.get("rows")
    given = rows_of(rows if rows is not None else value.get("value"))
    return Answer(question, rows=given, neuralsql=value.get("neuralsql"), **more)


# What an answer is called in a line, beside the usual names.
_NAMES = {
    Reads.VALUES: ("neuralsql",),
    Reads.QUERIES: ("neuralsql",),
    Reads.WORDS: ("text", "choice"),
}


def _plain(value: Any, reads: Reads) -> dict[str, Any]:
    if reads is Reads.WORDS:
        text = _words(value)
        return {"status": Status.ABSTAINED} if text is None else _given(text=text)
    if value is None or value == _NULL:
        return {"status": Status.ABSTAINED}
    if reads is Reads.QUERIES or (isinstance(value, str) and _QUERY.match(value)):
        return _given(neuralsql=str(value), truncated=True)
    return _given(rows=rows_of(value))


def _given(**fields: Any) -> dict[str, Any]:
    return {"status": Status.ANSWERED, **fields}


def rows_of(value: Any) -> tuple[Row, ...]:
    """Rows of an answer as benchmarks write it: a value, a list of values or of rows. Raises
    ValueError for what is no value."""
    values: Sequence[Any] = value if isinstance(value, list) else [value]
    rows = [tuple(v) if isinstance(v, list) else (v,) for v in values]
    for cell in (cell for row in rows for cell in row):
        if not isinstance(cell, str | int | float | None):
            raise ValueError(f"{cell!r} is no value")
    return tuple(rows)


def _words(value: Any) -> str | None:
    if isinstance(value, list):
        return ", ".join(str(v) for v in value) or None
    return None if value is None or value == "" else str(value)


def _probability(value: Any) -> dict[str, float]:
    if value is None:
        return {}
    if not 0.0 <= float(value) <= 1.0:
        raise ValueError(value)
    return {"probability": float(value)}


def _of_note(raw: Mapping[str, Any]) -> bool:
    return str(raw.get("kind", "note")) == "note"


def _note(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "note",
        "note_id": str(raw["note_id"]),
        "start": int(raw["start"]),
        "end": int(raw["end"]),
        "excerpt": str(raw.get("excerpt", "")),
    }


def _why(line: Mapping[str, Any]) -> str | None:
    """The kind of reason, or the error, that a line of ``ehrqa batch`` gives."""
    for name in ("reason", "error"):
        told = line.get(name)
        if isinstance(told, dict):
            return str(told.get("kind") or told.get("message"))
        if told:
            return str(told)
    return None
