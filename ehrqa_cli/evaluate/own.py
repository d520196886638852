"""Your own file of questions as a benchmark (``ehrqa eval own``): a plugin like any other.

Gold is a SELECT or rows, or several that are all right, or nothing where the question is to be
declined. An answer is right when its rows are a gold's as a set, in any order of columns, numbers
to three decimals.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ehrqa_cli.contracts.benchmarks import (
    Benchmark,
    BenchmarkItem,
    Cells,
    Execute,
    Figures,
    FigureTable,
    Listing,
    Measured,
    Record,
)
from ehrqa_cli.contracts.errors import Cancelled, DatabaseError, EvaluationError
from ehrqa_cli.contracts.types import WITHHELD, Answer, Question, Status
from ehrqa_cli.evaluate.files import check_ids, find_file, read_bytes, read_objects
from ehrqa_cli.evaluate.metrics import outcome_of, score
from ehrqa_cli.evaluate.predictions import rows_of
from ehrqa_cli.evaluate.rows import same_rows

_NAMES = ("{split}.jsonl", "questions.jsonl", "{split}.json")
_HINT = 'write {"id": "1", "question": "...", "gold_sql": "SELECT ..."} a line'
_GROUPS = ("group", "tier", "template", "q_tag")
_SHOWN = 5  # rows of an answer in the list of wrong ones
Rows = tuple[Any, ...]


class OwnQuestions(Benchmark):
    """Questions in JSON Lines or CSV, each with ``gold_sql``, ``gold_answer`` (rows or a value), or
    ``answerable`` false; ``patient_id`` and ``group`` (or ``tier``) if wanted."""

    name: ClassVar[str] = "own"
    about: ClassVar[str] = (
        "a file of your own questions with gold SQL or answers: right, wrong, declined; RS(0), F1"
    )
    needs: ClassVar[str] = (
        "SPLIT.jsonl, questions.jsonl, or the file itself (docs/evaluation-own.md)"
    )

    def load(self, data: Path, split: str) -> Sequence[BenchmarkItem]:
        """As the contract says; ``data`` is a folder, or the file itself."""
        names = [name.format(split=split) for name in _NAMES]
        path = data if data.is_file() else find_file(data, names, "questions of your own")
        table = path.suffix.lower() == ".csv"
        lines = _csv_rows(path) if table else read_objects(path, ("question",)).content
        items = [_item(line, number, path) for number, line in enumerate(lines, 1)]
        check_ids([str(item.question.id) for item in items], path)
        return items

    def score(self, item: BenchmarkItem, answer: Answer, execute: Execute) -> Record:
        """As the contract says."""
        if item.gold is None or answer.status is not Status.ANSWERED:
            return {"correct": False}
        golds = _golds(item.gold)
        wanted = accepted(item.gold, execute, str(item.question.id))
        if any(same_rows(answer.rows, rows) for rows in wanted):
            return {"correct": True}
        if all("rows" in gold for gold in golds):
            return {"correct": False}
        # To be shown beside the wrong answer: no query tells what it should have been.
        kept = [[list(row) for row in rows[:_SHOWN]] for rows in wanted]
        return {"correct": False, "wanted": kept}

    def aggregate(self, records: Sequence[Record]) -> Mapping[str, float | None]:
        """The scores of EHRSQL-2024 (metrics.Scores), in per cent."""
        found = score([outcome_of(record) for record in records])
        return {
            **{f"RS({penalty})": value for penalty, value in found.rs.items()},
            "F1_ans": found.f1_ans,
            "P_exe": found.p_exe,
            "R_exe": found.r_exe,
            "F1_exe": found.f1_exe,
        }

    def figures(self, found: Measured) -> Figures:
        """What became of the questions, the scores, the scores by group, and what was wrong."""
        counts = _outcomes(found.records)
        scores = dict(self.aggregate(found.records))
        rows = tuple((name, n, 100.0 * n / len(found.records)) for name, n in counts.items())
        tables = (
            FigureTable(
                "1", f"{len(found.records)} questions", ("", "questions", "%"), (("", rows),)
            ),
            FigureTable("2", "scores", ("measure", "value"), (("", tuple(scores.items())),)),
            *self._by_group(found.records, tuple(scores), "3"),
            *_wrong(found.records),
        )
        return Figures({**scores, "outcomes": counts}, tables)

    @classmethod
    def sample(cls, folder: Path) -> tuple[Path, str]:
        """As the contract says."""
        lines: list[dict[str, Any]] = [
            {"id": "a", "question": "one?", "gold_sql": "SELECT 1, 2.5", "tier": 1},
            {"id": "b", "question": "two?", "gold_answer": [["x"], ["y"]], "tier": 1},
            {"id": "c", "question": "three?", "gold_answer": 7, "tier": 2},
            {"id": "e", "question": "four?", "gold_sql": ["SELECT 4, 5", "SELECT 6"], "tier": 2},
            {"id": "d", "question": "will it rain?", "answerable": False, "tier": "abstain"},
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "valid.jsonl").write_text(text, encoding="utf-8")
        return folder, "valid"

    def perfect(self, item: BenchmarkItem, execute: Execute) -> Answer:
        """As the contract says."""
        if item.gold is None:
            return Answer(item.question, Status.ABSTAINED)
        rows = accepted(item.gold, execute, str(item.question.id))[0]
        return Answer(item.question, Status.ANSWERED, rows=rows)


def _csv_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table with a header; empty cells are left out."""
    content = read_bytes(path, "CSV").decode("utf-8-sig", "replace")
    try:
        rows = list(csv.DictReader(io.StringIO(content)))
    except csv.Error as error:
        raise EvaluationError(f"{path} is no CSV: {error}", _HINT) from None
    return [{k: v for k, v in row.items() if k and v not in (None, "")} for row in rows]


def _item(line: Mapping[str, Any], number: int, path: Path) -> BenchmarkItem:
    text, key = line.get("question"), line.get("id")
    if not isinstance(text, str) or not text.strip():
        raise EvaluationError(f"question {number} of {path} has no text", _HINT)
    patient = line.get("patient_id")
    if isinstance(patient, str) and patient.strip().isdecimal() and len(patient) < 19:
        patient = int(patient)
    if patient is not None and (isinstance(patient, bool) or not isinstance(patient, int)):
        raise EvaluationError(f"question {number} of {path}: patient_id is no number", _HINT)
    group = next((str(line[name]) for name in _GROUPS if line.get(name) is not None), "")
    question = Question(text, str(number if key is None else key), patient)
    return BenchmarkItem(question, _gold(line, number, path), group, line)


def _gold(line: Mapping[str, Any], number: int, path: Path) -> Any:
    """{"sql": ...} or {"rows": ...}, {"any": [...]} of several; None for a question to be
    declined."""
    names = ("gold_answer", "answer", "rows")
    answer = next((line[name] for name in names if line.get(name) is not None), None)
    answers = [answer] if answer is not None else line.get("answers")
    if answers is not None:
        if not isinstance(answers, list):
            raise EvaluationError(f"question {number} of {path}: its answers are no list", _HINT)
        return _of([{"rows": _cells(one, number, path)} for one in answers], number, path)
    sql = line.get("gold_sql")
    texts = sql if isinstance(sql, list) else [sql]
    if all(isinstance(text, str) and text.strip() for text in texts):
        return _of([{"sql": text} for text in texts], number, path)
    declined = str(line.get("answerable", "")).lower() in ("false", "no", "0", "none")
    named = any(name in line for name in (*names, "gold_sql"))
    if isinstance(sql, list) or not (declined or (named and not line.get("answerable"))):
        raise EvaluationError(f"question {number} of {path} has no gold", _HINT)
    return None


def _of(golds: list[dict[str, Any]], number: int, path: Path) -> dict[str, Any]:
    if not golds:
        raise EvaluationError(f"question {number} of {path} has no gold", _HINT)
    return golds[0] if len(golds) == 1 else {"any": golds}


def _cells(answer: Any, number: int, path: Path) -> list[list[Any]]:
    try:
        if isinstance(answer, str) and answer.lstrip().startswith("["):  # a list in a CSV
            answer = json.loads(answer)
        return [list(row) for row in rows_of(answer)]
    except ValueError:
        raise EvaluationError(
            f"question {number} of {path}: its answer is no rows", _HINT
        ) from None


def _golds(gold: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return gold.get("any") or [gold]


def accepted(gold: Mapping[str, Any], execute: Execute, name: str) -> list[Rows]:
    """The rows of each of a question's golds, any of which is right; ``name`` is the question's.
    Raises EvaluationError for a query that does not run."""
    found: list[Rows] = []
    for one in _golds(gold):
        if "rows" in one:
            found.append(tuple(tuple(row) for row in one["rows"]))
            continue
        try:
            found.append(execute(one["sql"]))
        except Cancelled:
            raise
        except DatabaseError as error:
            raise EvaluationError(
                f"the gold SQL of {name} does not run: {error.message}",
                "mend it; it must be one SELECT over this database",
            ) from None
    return found


def _outcomes(records: Sequence[Record]) -> dict[str, int]:
    """How many questions ended how. An answer to a question that has none is wrong."""
    declined = [record for record in records if record["status"] in WITHHELD]
    answered = [record for record in records if record["status"] == "answered"]
    rightly = sum(record["gold"] is None for record in declined)
    right = sum(bool(record["correct"]) for record in answered)
    return {
        "right": right,
        "wrong": len(answered) - right,
        "declined": len(declined),
        "declined rightly": rightly,
        "declined though there is an answer": len(declined) - rightly,
        "failed": len(records) - len(answered) - len(declined),
    }


def _wrong(records: Sequence[Record]) -> tuple[FigureTable, ...]:
    rows: list[Cells] = [
        (str(r["id"]), " ".join(r["question"].split()), _given(r), _wanted(r))
        for r in records
        if r["status"] == "answered" and not r["correct"]
    ]
    if not rows:
        return ()
    columns = ("id", "question", "given", "gold")
    return (Listing("4", "wrong answers", columns, (("", tuple(rows)),)),)


def _given(record: Record) -> str:
    if record.get("why"):
        return str(record["why"])
    given = record["prediction"]
    return _shown(given) if isinstance(given, list) else str(given)


def _wanted(record: Record) -> str:
    if record["gold"] is None:
        return "to be declined"
    if "wanted" in record:  # the first rows of its queries too
        return " or ".join(map(_shown, record["wanted"]))
    golds = _golds(record["gold"])
    return " or ".join(_shown(gold["rows"]) if "rows" in gold else gold["sql"] for gold in golds)


def _shown(rows: Sequence[Sequence[Any]]) -> str:
    """Rows in one line: cells with commas, rows with semicolons; the first few."""
    told = "; ".join(", ".join(str(cell) for cell in row) for row in rows[:_SHOWN])
    more = len(rows) - _SHOWN
    return f"{told}; and {more} more" if more > 0 else told or "(no rows)"
