"""One JSON line a question, so that a run that was broken off goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.metrics import Outcome


@dataclass(frozen=True)
class Record:
    """What became of one question. ``prediction`` is the SQL that was answered with, or None;
    ``why`` says why there is none, or what went wrong; timings are in seconds by step.
    ``withheld_right``: where a query was written and withheld, would it have been right?"""

    id: str
    question: str
    gold: str | None
    prediction: str | None
    status: str
    correct: bool
    unseen: bool = False
    why: str | None = None
    logical_form: str | None = None
    confidence: float | None = None
    scores: dict[str, float] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    withheld_right: bool | None = None

    @property
    def outcome(self) -> Outcome:
        """As the metrics count it."""
        return Outcome(
            answerable=self.gold is not None,
            answered=self.status == "answered",
            correct=self.correct,
            failed=self.status == "failed",
        )


class Records:
    """The file ``records.jsonl`` of a run: a header of hashes, then the records."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        """Opens or begins the file. Raises EvaluationError when it is of another run."""
        self.path = path
        self.done: dict[str, Record] = {}
        if path.is_file() and path.stat().st_size:
            self._resume(header)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_line({"header": header}), encoding="utf-8")

    def add(self, record: Record) -> None:
        """Append one record and make it safe at once."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(asdict(record)))
        self.done[record.id] = record

    def _resume(self, header: dict[str, Any]) -> None:
        lines = list(_lines(self.path))
        found = lines[0].get("header") if lines else None
        plain = json.loads(_line(header))
        if found != plain:
            changed = sorted(
                key for key in {*plain, *(found or {})} if (found or {}).get(key) != plain.get(key)
            )
            raise EvaluationError(
                f"{self.path} is of another run (different {', '.join(changed) or 'header'})",
                "give another folder with --out, or delete that one",
            )
        for line in lines[1:]:
            record = Record(**line)
            self.done[record.id] = record
        # A line cut short by an interruption goes, so that the next one begins afresh.
        kept = [_line({"header": header}), *(_line(asdict(r)) for r in self.done.values())]
        self.path.write_text("".join(kept), encoding="utf-8")


def read_records(path: Path) -> list[Record]:
    """The records of a file that a run left. Raises EvaluationError."""
    try:
        return [Record(**line) for line in _lines(path) if "header" not in line]
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check the path") from None
    except TypeError:
        raise EvaluationError(f"{path} holds no records", "make it with `ehrqa eval`") from None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            return  # the last line, cut short
        if isinstance(line, dict):
            yield line


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=False) + "\n"
