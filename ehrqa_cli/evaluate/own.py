"""Your own file of questions as a benchmark (``ehrqa eval own``): a plugin like any other.

Gold is a SELECT, rows, or nothing where the question is to be declined. An answer is right when its
rows are the gold's as a set, columns in order, numbers to three decimals.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.benchmarks import Benchmark, BenchmarkItem, Execute, Record
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EvaluationError
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.evaluate.files import check_ids, find_file, read_objects

_NAMES = ("{split}.jsonl", "questions.jsonl", "{split}.json")
_HINT = 'write {"id": "1", "question": "...", "gold_sql": "SELECT ..."} a line'
_GROUPS = ("group", "tier", "template", "q_tag")


class OwnQuestions(Benchmark):
    """Questions in JSON Lines, each with ``gold_sql``, ``gold_answer`` (rows or a value), or
    ``answerable`` false; ``patient_id`` and ``group`` (or ``tier``) if wanted."""

    name: ClassVar[str] = "own"
    about: ClassVar[str] = (
        "a file of your own questions with gold SQL or answers: RS(0), RS(10), F1"
    )
    needs: ClassVar[str] = "SPLIT.jsonl or questions.jsonl, or the file itself (docs/evaluation.md)"

    def load(self, data: Path, split: str) -> Sequence[BenchmarkItem]:
        """As the contract says; ``data`` is a folder, or the file itself."""
        names = [name.format(split=split) for name in _NAMES]
        path = data if data.is_file() else find_file(data, names, "questions of your own")
        lines = read_objects(path, ("question",)).content
        items = [_item(line, number, path) for number, line in enumerate(lines, 1)]
        check_ids([str(item.question.id) for item in items], path)
        return items

    def score(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> Record:
        """As the contract says."""
        if item.gold is None or answer.status is not Status.ANSWERED:
            return {"correct": False}
        from ehrqa_cli.evaluate.asked import plain_rows  # which needs the engine

        return {"correct": plain_rows(answer.rows) == plain_rows(_rows(item, execute))}

    def aggregate(self, records: Sequence[Record]) -> Mapping[str, float | None]:
        """The scores of EHRSQL-2024 (metrics.Scores), in per cent."""
        from ehrqa_cli.evaluate.metrics import Outcome, score

        found = score(
            [
                Outcome(
                    r["gold"] is not None,
                    r["status"] == "answered",
                    bool(r["correct"]),
                    r["status"] == "failed",
                )
                for r in records
            ]
        )
        return {
            **{f"RS({penalty})": value for penalty, value in found.rs.items()},
            "F1_ans": found.f1_ans,
            "P_exe": found.p_exe,
            "R_exe": found.r_exe,
            "F1_exe": found.f1_exe,
        }

    @classmethod
    def sample(cls, folder: Path) -> tuple[Path, str]:
        """As the contract says."""
        lines: list[dict[str, Any]] = [
            {"id": "a", "question": "one?", "gold_sql": "SELECT 1, 2.5", "tier": 1},
            {"id": "b", "question": "two?", "gold_answer": [["x"], ["y"]], "tier": 1},
            {"id": "c", "question": "three?", "gold_answer": 7, "tier": 2},
            {"id": "d", "question": "will it rain?", "answerable": False, "tier": "abstain"},
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "valid.jsonl").write_text(text, encoding="utf-8")
        return folder, "valid"

    def perfect(self, item: BenchmarkItem, execute: Execute) -> Answer:
        """As the contract says."""
        if item.gold is None:
            return Answer(item.question, Status.ABSTAINED)
        return Answer(item.question, Status.ANSWERED, rows=_rows(item, execute))


def _item(line: Mapping[str, Any], number: int, path: Path) -> BenchmarkItem:
    text, key = line["question"], line.get("id")
    if not isinstance(text, str) or not text.strip():
        raise EvaluationError(f"question {number} of {path} has no text", _HINT)
    patient = line.get("patient_id")
    if patient is not None and (isinstance(patient, bool) or not isinstance(patient, int)):
        raise EvaluationError(f"question {number} of {path}: patient_id is no number", _HINT)
    group = next((str(line[name]) for name in _GROUPS if line.get(name) is not None), "")
    question = Question(text, str(number if key is None else key), patient)
    return BenchmarkItem(question, _gold(line, number, path), group)


def _gold(line: Mapping[str, Any], number: int, path: Path) -> Any:
    """{"sql": ...} or {"rows": ...}; None for a question to be declined."""
    answer = line.get("gold_answer", line.get("answer"))
    if answer is not None:
        values = answer if isinstance(answer, list) else [answer]
        rows = [value if isinstance(value, list) else [value] for value in values]
        if any(not isinstance(cell, str | int | float | None) for row in rows for cell in row):
            raise EvaluationError(f"question {number} of {path}: its answer is no rows", _HINT)
        return {"rows": rows}
    sql = line.get("gold_sql")
    if isinstance(sql, str) and sql.strip():
        return {"sql": sql}
    said = [name for name in ("gold_sql", "gold_answer", "answer", "answerable") if name in line]
    if not said or line.get("answerable"):
        raise EvaluationError(f"question {number} of {path} has no gold", _HINT)
    return None


def _rows(item: BenchmarkItem, execute: Execute) -> tuple[Any, ...]:
    if "rows" in item.gold:
        return tuple(tuple(row) for row in item.gold["rows"])
    try:
        return execute(item.gold["sql"])
    except Cancelled:
        raise
    except DatabaseError as error:
        raise EvaluationError(
            f"the gold SQL of {item.question.id} does not run: {error.message}",
            "mend it; it must be one SELECT over this database",
        ) from None
