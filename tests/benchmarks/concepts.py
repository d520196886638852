"""Questions over concepts on the imported MIMIC-IV demo, with gold from its raw CSV files.

    python tests/benchmarks/concepts.py --db ehr.sqlite --set plain_3 [--words plain] [--show]

Who wrote the sets, and when each was held back: concepts/README.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "models" / "text2sql"))

from golden import same

from ehrqa_cli import open_session
from ehrqa_cli.vqa.oracle import OracleGraphs
from ehrqa_cli.vqa.reader import Vqa

_SETS = Path(__file__).with_name("concepts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument(
        "--set", choices=sorted(p.stem for p in _SETS.glob("*.jsonl")), required=True
    )
    parser.add_argument("--scene-graphs", type=Path, help="labels of the record's films")
    parser.add_argument("--words", choices=("question", "plain"), default="question")
    parser.add_argument("--show", action="store_true", help="print what is not right")
    told = parser.parse_args()
    counted: Counter[str] = Counter()
    graphs = Vqa(OracleGraphs.open(told.scene_graphs)) if told.scene_graphs else None
    with open_session(told.db, log=False, graphs=graphs) as session:
        for line in (_SETS / f"{told.set}.jsonl").read_text(encoding="utf-8").splitlines():
            asked = json.loads(line)
            answer = session.ask(asked[told.words])
            found = answer.status.value
            if found == "answered":
                golds = [asked["gold"], *asked.get("also", ())]
                right = any(gold is not None and same(answer.rows, gold) for gold in golds)
                found = "right" if right else "wrong"
            elif asked["gold"] is None and found == "abstained":
                found = "rightly declined"
            counted[found] += 1
            if told.show and "right" not in found:
                print(
                    asked["id"], found, asked[told.words], answer.rows[:3], answer.text, sep=" | "
                )
    print(told.set, told.words, dict(counted))


if __name__ == "__main__":
    main()
