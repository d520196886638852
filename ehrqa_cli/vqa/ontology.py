"""What is part of what, and which finding can be where (MIMIC-CXR-VQA, Bae et al. 2023).

Presence is carried from a child to its parents: consolidation in the left lower lung zone is an
airspace opacity there, and a consolidation in the left lung. It is never carried back.
"""

from __future__ import annotations

import functools

from ehrqa_cli.contracts.images import Relation
from ehrqa_cli.ehr.cxr_vocabulary import CATEGORIES, CATEGORY_OF, OBJECTS

# Abnormality is every category but the technical one.
ABNORMALITY = "abnormality"
TECHNICAL = "technicalassessment"

_SIDES = ("left", "right")
_IN_LUNG = ("upper lung zone", "mid lung zone", "lower lung zone")

OBJECT_PARENT: dict[str, str] = {
    "aortic arch": "upper mediastinum",
    "svc": "upper mediastinum",
    "upper mediastinum": "mediastinum",
    "cardiac silhouette": "mediastinum",
    "carina": "mediastinum",
    "cavoatrial junction": "mediastinum",
    "right atrium": "cardiac silhouette",
    **{f"{side} apical zone": f"{side} upper lung zone" for side in _SIDES},
    **{
        f"{side} {name}": f"{side} lung"
        for side in _SIDES
        for name in (*_IN_LUNG, "costophrenic angle", "hilar structures")
    },
}

_ATTRIBUTE_CHILDREN: dict[str, tuple[str, ...]] = {
    "airspace opacity": (
        *("consolidation", "infiltration", "pneumonia", "aspiration", "alveolar hemorrhage"),
    ),
    "lung opacity": (
        *("airspace opacity", "atelectasis", "pulmonary edema/hazy opacity", "lung lesion"),
        "increased reticular markings/ild pattern",
    ),
    "atelectasis": ("linear/patchy atelectasis", "lobar/segmental collapse"),
    "increased reticular markings/ild pattern": ("interstitial lung disease",),
    "lung lesion": (
        *("mass/nodule (not otherwise specified)", "multiple masses/nodules"),
        *("calcified nodule", "lung cancer"),
    ),
    "pleural effusion": ("hydropneumothorax",),
    "pneumothorax": ("hydropneumothorax",),
    "mediastinal widening": ("superior mediastinal mass/enlargement",),
    "vascular congestion": ("vascular redistribution",),
}

# Groups of places; those of the lungs stand for both sides.
_PLACES: dict[str, tuple[str, ...]] = {
    "lung": ("lung",),
    "zones": _IN_LUNG,
    "apex": ("apical zone",),
    "low": ("lower lung zone", "mid lung zone"),
    "base": ("lower lung zone",),
    "upper": ("upper lung zone",),
    "hila": ("hilar structures",),
    "angle": ("costophrenic angle",),
    "wall": ("chest wall",),
    **{name: (name,) for name in ("breast", "clavicle", "shoulder", "hemidiaphragm")},
    "veins": ("svc", "upper mediastinum", "mediastinum", "cavoatrial junction", "right atrium"),
    "heart": ("cardiac silhouette", "mediastinum"),
    "aorta": ("aortic arch", "upper mediastinum", "mediastinum"),
    "upper med": ("upper mediastinum", "mediastinum"),
}
_WHERE: dict[str, tuple[str, ...]] = {
    "lung zones apex hila angle": ("lung opacity",),
    "lung zones apex hila": (
        *("airspace opacity", "calcified nodule", "granulomatous disease", "lung cancer"),
        *("lung lesion", "mass/nodule (not otherwise specified)", "multiple masses/nodules"),
        "increased reticular markings/ild pattern",
    ),
    "lung zones apex angle": (
        *("atelectasis", "chest tube", "linear/patchy atelectasis", "pleural effusion"),
        *("pleural/parenchymal scarring", "pneumothorax"),
    ),
    "lung zones apex": ("consolidation", "cyst/bullae", "infiltration"),
    "lung zones hila": ("pulmonary edema/hazy opacity",),
    "lung zones": (
        *("alveolar hemorrhage", "interstitial lung disease", "lobar/segmental collapse"),
        "pneumonia",
    ),
    "lung low": ("aspiration", "low lung volumes"),
    "lung low angle": ("hydropneumothorax",),
    "lung upper apex": ("copd/emphysema",),
    "lung upper hila": ("vascular congestion", "vascular redistribution"),
    "lung angle": ("costophrenic angle blunting",),
    "lung hila": ("enlarged hilum",),
    "lung": ("hyperaeration",),
    "lung base breast": ("breast/nipple shadows",),
    "lung heart": ("fluid overload/heart failure",),
    "lung hila heart right_atrium svc upper_mediastinum": ("swan-ganz catheter",),
    "wall clavicle shoulder spine": ("bone lesion",),
    "wall breast shoulder neck": ("subcutaneous air",),
    "wall": ("rib fracture",),
    "wall heart right_atrium": ("cardiac pacer and wires",),
    "wall heart veins": ("chest port",),
    "shoulder heart veins": ("picc",),
    "clavicle heart veins": ("subclavian line",),
    "neck heart veins": ("ij line",),
    "clavicle": ("clavicle fracture",),
    "shoulder": ("shoulder osteoarthritis",),
    "spine": ("scoliosis", "spinal degenerative changes", "spinal fracture"),
    "hemidiaphragm": ("elevated hemidiaphragm",),
    "hemidiaphragm abdomen": ("sub-diaphragmatic air",),
    "hemidiaphragm abdomen mediastinum": ("hernia",),
    "left_hemidiaphragm abdomen mediastinum neck": ("enteric tube",),
    "heart": (
        *("cabg grafts", "enlarged cardiac silhouette", "pericardial effusion"),
        "prosthetic valve",
    ),
    "heart trachea": ("mediastinal displacement",),
    "heart trachea spine": ("rotated",),
    "aorta": ("intra-aortic balloon pump", "tortuous aorta", "vascular calcification"),
    "upper_med": ("mediastinal widening", "superior mediastinal mass/enlargement"),
    "upper_med neck": ("pneumomediastinum",),
    "upper_med neck trachea": ("goiter",),
    "mediastinum": ("mediastinal drain",),
    "carina mediastinum neck trachea": ("endotracheal tube",),
    "neck trachea": ("tracheostomy tube",),
}


def _objects(place: str) -> list[str]:
    name = place.replace("_", " ")
    found: list[str] = []
    for part in _PLACES.get(name, (name,)):
        if part in OBJECTS:
            found.append(part)
        else:
            found += [f"{side} {part}" for side in _SIDES]
    return found


# Relations that can occur, for sources without an ontology of their own.
POSSIBLE: frozenset[Relation] = frozenset(
    (place, name)
    for places, names in _WHERE.items()
    for word in places.split()
    for place in _objects(word)
    for name in names
)


@functools.cache
def children(name: str) -> frozenset[str]:
    """The attribute itself and everything that is a kind of it."""
    below = [children(child) for child in _ATTRIBUTE_CHILDREN.get(name, ())]
    return frozenset({name}).union(*below)


@functools.cache
def parts(place: str) -> frozenset[str]:
    """The object itself and everything that is a part of it."""
    below = [parts(child) for child, parent in OBJECT_PARENT.items() if parent == place]
    return frozenset({place}).union(*below)


@functools.cache
def members(name: str) -> tuple[str, ...]:
    """The attributes that an attribute's, a category's or ABNORMALITY's name stands for."""
    if name == ABNORMALITY:
        return tuple(a for a, kind in CATEGORY_OF.items() if kind != TECHNICAL)
    if name in CATEGORIES:
        return tuple(a for a, kind in CATEGORY_OF.items() if kind == name)
    return (name,)
