"""Answers written down: as the JSON of ``ask --json``, and in the answer log.

The log holds questions and answers about patients. It is a SQLite file that only its owner can
read (0600 in a folder of 0700), it can be off (``--no-log``, ``EHRQA_LOG=off``, ``log = false``),
and it can be purged (``ehrqa log purge``). No other program is told of it.
"""

from __future__ import annotations

import json
import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import Answer, Status

TABLE = "answers"
_SIDE_FILES = ("", "-journal", "-wal", "-shm")


class LogError(EhrqaError):
    """The answer log cannot be written, read or purged."""


def answer_record(answer: Answer) -> dict[str, Any]:
    """The fields of interface ``ask --json``, in their order, as plain values.

    No timings and no wall-clock time, so that two runs give the same bytes. ``reason`` is null,
    or for an abstention ``{"kind": ..., "sentence": ..., "signal": ...}``: the kind for people,
    and the check that withheld the answer where that is another word.
    """
    reason = None
    if answer.status is Status.ABSTAINED:
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
        "confidence": answer.confidence,
        "reason": reason,
        "suggestions": list(answer.suggestions),
        "logical_form": answer.logical_form,
        "description": answer.description,
        "neuralsql": answer.neuralsql,
        "executed_sql": answer.executed_sql,
        "evidence": [dict(item) for item in answer.evidence],
        "provenance": dict(answer.provenance),
        "error": dict(answer.error) if answer.error else None,
    }


@dataclass(frozen=True)
class AnswerLog:
    """The log at ``path``. Every method raises LogError with the next step."""

    path: Path

    def add(self, answer: Answer) -> None:
        """Append one answer with the time it was given.

        Plain sqlite3: importing sqlite-utils takes half the time that a question may.
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
            self._make_private()
            names, marks = ", ".join(row), ", ".join("?" for _ in row)
            with closing(sqlite3.connect(self.path)) as connection, connection:
                connection.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} ({names})")
                connection.execute(
                    f"INSERT INTO {TABLE} ({names}) VALUES ({marks})", list(row.values())
                )
        except (OSError, sqlite3.Error) as error:
            raise self._error("write", error) from error

    def purge(self) -> bool:
        """Delete the log's files, whatever is in them; False when there was no log."""
        existed = self.path.exists()
        try:
            for suffix in _SIDE_FILES:
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        except OSError as error:
            raise self._error("purge", error) from error
        return existed

    def _make_private(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Created before SQLite would, which gives a new file the umask's wider permissions.
        handle = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            os.fchmod(handle, 0o600)
        finally:
            os.close(handle)

    def _error(self, what: str, error: Exception) -> LogError:
        return LogError(
            f"cannot {what} the answer log {self.path}: {error}",
            "switch it off with --no-log or EHRQA_LOG=off, or name another file in EHRQA_LOG_FILE",
        )
