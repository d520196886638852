"""The 48 templates of MIMIC-CXR-VQA (Bae et al. 2023, appendix B.2.2), and wordings for them.

The clauses are those of EHRXQA's questions about one study (image_phrases.toml), said of an image
at hand; the six about view and sex have their own (vqa_phrases.toml). The clauses of a template and
its paraphrases are divided three to one by groups that are alike (``clusters``), for training and
for the rest, before any sentence is made of them.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ehrqa_cli.sets.own.clusters import divided
from ehrqa_cli.sets.own.shares import SPLITS, TRAIN
from ehrqa_cli.sets.pairs.image_wording import Writer, framed, phrase_banks
from ehrqa_cli.sets.pairs.paraphrase import Paraphrases

TEMPLATES: tuple[tuple[str, str], ...] = (
    ("presence", "Are there any ${category} in the ${object}?"),
    ("presence", "Is there ${attribute} in the ${object}?"),
    ("abnormality", "Is the ${object} abnormal?"),
    ("presence", "Are there any ${category_1} or ${category_2} in the ${object}?"),
    ("presence", "Are there both ${attribute_1} and ${attribute_2} in the ${object}?"),
    ("presence", "Is there either ${attribute_1} or ${attribute_2} in the ${object}?"),
    ("attribute", "List all ${category} in the ${object}."),
    ("abnormality", "List all abnormalities in the ${object}."),
    ("attribute", "List all ${category_1} and ${category_2} in the ${object}."),
    ("attribute", "Which ${category} is related to the ${object}, ${attribute_1} or "
     "${attribute_2}?"),
    ("abnormality", "Are there any abnormalities in either the ${object_1} or the ${object_2}?"),
    ("abnormality", "Are there any abnormalities in both the ${object_1} and the ${object_2}?"),
    ("attribute", "List all ${category} in either the ${object_1} or the ${object_2}."),
    ("attribute", "List all common ${category} in both the ${object_1} and the ${object_2}."),
    ("attribute", "List all ${category} only in the ${object_1} but not in the ${object_2}."),
    ("abnormality", "List all abnormalities in either the ${object_1} or the ${object_2}."),
    ("abnormality", "List all common abnormalities in both the ${object_1} and the ${object_2}."),
    ("abnormality", "List all abnormalities only in the ${object_1} but not in the ${object_2}."),
    ("presence", "Are there any ${category}?"),
    ("abnormality", "Are there any abnormalities?"),
    ("presence", "Are there any ${category_1} or ${category_2}?"),
    ("presence", "Is there ${attribute}?"),
    ("presence", "Are there both ${attribute_1} and ${attribute_2}?"),
    ("presence", "Is there either ${attribute_1} or ${attribute_2}?"),
    ("attribute", "List all ${category}."),
    ("attribute", "List all ${category_1} and ${category_2}."),
    ("abnormality", "List all abnormalities."),
    ("attribute", "Which ${category} is related, ${attribute_1} or ${attribute_2}?"),
    ("presence", "Are both the ${object_1} and the ${object_2} related to ${attribute}?"),
    ("presence", "Is either the ${object_1} or the ${object_2} related to ${attribute}?"),
    ("anatomy", "List all anatomical locations related to ${attribute}."),
    ("anatomy", "Which anatomical location is related to ${attribute}, the ${object_1} or the "
     "${object_2}?"),
    ("abnormality", "Which anatomical location is abnormal, the ${object_1} or the ${object_2}?"),
    ("anatomy", "List all anatomical locations related to either ${attribute_1} or "
     "${attribute_2}."),
    ("anatomy", "List all common anatomical locations related to both ${attribute_1} and "
     "${attribute_2}."),
    ("anatomy", "List all anatomical locations related to ${attribute_1} but not ${attribute_2}."),
    ("presence", "Are there any ${category} related to the ${object_1} and the ${object_2}?"),
    ("presence", "Are there any ${category} related to the ${object_1} or the ${object_2}?"),
    ("anatomy", "List all anatomical locations related to any ${category}."),
    ("anatomy", "List all anatomical locations related to any ${category_1} or ${category_2}."),
    ("plane", "Is this an ${viewpos} view?"),
    ("plane", "Which view is in this image, AP or PA?"),
    ("plane", "What is the view of this image?"),
    ("gender", "Is this patient ${gender}?"),
    ("gender", "What is the gender of this patient, male or female?"),
    ("gender", "What is the gender of this patient?"),
    ("size", "Is the width of the cardiac silhouette wider than 1/2 of the thorax width?"),
    ("size", "Is the width of the upper mediastinum wider than 1/3 of the thorax width?"),
)  # fmt: skip
# Of one category rather than of several.
SINGULAR = frozenset({10, 28, 39, 40})
_KINDS = ("ask", "show", "order", "note")
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


def vqa_templates(
    seed: int, wordings: int = 40, said: Paraphrases | None = None
) -> tuple[VqaTemplate, ...]:
    """All 48, each with up to ``wordings`` sentences for each of the two pools of clauses, and the
    paraphrases ``said``."""
    cores = _cores()
    made = []
    for index, (content, text) in enumerate(TEMPLATES, 1):
        rng = random.Random(f"{seed} wordings {index}")
        clauses = [(kind, c) for kind in _KINDS for c in cores[index].get(kind, ())]
        clauses += [(_WHOLE, sentence) for sentence in (said.of("vqa", text) if said else ())]
        rng.shuffle(clauses)
        pools = divided([clause for _, clause in clauses], rng)
        found = [_sentences([clauses[at] for at in pool], rng, wordings) for pool in pools]
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


def _sentences(
    clauses: Sequence[tuple[str, str]], rng: random.Random, count: int
) -> tuple[str, ...]:
    frames = phrase_banks()["frames"]
    makers = []
    for kind in _KINDS:
        own = [clause for k, clause in clauses if k == kind]
        makers += framed(frames[kind], own, {**_OWN, "S": _STUDY})
    return Writer(rng, count).template("vqa", "", "", makers).wordings if makers else ()


def _cores() -> dict[int, dict[str, Any]]:
    """The clauses of each template: 42 are EHRXQA's, in the same order."""
    found = dict(zip([*range(1, 41), 47, 48], phrase_banks()["single"], strict=True))
    text = resources.files(__package__).joinpath("vqa_phrases.toml").read_text("utf-8")
    return {**found, **{core["index"]: core for core in tomllib.loads(text)["single"]}}
