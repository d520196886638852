"""What the builder knows of chest X-ray words beyond what the linker does.

Names and what people say instead come from ``ehr.cxr_vocabulary``, so that nothing is built that
the linker cannot find. Here: categories as said of one and of several, and comparisons.
"""

from __future__ import annotations

import random

from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, CATEGORIES, OBJECTS

# Of one, of several.
CATEGORY_WORDS: dict[str, tuple[str, str]] = {
    "anatomicalfinding": ("anatomical finding", "anatomical findings"),
    "device": ("device", "devices"),
    "disease": ("disease", "diseases"),
    "technicalassessment": ("technical assessment", "technical assessments"),
    "tubesandlines": ("tube/line", "tubes/lines"),
}

# How a comparison of two studies is written in the form, and the templates' words for it.
COMPARISONS: dict[str, str] = {
    "still_present": "still present",
    "still_absent": "still absent",
    "new": "newly detected",
    "resolved": "resolved",
}

_NAMES = {"object": OBJECTS, "attribute": ATTRIBUTES, "category": CATEGORIES}


def draw(kind: str, rng: random.Random) -> tuple[str, str]:
    """A name of this kind (object, attribute or category) and words for it. Raises KeyError for
    another kind."""
    name = rng.choice(tuple(_NAMES[kind]))
    return name, words_of(kind, name, rng)


def words_of(kind: str, name: str, rng: random.Random) -> str:
    """Words for a name of this kind: three times in ten not the name itself."""
    if kind == "category":
        return rng.choice((*CATEGORY_WORDS[name], *CATEGORIES[name]))
    others = _NAMES[kind][name]
    if others and rng.random() < 0.3:
        return rng.choice(others)
    return name
