"""Asks a set of clinicians' questions and says, per tier, what became of them.

    python tests/benchmarks/clinicians/run.py --db mimic_iv.sqlite [--split tune|held|all] \\
        [--questions FILE] [--thresholds FILE|off] [--out FILE.jsonl]

FILE is JSON lines with ``id``, ``tier`` (1, 2, 3 or "abstain"), ``question`` and ``gold_sql``;
where ``gold_answer`` (rows) is given too, it is what counts. A question of tiers 1 to 3 is right,
wrong or declined; one of tier "abstain" is right when it is declined. Rows count as a set, columns
in order, numbers as floats of three decimals, as text when they are none.
"""

from __future__ import annotations

import argparse
import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine.ask import ask
from ehrqa_cli.engine.opening import open_session
from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.engine.session import Session

HELD = Path(__file__).with_name("questions.jsonl")
TUNE = Path(__file__).parents[3] / "models/corpus/tables/clinicians.jsonl"
TIERS = ("1", "2", "3", "abstain")

Cell = float | str | None
Rows = frozenset[tuple[Cell, ...]]


def load(paths: Sequence[Path], split: str = "all") -> list[dict[str, Any]]:
    """The questions of files; a file without splits is all there is."""
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    items = [json.loads(line) for line in lines if line.strip()]
    return [item for item in items if split == "all" or item.get("split", split) == split]


def comparable(rows: Sequence[Sequence[Any]]) -> Rows:
    """Rows as they are compared: a set, with numbers as floats of three decimals."""
    return frozenset(tuple(_cell(cell) for cell in row) for row in rows)


def _cell(cell: Any) -> Cell:
    if cell is None:
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return str(cell)
    # Text such as "nan" is no measured number; + 0.0 makes -0.0 the same as 0.0.
    return round(number, 3) + 0.0 if math.isfinite(number) else str(cell)


def gold_rows(item: dict[str, Any], database: sqlite3.Connection) -> Rows | None:
    """The right rows, None when the right response is to decline."""
    if item["tier"] == "abstain":
        return None
    rows = item.get("gold_answer")
    return comparable(database.execute(item["gold_sql"]).fetchall() if rows is None else rows)


def outcome(answer: Answer | None, gold: Rows | None) -> str:
    """``right``, ``wrong`` or ``declined``; a fault is no answer, so it counts as declined."""
    if answer is None or answer.status != Status.ANSWERED:
        return "right" if gold is None else "declined"
    return "right" if gold is not None and comparable(answer.rows) == gold else "wrong"


def results(items: list[dict[str, Any]], db: Path, session: Session) -> Iterator[dict[str, Any]]:
    """One record a question, in order."""
    uri = f"{db.resolve().as_uri()}?mode=ro"
    database = sqlite3.connect(uri, uri=True)
    try:
        for item in items:
            gold = gold_rows(item, database)
            answer, refusal = _ask(item, session)
            found = outcome(answer, gold)
            yield {
                "id": item["id"],
                "tier": item["tier"],
                "split": item.get("split"),
                "question": item["question"],
                "status": "refused" if answer is None else str(answer.status),
                "outcome": found,
                "right": found == "right",
                "form": answer.logical_form if answer else None,
                "scores": answer.scores if answer else {},
                "reason": refusal,
                "seconds": round(answer.timings.get("total", 0.0), 3) if answer else None,
            }
    finally:
        database.close()


def _ask(item: dict[str, Any], session: Session) -> tuple[Answer | None, str | None]:
    """The answer, None when the question itself is refused, and the kind of reason or fault."""
    try:
        answer = ask(Question(item["question"], id=item["id"]), session)
    except EhrqaError as error:
        return None, type(error).__name__
    return answer, answer.reason_kind or (answer.error or {}).get("message")


def table(records: list[dict[str, Any]]) -> str:
    """The counts per tier, and the wrong answers one a line."""
    lines = [f"{'tier':8} {'n':>4} {'right':>6} {'wrong':>6} {'declined':>9} {'accuracy':>9}"]
    for tier in TIERS:
        counts = Counter(r["outcome"] for r in records if str(r["tier"]) == tier)
        n, right, wrong = counts.total(), counts["right"], counts["wrong"]
        if n:
            # Of the answered; of an abstain tier, of all: each must be declined.
            share = f"{100 * right / (right + wrong):8.1f}%" if right + wrong else f"{'-':>9}"
            lines.append(f"{tier:8} {n:4} {right:6} {wrong:6} {counts['declined']:9} {share}")
    lines += [
        f"wrong {r['id']} | {r['question']} | {r['form']}"
        for r in records
        if r["outcome"] == "wrong"
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--split", choices=("tune", "held", "all"), default="all")
    parser.add_argument("--questions", type=Path, nargs="+", default=(TUNE, HELD))
    parser.add_argument("--thresholds", help="a file, or off; those of the model when not given")
    parser.add_argument("--out", type=Path, help="a record a question, as JSON lines")
    flags = parser.parse_args()
    limits = Thresholds.off() if flags.thresholds == "off" else flags.thresholds
    limits = Path(limits) if isinstance(limits, str) else limits
    records = []
    with open_session(flags.db, log=False, thresholds=limits) as session:
        for record in results(load(flags.questions, flags.split), flags.db, session):
            records.append(record)
            if flags.out:
                with flags.out.open("a" if len(records) > 1 else "w", encoding="utf-8") as file:
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
    print(table(records))


if __name__ == "__main__":
    main()
