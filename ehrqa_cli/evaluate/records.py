"""What became of one question of EHRSQL, and how a run's folder keeps it.

``records.jsonl`` holds all but the seconds, which are in ``timings.jsonl`` (see journal.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.journal import TIMINGS, whole_lines
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
    template: str | None = None

    @property
    def outcome(self) -> Outcome:
        """As the metrics count it."""
        return Outcome(
            answerable=self.gold is not None,
            answered=self.status == "answered",
            correct=self.correct,
            failed=self.status == "failed",
        )


def split_record(record: Record) -> tuple[dict[str, Any], dict[str, float]]:
    """As plain values without its id, and its seconds."""
    plain = asdict(record)
    del plain["id"]
    return plain, plain.pop("timings")


def join_record(plain: Mapping[str, Any], seconds: Mapping[str, float]) -> Record:
    """The record of a line of ``records.jsonl`` and of one of ``timings.jsonl``."""
    known = {name: plain[name] for name in _FIELDS if name in plain}
    return Record(**known, timings=dict(seconds))


def read_records(path: Path) -> list[Record]:
    """The records of a file that a run left. Raises EvaluationError."""
    try:
        lines = [line for line in whole_lines(path) if "header" not in line]
        times = path.with_name(TIMINGS)
        told = {line.pop("id"): line for line in whole_lines(times)} if times.is_file() else {}
        return [join_record(line, told.get(line.get("id"), {})) for line in lines]
    except OSError as error:
        raise EvaluationError(f"cannot read {path}: {error.strerror}", "check the path") from None
    except (TypeError, KeyError):
        raise EvaluationError(f"{path} holds no records", "make it with `ehrqa eval`") from None


_FIELDS = tuple(f.name for f in fields(Record) if f.name != "timings")
