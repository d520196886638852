"""Questions with forms to what the trainer reads: linked text, and the form over references.

``python prepare.py --db EHR.sqlite --out prepared.jsonl built=built.jsonl ehrsql=inverse.jsonl``.
Each input is JSON Lines of {question, form, template, family}. A pair whose form names a value
that the linker does not find (or not with a fitting type) is dropped, counted and reported.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.contracts.types import Link
from ehrqa_cli.logical_form import EOS, Machine, refer

_linker: Any = None


def open_linker(database: str) -> Any:
    """The linker over this database's own values; without fuzzy matches, which would train the
    model on guesses."""
    from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
    from ehrqa_cli.ehr.value_index import ValueIndex
    from ehrqa_cli.text2sql.linking import Linker

    return Linker(ValueIndex.build(SqliteDatabase.open(Path(database))))


def _start(database: str) -> None:
    global _linker
    _linker = open_linker(database)


def writable(form: str, links: tuple[Link, ...]) -> bool:
    """Whether the decoding machine could write this form."""
    machine = Machine([link.types for link in links])
    try:
        for word in (*form.split(), EOS):
            machine.push(word)
    except ValueError:
        return False
    return True


def prepare(job: tuple[str, dict[str, Any]]) -> tuple[dict[str, Any] | None, str, str]:
    """(row or None, reason, what) of one pair."""
    source, pair = job
    try:
        linked = _linker.link(pair["question"], fuzzy=False)
        form = refer(pair["form"], linked.links) if pair["form"] != "abstain" else "abstain"
    except EhrqaError as error:
        return None, "error", str(error)
    if form is None:
        return None, "unlinked", f"{pair['template']}: {linked.text} | {pair['form']}"
    if len(linked.links) > 16:
        return None, "over 16 links", linked.text
    if not writable(form, linked.links):
        return None, "not writable", f"{linked.text} | {form}"
    row = {
        "text": linked.text,
        "form": form,
        "types": [link.types for link in linked.links],
        "source": source,
        "template": pair.get("template", ""),
        "family": pair.get("family", ""),
    }
    return row, "kept", ""


def jobs(inputs: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every pair of every ``name=file`` input."""
    for item in inputs:
        name, _, path = item.partition("=")
        with Path(path).open() as lines:
            yield from ((name, json.loads(line)) for line in lines if line.strip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--db", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--dropped", type=Path, help="write what was dropped, and why, here")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, str]] = set()
    part = args.out.with_suffix(".part")
    dropped = args.dropped.open("w") if args.dropped else None
    work = list(jobs(args.inputs))
    with multiprocessing.Pool(args.workers, _start, (args.db,)) as pool, part.open("w") as out:
        found = pool.imap(prepare, work, chunksize=64)
        for (source, _), (row, reason, what) in zip(work, found, strict=True):
            if row and (row["text"], row["form"]) in seen and source != "ehrsql":
                reason, row = "repeated", None
            counts[source, reason] += 1
            if row:
                seen.add((row["text"], row["form"]))
                out.write(json.dumps(row) + "\n")
            elif dropped and what:
                dropped.write(json.dumps({"source": source, "reason": reason, "what": what}) + "\n")
    part.replace(args.out)
    for (source, reason), n in sorted(counts.items()):
        print(f"{source:12} {reason:14} {n:7}", file=sys.stderr)


if __name__ == "__main__":
    main()
