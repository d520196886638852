"""What the builder knows of chest X-ray words beyond what the linker does.

Names and what people say instead come from ``ehr.cxr_vocabulary``, so that nothing is built that
the linker cannot find. Here: the category of each of the 68 attributes (MIMIC-CXR-VQA, Bae et
al. 2023, arXiv:2310.18652), categories as said of one and of several, and comparisons.
"""

from __future__ import annotations

import random

from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES, CATEGORIES, OBJECTS

_FEW: dict[str, frozenset[str]] = {
    "device": frozenset({"cabg grafts", "cardiac pacer and wires", "prosthetic valve"}),
    "disease": frozenset(
        {
            "alveolar hemorrhage",
            "aspiration",
            "copd/emphysema",
            "fluid overload/heart failure",
            "goiter",
            "granulomatous disease",
            "interstitial lung disease",
            "lung cancer",
            "pericardial effusion",
            "pneumonia",
        }
    ),
    "technicalassessment": frozenset({"breast/nipple shadows", "low lung volumes", "rotated"}),
    "tubesandlines": frozenset(
        {
            "chest port",
            "chest tube",
            "endotracheal tube",
            "enteric tube",
            "ij line",
            "intra-aortic balloon pump",
            "mediastinal drain",
            "picc",
            "subclavian line",
            "swan-ganz catheter",
            "tracheostomy tube",
        }
    ),
}

CATEGORY_OF: dict[str, str] = {
    name: next((kind for kind, few in _FEW.items() if name in few), "anatomicalfinding")
    for name in ATTRIBUTES
}

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


def draw(kind: str, rng: random.Random, synonyms: float = 0.3) -> tuple[str, str]:
    """A name of this kind (object, attribute or category) and words for it.

    In a share of ``synonyms`` of the draws the words are not the name. Raises KeyError for
    another kind.
    """
    name = rng.choice(tuple(_NAMES[kind]))
    if kind == "category":
        return name, rng.choice((*CATEGORY_WORDS[name], *CATEGORIES[name]))
    others = _NAMES[kind][name]
    if others and rng.random() < synonyms:
        return name, rng.choice(others)
    return name, name
