"""Known questions in clean English, one a form, that the shipped parser and judge read rightly.

``python known.py --pairs authored.jsonl --out models/encoder/known.json``. Of the wordings of a
form that one is kept whose words the most writers use; it is offered, with other values, to people
whose question was declined, and shown as an example to a larger model.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.encoder.judge import Judge
from ehrqa_cli.encoder.tokens import THEN
from ehrqa_cli.logical_form import describe, normalise, parse, print_form
from ehrqa_cli.text2sql.local import LocalModel
from ehrqa_cli.words.wordpieces import plain_ids

_REFERENCE = re.compile(r"(?:<[a-z_]+>)+#\d+|<no(?:pat|study)>")
_WORD = re.compile(r"[a-z][a-z'-]*")
_BEGINS = {"what", "which", "who", "how", "when", "where", "did", "does", "do", "has", "have", "is",
           "are", "was", "were", "list", "show", "give", "find", "count"}  # fmt: skip
LONGEST, SHORTEST = 20, 4  # words
WRITERS = 12  # by which a word must be used
SURE = 2.0  # least log-odds of the judge


def words(text: str) -> list[str]:
    return _WORD.findall(_REFERENCE.sub(" ", text.lower()))


def clean(text: str, used: dict[str, set[str]]) -> bool:
    """Whole, plain sentences: usual words, one sentence, no asides."""
    found = words(text)
    plain = re.sub(r"[?.]\s*$", "", text.strip())
    return (
        SHORTEST <= len(plain.split()) <= LONGEST
        and found[:1] != []
        and found[0] in _BEGINS
        and not re.search(r"[;:!/()]|\.\s|\bi\b|\bpls\b|\bpt\b", plain)
        and all(len(used[w]) >= WRITERS and len(plain_ids(" " + w, 9)) == 1 for w in found)
    )


def chosen(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One clean wording a form, the one of the commonest words."""
    used: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for word in words(row["text"]):
            used[word].add(row["template"].split("-")[0])
    best: dict[tuple[str, str], tuple[float, dict[str, Any]]] = {}
    for row in rows:
        if clean(row["text"], used):
            rarest = min(len(used[w]) for w in words(row["text"]))
            key = row["form"], json.dumps(row["types"])
            if key not in best or rarest > best[key][0]:
                best[key] = rarest, row
    return [row for _, row in best.values()]


def read_rightly(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Text and form of those that parser and judge agree on."""
    model, judge, found = LocalModel.open(), Judge.load(modelstore.models_root()), []
    for row in rows:
        links = tuple(Link(0, 0, tuple(types), "") for types in row["types"])
        linked = LinkedQuestion("", row["text"], links)
        form = model.generate(linked)[0].logical_form or ""
        if form == "abstain" or print_form(normalise(parse(form))) != row["form"]:
            continue
        if judge.faithful(linked, [describe(parse(form))])[0] >= SURE:
            found.append((row["text"], row["form"]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.pairs.open()]
    rows = [r for r in rows if r["form"] != "abstain" and THEN not in r["text"]]
    found = read_rightly(chosen(rows))
    data = json.dumps({"questions": found}, indent=0).encode()
    args.out.write_bytes(data)
    manifest = args.out.with_name("manifest.json")
    told = json.loads(manifest.read_text())
    told["files"][args.out.name] = hashlib.sha256(data).hexdigest()
    manifest.write_text(json.dumps(told, indent=1) + "\n")
    print(len(found), "of", len(rows))


if __name__ == "__main__":
    main()
