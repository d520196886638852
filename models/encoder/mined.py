"""The parser's own readings of authored questions, each with whether its rows are the right ones.

``python mined.py --db EHR.sqlite --scene-graphs DIR --model FOLDER --only pairs.jsonl --out FILE
FILE...``. Its beam is run on the record against the form that two hands agreed on. Meant for a
parser that has not read these questions (trained on another fold), so that its mistakes are those
it makes on new ones. For a question to be declined: what it writes when it may not decline.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "text2sql"))

from authored import Writer, rows
from golden import cell, gold, same, told

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.engine.session import Session
from ehrqa_cli.logical_form import normalise, parse, print_form
from ehrqa_cli.text2sql.local import LocalModel
from ehrqa_cli.vqa.oracle import OracleGraphs
from ehrqa_cli.vqa.reader import Vqa

KEPT = 5  # readings of a question


class Miner:
    """A parser, a record and its questions' gold rows."""

    def __init__(self, args: argparse.Namespace) -> None:
        parts: dict[str, Any] = {}
        if args.scene_graphs:
            parts["graphs"] = Vqa(OracleGraphs.open(args.scene_graphs))
        self.session = Session(db=Path(args.db), **parts)
        self.writer = Writer(args.db)
        self.model = LocalModel(args.model, method="beam")
        self.forced = LocalModel(args.model, method="beam", may_abstain=False)

    def mine(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """The question's readings, each {form, p, same, rows}: its log-probability,
        whether it gives the gold rows, and a key of the rows; None without a gold answer."""
        if row["form"] == "abstain":
            text, _ = self.writer.fill(row["q"], frozenset(), random.Random(row["id"]))
            linked, want, its = self.session.linker.link(text), "abstain", None
        else:
            made = gold(row, self.writer, self.session)
            if made is None or made[2] is None:
                return None
            linked, want, its = made[0], print_form(made[1]), made[2]
        found, seen = [], set[str]()
        for model in (self.model, self.forced) if want == "abstain" else (self.model,):
            for query in model.generate(linked)[:KEPT]:
                form = _normal(query.logical_form or "abstain")
                if form in seen or not query.scores["complete"]:
                    continue
                seen.add(form)
                ours = None if form == "abstain" else told(parse(form), linked, self.session)
                agrees = form == want or (None not in (ours, its) and same(ours or [], its or []))
                found.append({"form": form, "p": query.scores["sum_logprob"], "same": agrees,
                              "rows": _key(ours)})  # fmt: skip
        return {"id": row["id"], "text": linked.text, "gold": want, "rows": its and its[:3],
                "types": [link.types for link in linked.links], "found": found}  # fmt: skip


def _key(rows: list[list[Any]] | None) -> str | None:
    """The same for the same rows in any order; None for nothing."""
    if rows is None:
        return None
    cells = sorted({json.dumps([cell(value) for value in row]) for row in rows})
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def _normal(form: str) -> str:
    return form if form == "abstain" else print_form(normalise(parse(form)))


_miner: Miner | None = None


def _start(args: argparse.Namespace) -> None:
    global _miner
    _miner = Miner(args)


def _mine(row: dict[str, Any]) -> dict[str, Any] | None:
    assert _miner is not None
    try:
        return _miner.mine(row)
    except EhrqaError:
        return None


def chosen(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    only = {json.loads(line)["template"] for path in args.only for line in path.open()}
    for row in rows(args.files):
        if row.get("split", args.split) == args.split and (not only or row["id"] in only):
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--db", required=True)
    parser.add_argument("--scene-graphs", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--split", default="train")
    parser.add_argument("--only", type=Path, nargs="*", default=[], help="pairs of these questions")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    with multiprocessing.Pool(args.workers, _start, (args,)) as pool, args.out.open("w") as out:
        for made in pool.imap(_mine, chosen(args), chunksize=16):
            if made:
                out.write(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
