r"""Asks questions whose names and times are easily misread, and says what became of them.

    python tests/benchmarks/unfounded_tables/run.py --questions FILE --ehrsql DB --demo DB \\
        [--out FILE]

FILE is JSON lines with ``id``, ``db`` ("ehrsql": the database of EHRSQL-2024, "demo": an import of
the MIMIC-IV demo), ``question`` and ``gold_sql`` (null: to be declined). An answer is right (same
rows as the gold), said (other rows, but its text says what of the same name was not counted),
wrong, or declined; a fault is none of these and is counted apart.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from clinicians.run import comparable, gold_rows

from ehrqa_cli.contracts.types import Answer, Question, Status
from ehrqa_cli.engine.opening import open_session

SAID = "Not counted:"  # engine.namesakes writes it


def outcome(answer: Answer, gold: Any) -> str:
    """``right``, ``said``, ``wrong``, ``declined`` or ``failed``."""
    if answer.status is Status.FAILED:
        return "failed"
    if answer.status is not Status.ANSWERED:
        return "right" if gold is None else "declined"
    if gold is not None and comparable(answer.rows) == gold:
        return "right"
    return "said" if SAID in answer.text else "wrong"


def results(items: list[dict[str, Any]], db: Path) -> list[dict[str, Any]]:
    """One record a question of this database, in order."""
    database = sqlite3.connect(f"{db.resolve().as_uri()}?mode=ro", uri=True)
    records = []
    with open_session(db, log=False) as session:
        asked = (Question(item["question"], id=item["id"]) for item in items)
        for item, answer in zip(items, session.ask_many(asked, workers=1), strict=True):
            tier = "abstain" if item["gold_sql"] is None else 1
            gold = gold_rows({**item, "tier": tier}, database)
            shown = sorted(gold, key=str)[:5] if gold is not None else None
            records.append(
                {
                    **item,
                    "outcome": outcome(answer, gold),
                    "gold": [list(row) for row in shown] if shown is not None else None,
                    "text": answer.text,
                    "form": answer.logical_form,
                    "confidence": answer.confidence,
                    "kind": answer.reason_kind,
                }
            )
    database.close()
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--ehrsql", type=Path, required=True)
    parser.add_argument("--demo", type=Path, required=True)
    parser.add_argument("--out", type=Path, help="a record a question, as JSON lines")
    flags = parser.parse_args()
    lines = flags.questions.read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines if line.strip()]
    records = []
    for name, db in (("ehrsql", flags.ehrsql), ("demo", flags.demo)):
        records += results([item for item in items if item["db"] == name], db)
    if flags.out:
        text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)
        flags.out.write_text(text, encoding="utf-8")
    counts = Counter(r["outcome"] for r in records)
    given = sum(r["outcome"] in ("right", "wrong", "said") and r["kind"] is None for r in records)
    print({"n": len(records), **counts, "given": given})
    for r in records:
        if r["outcome"] in ("wrong", "said", "failed"):
            print(
                f"{r['outcome']} {r['id']} | {r['question']} | {r['text'][:200]} | gold {r['gold']}"
            )


if __name__ == "__main__":
    main()
