"""Are the questions that a refusal offers answered when they are asked?

    python tests/benchmarks/offered.py --db ehr.sqlite [--scene-graphs DIR] --drawn 300 QUESTIONS...

Asks the questions of the files (one JSON object a line, ``question``) in a drawn order until so
many different ones were offered, then asks those, with the settings of a user.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path

from shared import rows_of

from ehrqa_cli import open_session
from ehrqa_cli.contracts.errors import UsageError
from ehrqa_cli.engine import Session
from ehrqa_cli.vqa.oracle import OracleGraphs
from ehrqa_cli.vqa.reader import Vqa


def offered(questions: list[str], session: Session, most: int) -> tuple[list[str], int]:
    """Different questions that were offered, and how many were withheld until then."""
    found: dict[str, None] = {}
    withheld = 0
    for text in questions:
        if len(found) >= most:
            break
        try:
            answer = session.ask(text)
        except UsageError:
            continue
        withheld += answer.status.value == "abstained"
        found |= dict.fromkeys(answer.suggestions)
    return list(found)[:most], withheld


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--scene-graphs", type=Path)
    parser.add_argument("--drawn", type=int, default=300)
    parser.add_argument("--show", type=int, default=12, help="how many to print")
    args = parser.parse_args()
    questions = [row["question"] for path in args.files for row in rows_of(path)]
    random.Random(19).shuffle(questions)
    graphs = Vqa(OracleGraphs.open(args.scene_graphs)) if args.scene_graphs else None
    with open_session(args.db, log=False, graphs=graphs) as session:
        drawn, withheld = offered(questions, session, args.drawn)
        counted = Counter(session.ask(text).status.value for text in drawn)
    for text in drawn[: args.show]:
        print("  ", text)
    print(f"{len(drawn)} offered by {withheld} withheld answers: {dict(counted)}")


if __name__ == "__main__":
    main()
