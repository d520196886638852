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

DATABASE = "mimic_iv_cxr.sqlite"


def cell(value: Any) -> str:
    """A cell as it is compared: yes and no are 1 and 0."""
    value = {"yes": 1, "no": 0}.get(value, value) if isinstance(value, str) else value
    try:
        return str(round(float(value), 3))
    except (TypeError, ValueError):
        return str(value)


def rows(values: Any) -> set[tuple[str, ...]]:
    """Rows, or single values, as a set."""
    return {tuple(cell(c) for c in (v if isinstance(v, (list, tuple)) else [v])) for v in values}


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
        right = answer.status is Status.ANSWERED and rows(answer.rows) == rows(item["answer"])
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
