"""Questions of ehrxqa-open through ``ask``, with the oracle's scene graphs.

    python tests/benchmarks/ehrxqa_ask.py --data ehrxqa-open

Prints right, wrong, declined of the answerable questions and how many others were declined, asked
as ``template_text`` and as ``question``. Rows are compared as sets, numbers at 3 decimals.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from ehrqa_cli.cli.options import read_graphs
from ehrqa_cli.contracts.types import Question, Status
from ehrqa_cli.engine import Session, ask, open_session
from ehrqa_cli.evaluate.asked import plain_rows

DATABASE = "mimic_iv_cxr.sqlite"


def gold(item: dict[str, Any]) -> frozenset[tuple[Any, ...]]:
    """The right rows; a single value stands for a row of one."""
    return plain_rows(v if isinstance(v, list) else [v] for v in item["answer"])


def measure(session: Session, items: list[dict[str, Any]], field: str) -> Counter[str]:
    """Outcomes of asking every item by one of its texts."""
    found: Counter[str] = Counter()
    for item in items:
        answer = ask(Question(item[field]), session)
        if not item["answerable"]:
            found["unanswerable"] += 1
            found["unanswerable declined"] += answer.status is Status.ABSTAINED
            continue
        found["answerable"] += 1
        right = answer.status is Status.ANSWERED and plain_rows(answer.rows) == gold(item)
        found["right" if right else str(answer.status.value)] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder ehrxqa-open")
    args = parser.parse_args()
    lines = (args.data / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    graphs = read_graphs(args.data)
    with open_session(args.data / DATABASE, log=False, graphs=graphs) as session:
        for field in ("template_text", "question"):
            print(field, dict(measure(session, items, field)), flush=True)


if __name__ == "__main__":
    main()
