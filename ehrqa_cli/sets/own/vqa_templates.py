"""The 48 templates of MIMIC-CXR-VQA (Bae et al. 2023, appendix B.2.2), and wordings for them.

The clauses are those of EHRXQA's questions about one study (image_phrases.toml), said of an image
at hand; the six about view and sex have their own (vqa_phrases.toml). The clauses of a template and
its paraphrases are divided three to one by groups that are alike (``clusters``), for training and
for the rest, before any sentence is made of them.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ehrqa_cli.sets.data import table
from ehrqa_cli.sets.making.shares import SPLITS, TRAIN
from ehrqa_cli.sets.own.clusters import divided
from ehrqa_cli.sets.pairs.image_wording import Writer, framed, phrase_banks
from ehrqa_cli.sets.pairs.paraphrase import Paraphrases

with resources.files(__package__).joinpath("vqa_templates.tsv").open(encoding="utf-8") as _file:
    _ROWS = tuple(csv.DictReader(_file, delimiter="\t"))
# What each asks about, and its text, in the order of their numbers from 1.
TEMPLATES = tuple((row["content_type"], row["template"]) for row in _ROWS)
# Of one category rather than of several.
SINGULAR = frozenset(n for n, row in enumerate(_ROWS, 1) if row["categories"] == "one")
_KINDS = ("ask", "show", "order", "note")
_WORDINGS = 40
_WHOLE = "whole"  # a sentence already
_STUDY = (
    "this chest X-ray", "this image", "the image", "this CXR", "this film", "the X-ray",
    "this radiograph", "the chest film", "this chest radiograph", "this X-ray image",
)  # fmt: skip
_OWN = {"V": "${viewpos}", "X": "${gender}"}


@dataclass(frozen=True)
class VqaTemplate:
    """One of the 48: its number from 1, its text, and by split wordings and what a model made of
    it, if one did."""

    index: int
    content_type: str
    text: str
    wordings: Mapping[str, Sequence[str]]
    paraphrased: Mapping[str, Sequence[str]]


def vqa_templates(seed: int, said: Paraphrases | None = None) -> tuple[VqaTemplate, ...]:
    """All 48, each with up to 40 sentences for each of the two pools of clauses, and the
    paraphrases ``said``."""
    cores = _cores()
    made = []
    for index, (content, text) in enumerate(TEMPLATES, 1):
        rng = random.Random(f"{seed} wordings {index}")
        clauses = [(kind, c) for kind in _KINDS for c in cores[index].get(kind, ())]
        clauses += [(_WHOLE, sentence) for sentence in (said.of("vqa", text) if said else ())]
        rng.shuffle(clauses)
        pools = divided([clause for _, clause in clauses], rng)
        found = [_sentences([clauses[at] for at in pool], rng) for pool in pools]
        whole = [tuple(clauses[at][1] for at in p if clauses[at][0] == _WHOLE) for p in pools]
        made.append(
            VqaTemplate(
                index,
                content,
                text,
                {split: found[split != TRAIN] for split in SPLITS},
                {split: whole[split != TRAIN] for split in SPLITS},
            )
        )
    return tuple(made)


def _sentences(clauses: Sequence[tuple[str, str]], rng: random.Random) -> tuple[str, ...]:
    frames = phrase_banks()["frames"]
    makers = []
    for kind in _KINDS:
        own = [clause for k, clause in clauses if k == kind]
        makers += framed(frames[kind], own, {**_OWN, "S": _STUDY})
    return Writer(rng, _WORDINGS).template("vqa", "", "", makers).wordings if makers else ()


def _cores() -> dict[int, dict[str, Any]]:
    """The clauses of each template: 42 are EHRXQA's, in the same order."""
    found = dict(zip([*range(1, 41), 47, 48], phrase_banks()["single"], strict=True))
    return {**found, **{core["index"]: core for core in table("own/vqa_phrases")["single"]}}
