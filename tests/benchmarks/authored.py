"""The authored questions (models/corpus/questions), by rows: what the model writes for a question
against the form that its writer and a second reader gave it.

    python tests/benchmarks/authored.py --db ehr.sqlite --scene-graphs DIR FILE... [--split held]

No thresholds and no second opinion: the model's form is run as it is. Placeholders are filled as
for training (models/text2sql/authored.py), with a patient for whom the gold form gives something.
``--out`` keeps a row a question. ``--questions FILE`` asks nothing: it writes the questions with
the rows that they should give, as `ehrqa eval own` and `ehrqa calibrate` read them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "models" / "text2sql"))

from authored import Writer, rows
from golden import gold, same, told

from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.engine.session import Session
from ehrqa_cli.logical_form import Form, normalise, parse, print_form
from ehrqa_cli.text2sql.local import LocalModel
from ehrqa_cli.vqa.oracle import OracleGraphs
from ehrqa_cli.vqa.reader import Vqa


def asked(paths: list[Path], split: str) -> Iterator[dict[str, Any]]:
    """The questions of a split; a file without splits is all one."""
    yield from (row for row in rows(paths) if row.get("split", split) == split)


def as_questions(
    todo: list[dict[str, Any]], writer: Writer, session: Session
) -> Iterator[dict[str, Any]]:
    """The questions with their rows; those whose form gives nothing are left out."""
    for row in todo:
        shared = {"id": row["id"], "group": row["id"].split("-")[0]}
        if row["form"] == "abstain":
            text, _ = writer.fill(row["q"], frozenset(), random.Random(row["id"]))
            yield {**shared, "question": text, "answerable": False}
        elif (made := gold(row, writer, session)) is not None and made[2] is not None:
            yield {**shared, "question": made[0].question, "answer": made[2]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--db", required=True)
    parser.add_argument("--scene-graphs", type=Path)
    parser.add_argument("--split", default="held")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--questions", type=Path, help="write the questions here, ask nothing")
    parser.add_argument("--model", type=Path, help="a GGUF beside its manifest.json")
    args = parser.parse_args()
    counted: dict[str, Counter[str]] = {}
    out = args.out.open("w") if args.out else None
    parts: dict[str, Any] = {}
    if args.model:
        parts["model"] = LocalModel(args.model)
    if args.scene_graphs:
        parts["graphs"] = Vqa(OracleGraphs.open(args.scene_graphs))
    session = Session(db=Path(args.db), **parts)
    writer = Writer(args.db)
    todo = list(asked(args.files, args.split))
    if args.limit:
        random.Random(18).shuffle(todo)
        todo = todo[: args.limit]
    if args.questions:
        lines = (json.dumps(row) for row in as_questions(todo, writer, session))
        args.questions.write_text("\n".join(lines) + "\n")
        return
    spent = []
    for row in todo:
        case: dict[str, Any] = {"id": row["id"], "q": row["q"], "gold": row["form"]}
        kind = "films" if re.search(r"\b(study|finding|wide_\w+)\b", row["form"]) else "tables"
        kind = "follow-ups as said" if row["id"].endswith("+") else kind
        kind = "declined" if row["form"] == "abstain" else kind
        got = "no gold"
        if row["form"] == "abstain":
            text, _ = writer.fill(row["q"], frozenset(), random.Random(row["id"]))
            linked = session.linker.link(text)
            form = session.model.generate(linked)[0].logical_form
            got = "right" if form == "abstain" else "wrong"
            case |= {"text": linked.text, "form": form}
        elif (made := gold(row, writer, session)) is not None:
            linked, form, its, own = made
            began = time.perf_counter()
            query = session.model.generate(linked)[0].logical_form or "abstain"
            spent.append(time.perf_counter() - began)
            case |= {"text": linked.text, "want": print_form(form), "form": query, "own": own}
            got = judged(query, form, its, linked, session)
        case["got"] = got
        for key in (kind, "all", "own words" if case.get("own") else ""):
            if key:
                counted.setdefault(key, Counter())[got] += 1
        if out:
            out.write(json.dumps(case) + "\n")
            out.flush()
    for key, n in counted.items():
        total = sum(n.values()) - n["no gold"]
        share = n["right"] / max(total, 1)
        print(f"{key:10} {n['right']} of {total} right ({share:.1%})  {dict(n)}")
    if spent:
        print(f"median seconds of the model: {sorted(spent)[len(spent) // 2]:.3f}")


def judged(
    query: str, form: Form, its: list[list[Any]] | None, linked: LinkedQuestion, session: Session
) -> str:
    """How the model's form compares with the gold one."""
    if query == print_form(form):
        return "right"
    if query == "abstain":
        return "declined"
    ours = told(normalise(parse(query)), linked, session)
    if its is None:
        return "wrong form, nothing to compare"
    return "right" if ours is not None and same(ours, its) else "wrong"


if __name__ == "__main__":
    main()
