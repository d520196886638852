"""Prepared pairs (models/text2sql/prepare.py) as numbers, and the groups to hold out."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from ehrqa_cli.logical_form import LEXEMES, REFS
from ehrqa_cli.text2sql.second.pieces import Pieces

FORM_SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
FORM_WORDS = (*FORM_SPECIALS, *dict.fromkeys((*LEXEMES, *REFS)))
FORM_IDS = {word: k for k, word in enumerate(FORM_WORDS)}
MOST_LEXEMES = 63


@dataclass(frozen=True)
class Row:
    """One question: token ids, ids of its form ([] when it has no answer), labels, group."""

    text: str
    ids: tuple[int, ...]
    form: tuple[int, ...]
    labels: tuple[int, ...]
    none: bool
    source: str
    group: str


def load(paths: Iterable[Path], without: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of prepared files, each text once; ``without``: parts of names of templates to leave
    out (a family that a newer grammar can answer)."""
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        with path.open() as lines:
            for line in lines:
                row = json.loads(line)
                if any(part in row["template"] for part in without):
                    continue
                known = found.get(row["text"])
                # The same text with and without an answer: the later file knows better.
                if known is None or known["source"] != "ehrsql":
                    found[row["text"]] = row
    return list(found.values())


def skeleton(form: str) -> str:
    """The form with its references made equal."""
    return re.sub(r"#\d+", "#", form)


def groups(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What is held out together: a template; of EHRSQL, which names none, a form's skeleton, or
    unanswerable questions linked by shared words."""
    named = [r["template"] or ("ehrsql " + skeleton(r["form"])) for r in rows]
    loose = [k for k, r in enumerate(rows) if not r["template"] and r["form"] == "abstain"]
    for k, cluster in zip(loose, clusters([rows[k]["text"] for k in loose]), strict=True):
        named[k] = f"ehrsql unanswerable {cluster}"
    return named


# Words that every question may have, whatever it asks.
_SMALL = frozenset(
    re.findall(
        r"\w+",
        "a an the of is was were are be for to in on at what when which who how did does do has "
        "have had been me tell show give please patient with by and or that this it his her their "
        "i you can could would any there will list know want like let get",
    )
)


def clusters(texts: Sequence[str]) -> list[str]:
    """Of each text, the first in the alphabet of those linked to it by shared words: two texts
    are linked when more than half of all their content words are in both."""
    bags = [
        frozenset(w[:6] for w in re.findall(r"[a-z]+", re.sub(r"<\w+>(#\d+)?", "", t))) - _SMALL
        for t in texts
    ]
    parent = list(range(len(texts)))

    def root(k: int) -> int:
        while parent[k] != k:
            k = parent[k]
        return k

    for a in range(len(bags)):
        for b in range(a):
            if 2 * len(bags[a] & bags[b]) > len(bags[a] | bags[b]):
                parent[root(a)] = root(b)
    names: dict[int, str] = {}
    for k, text in enumerate(texts):
        names[root(k)] = min(text, names.get(root(k), text))
    return [names[root(k)] for k in range(len(texts))]


def held(group: str, share: float, seed: str) -> bool:
    """Whether a group is held out: by its hash, the same on every machine."""
    digest = hashlib.sha256(f"{seed} {group}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32 < share


def label_names(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lexemes and the commonest pairs of neighbours in forms."""
    pairs: Counter[str] = Counter()
    for row in rows:
        words = skeleton(row["form"]).split()
        pairs.update({f"{a} {b}" for a, b in pairwise(words)})
    return [*LEXEMES, *(name for name, _ in pairs.most_common(500))]


def encode(rows: Sequence[dict[str, Any]], pieces: Pieces, labels: Sequence[str]) -> list[Row]:
    """Numbers for the trainer; forms that are too long lose their end."""
    index = {name: k for k, name in enumerate(labels)}
    encoded = []
    for row, group in zip(rows, groups(rows), strict=True):
        read = pieces.read(row["text"])
        none = row["form"] == "abstain"
        words = [] if none else [read.numbers.get(w, w) for w in row["form"].split()]
        bare = skeleton(" ".join(words)).split()
        names = [*bare, *(f"{a} {b}" for a, b in pairwise(bare))]
        form = [FORM_IDS.get(w, FORM_IDS["<unk>"]) for w in words[:MOST_LEXEMES]]
        encoded.append(
            Row(
                row["text"],
                read.ids,
                tuple(form),
                tuple({index[n] for n in names if n in index}),
                none,
                row["source"],
                group,
            )
        )
    return encoded


def batches(
    rows: Sequence[Row], tokens: int, rng: random.Random, repeat: dict[str, int]
) -> list[list[Row]]:
    """Batches of about ``tokens`` tokens, of like length, in random order."""
    pool = [r for row in rows for r in [row] * repeat.get(row.source, 1)]
    rng.shuffle(pool)
    found: list[list[Row]] = []
    for start in range(0, len(pool), 4096):
        part = sorted(pool[start : start + 4096], key=lambda r: len(r.ids) + len(r.form))
        batch: list[Row] = []
        longest = 0
        for row in part:
            longest = max(longest, len(row.ids) + len(row.form))
            if batch and longest * (len(batch) + 1) > tokens:
                found.append(batch)
                batch, longest = [], len(row.ids) + len(row.form)
            batch.append(row)
        found.append(batch)
    rng.shuffle(found)
    return found
