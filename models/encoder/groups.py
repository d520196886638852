"""Questions with right and nearly right readings, for the head that tells them apart.

``python groups.py --pairs authored.jsonl ... --mined mined.jsonl ... --out groups.jsonl``. One line
a question: {id, text, source, good, bad, worse}: readings in English over the question's
references. ``bad`` are one-step edits (edits.py), ``worse`` the parser's own mistakes (mined.py),
the likeliest first. ``p``: the parser's log-probabilities of ``good`` and then ``worse``, of a
reading that it did not write UNWRITTEN below its least likely one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from edits import edits

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.logical_form import describe, parse

_REFERENCE = re.compile(r"#(\d+)")
# Answers that many readings share by chance say nothing about the reading.
UNWRITTEN = 1.0
_COMMON: tuple[list[list[Any]], ...] = ([], [[0]], [[1]], [[None]])


def said(form: str, types: Sequence[Sequence[str]]) -> str:
    """The reading in English, its references written as in the question."""

    def marked(match: re.Match[str]) -> str:
        number = int(match[1])
        return "".join(f"<{t}>" for t in types[number - 1]) + match[0]

    return _REFERENCE.sub(marked, describe(parse(form)))


def of_pair(job: tuple[dict[str, Any], int]) -> dict[str, Any] | None:
    """A pair of the parser's training with edits of its form; None for a question to decline."""
    row, wanted = job
    if row["form"] == "abstain":
        return None
    rng = random.Random(f"{row['text']}/{row['form']}")
    try:
        other = edits(row["form"], row["types"], rng, wanted)
    except (FormError, ValueError):
        return None
    return {"id": row["template"], "text": row["text"], "source": row["source"],
            "good": [said(row["form"], row["types"])],
            "bad": [said(form, row["types"]) for form in other], "worse": []}  # fmt: skip


def of_mined(row: dict[str, Any]) -> dict[str, Any]:
    """A mined question: its own form and those with the same telling rows, and the mistakes."""
    good = [] if row["gold"] == "abstain" else [row["gold"]]
    telling = row["rows"] not in _COMMON
    worse = []
    for each in sorted(row["found"], key=lambda x: -x["p"]):
        if each["form"] in (*good, "abstain"):
            continue
        if not each["same"]:
            worse.append(each["form"])
        elif telling:
            good.append(each["form"])
    types, written = row["types"], {each["form"]: each["p"] for each in row["found"]}
    least = min(written.values(), default=0.0) - UNWRITTEN
    return {"p": [round(written.get(form, least), 3) for form in (*good, *worse)],
            "id": row["id"], "text": row["text"], "source": "mined", "bad": [],
            "good": [said(form, types) for form in good],
            "worse": [said(form, types) for form in worse]}  # fmt: skip


def jobs(args: argparse.Namespace) -> Iterator[tuple[dict[str, Any], int]]:
    rng = random.Random(19)
    for path in args.pairs:
        for row in map(json.loads, path.open()):
            own = row["source"] == "authored"
            if own or rng.random() < args.share:
                yield row, args.edits if own else 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, nargs="*", default=[])
    parser.add_argument("--mined", type=Path, nargs="*", default=[])
    parser.add_argument("--edits", type=int, default=4, help="of the form of an authored question")
    parser.add_argument("--share", type=float, default=0.4, help="of the other pairs")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    with multiprocessing.Pool(args.workers) as pool, args.out.open("w") as out:
        for made in pool.imap(of_pair, jobs(args), chunksize=64):
            if made:
                out.write(json.dumps(made) + "\n")
        for path in args.mined:
            for row in map(json.loads, path.open()):
                out.write(json.dumps(of_mined(row)) + "\n")


if __name__ == "__main__":
    main()
