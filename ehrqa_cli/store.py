"""Answers written down: as the JSON of ``ask --json``, and in the answer log.

The log holds questions and answers about patients. It is a SQLite file that only its owner can
read (0600 in a folder of 0700), it can be off (``--no-log``, ``EHRQA_LOG=off``, ``log = false``),
and it can be purged (``ehrqa log purge``). No other program is told of it. The conversations of
``ehrqa chat`` are kept beside it in the same way (engine.chat.history).
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

from ehrqa_cli import sqlitefile
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import WITHHELD, Answer, PatientScope, Question, Scope, Status

TABLE = "answers"
_SIDE_FILES = ("", "-journal", "-wal", "-shm")


class LogError(EhrqaError):
    """The answer log cannot be written, read or purged."""


def own(file: IO[Any]) -> bool:
    """Take an open file for this process alone until it is closed; False where another has it.

    Where there are no such locks (Windows, some network folders) nothing is kept apart.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _rounded(value: Any) -> Any:
    """A measured probability to six places: more would tell machines apart, not answers."""
    return round(value, 6) if isinstance(value, float) else value


def answer_record(answer: Answer) -> dict[str, Any]:
    """The fields of interface ``ask --json``, in their order, as plain values.

    No timings and no wall-clock time, so that two runs give the same bytes. ``reason`` is null,
    or for an abstention and a tentative answer ``{"kind": ..., "sentence": ..., "signal": ...}``:
    the kind for people, and the check that withheld the answer where that is another word.
    """
    reason = None
    if answer.status in WITHHELD:
        kind = answer.reason_public or answer.reason_kind or "unknown"
        reason = {"kind": kind, "sentence": answer.reason or ""}
        if answer.reason_kind and answer.reason_kind != kind:
            reason["signal"] = answer.reason_kind
    return {
        "id": answer.question.id,
        "question": answer.question.text,
        "status": answer.status.value,
        "scope": answer.scope.value,
        "patient_scope": answer.patient_scope.value,
        "text": answer.text,
        "value": answer.value,
        "columns": list(answer.columns),
        "rows": [list(row) for row in answer.rows],
        "truncated": answer.truncated,
        "choice": answer.choice,
        "confidence": _rounded(answer.confidence),
        "reason": reason,
        "reading": dict(answer.reading) if answer.reading else None,
        "suggestions": list(answer.suggestions),
        "alternatives": [dict(item) for item in answer.alternatives],
        "logical_form": answer.logical_form,
        "description": answer.description,
        "neuralsql": answer.neuralsql,
        "executed_sql": answer.executed_sql,
        "evidence": [
            {**item, "probability": _rounded(item["probability"])}
            if "probability" in item
            else dict(item)
            for item in answer.evidence
        ],
        "concepts": [dict(item) for item in answer.concepts],
        "provenance": dict(answer.provenance),
        "error": dict(answer.error) if answer.error else None,
    }


def answer_from(record: dict[str, Any], question: Question) -> Answer:
    """The answer to ``question`` of which `answer_record` made ``record``, less what a record lacks
    (scores, timings). Raises KeyError, TypeError or ValueError for anything else."""
    reason = record["reason"] or {}
    return Answer(
        question,
        Status(record["status"]),
        scope=Scope(record["scope"]),
        patient_scope=PatientScope(record["patient_scope"]),
        columns=tuple(record["columns"]),
        rows=tuple(tuple(row) for row in record["rows"]),
        reason_kind=reason.get("signal") or reason.get("kind"),
        reason=reason.get("sentence"),
        reason_public=reason.get("kind"),
        reading=record.get("reading"),
        suggestions=tuple(record["suggestions"]),
        alternatives=tuple(dict(item) for item in record.get("alternatives", ())),
        evidence=tuple(dict(item) for item in record["evidence"]),
        concepts=tuple(dict(item) for item in record.get("concepts", ())),
        provenance=dict(record["provenance"]),
        **{name: record[name] for name in _AS_THEY_ARE},
    )


_AS_THEY_ARE = (
    "text", "value", "truncated", "choice", "confidence", "logical_form", "description",
    "neuralsql", "executed_sql", "error",
)  # fmt: skip


@dataclass(frozen=True)
class PrivateFile:
    """A SQLite file at ``path`` that only its owner can read; ``what`` it is, in words."""

    path: Path
    what: ClassVar[str] = "file"

    def purge(self) -> bool:
        """Delete the file, whatever is in it; False when there was none. Raises LogError."""
        existed = self.path.exists()
        try:
            for suffix in _SIDE_FILES:
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        except OSError as error:
            raise self.error("purge", error) from error
        return existed

    def make_private(self) -> None:
        """Make the file if there is none, and take everybody else's permissions from it."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        sqlitefile.make_private(self.path)

    def error(self, verb: str, error: Exception) -> LogError:
        """What went wrong, with the next step."""
        return LogError(
            f"cannot {verb} the {self.what} {self.path}: {error}",
            "switch it off with --no-log or EHRQA_LOG=off, or name another file in EHRQA_LOG_FILE",
        )


@dataclass(frozen=True)
class AnswerLog(PrivateFile):
    """The log at ``path``. Every method raises LogError with the next step."""

    what: ClassVar[str] = "answer log"

    def add(self, answer: Answer) -> None:
        """Append one answer with the time it was given.

        A file that is new, or lacks a column, gets it; else nothing but the row is written.
        """
        import sqlite3
        from datetime import UTC, datetime

        record = answer_record(answer)
        row = {
            "asked_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"),
            "question": answer.question.text,
            "status": answer.status.value,
            "text": answer.text,
            "database": str(answer.provenance.get("database", "")),
            "answer": json.dumps(record, ensure_ascii=False, default=str),
        }
        try:
            self.make_private()
            # Half a surrogate pair has no UTF-8, and JSON writes it as this escape.
            row = {k: v.encode("utf-8", "backslashreplace").decode() for k, v in row.items()}
            with closing(sqlite3.connect(self.path)) as connection, connection:
                columns = connection.execute(f"PRAGMA table_info({TABLE})").fetchall()
                if not row.keys() <= {column[1] for column in columns}:
                    connection.execute("BEGIN IMMEDIATE")  # another may be making it
                    sqlitefile.database(connection).table(TABLE).insert(row, alter=True)
                    return
                names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
                connection.execute(f"INSERT INTO {TABLE} ({names}) VALUES ({marks})", row)
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise self.error("write", error) from error
