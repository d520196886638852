"""Chest X-rays of the demo at scale: a table of studies, and scene graphs as tables.

There are no images: the scene graphs are drawn, by what the patients came with, about as dense as
those of the open re-creation of EHRXQA (22 relations a study).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ehrqa_cli.contracts.images import Coverage, Relation, SceneGraph
from ehrqa_cli.contracts.plugins import SceneGraphSource
from ehrqa_cli.contracts.types import Row
from ehrqa_cli.ehr.demo.crowd import MINUTE, Coded, Crowd, Ints, Rows, Visits
from ehrqa_cli.ehr.demo.people import FIRST_VISIT
from ehrqa_cli.ehr.demo.vocabulary import vocabulary
from ehrqa_cli.vqa.ontology import POSSIBLE
from ehrqa_cli.vqa.tables.rows import Graphs
from ehrqa_cli.vqa.thresholds import VqaThresholds

RELATIONS: tuple[Relation, ...] = tuple(sorted(POSSIBLE))
Random = Callable[[int], npt.NDArray[np.float64]]
_FIRST_STUDY = 50_000_001
_FILMS = 100  # the purpose of their stream of chance
_OFTEN, _ELSE = 0.45, 0.12  # share of the visits with studies: for the chest's sake, or not
_LEAST, _MOST = 0.004, 0.09  # how often a finding is in a place
_RAISED = 6.0  # as often, if it belongs to what the patient came with
# What the stories of the demo look like on a film.
_LOOKS: Mapping[str, tuple[str, ...]] = {
    "heart failure": (
        *("enlarged cardiac silhouette", "pulmonary edema/hazy opacity", "pleural effusion"),
        *("vascular congestion", "fluid overload/heart failure"),
    ),
    "pneumonia": ("pneumonia", "consolidation", "lung opacity", "airspace opacity"),
    "sepsis": ("lung opacity", "ij line", "endotracheal tube", "atelectasis"),
    "copd exacerbation": ("copd/emphysema", "hyperaeration", "atelectasis"),
    "pulmonary embolism": ("pleural effusion", "atelectasis"),
}


class _Labels(SceneGraphSource):
    """What the drawn graphs would say they are; they are written directly."""

    name = "demo"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def coverage(self) -> Coverage:
        return Coverage(
            RELATIONS, view=True, sex=True, heart=True, mediastinum=True, possible=POSSIBLE
        )

    def read(self, studies: Sequence[int]) -> Mapping[int, SceneGraph]:
        return {}

    def provenance(self) -> Mapping[str, str]:
        return {"scene_graphs": f"demo:{self._seed}"}


def dictionaries(seed: int) -> dict[str, list[Row]]:
    """Rows of the small tables, without ``row_id``."""
    graphs = Graphs(_Labels(seed), VqaThresholds(), ())
    return {"d_cxr_relations": graphs.dictionary(), "cxr_source": graphs.about()}


def films(crowd: Crowd) -> Iterator[tuple[str, Rows]]:
    """The rows of tb_cxr, cxr_studies and cxr_relations of one part."""
    random, visits = crowd.chance(_FILMS), crowd.visits
    visit, study, time = _taken(random, visits)
    pa = (random(len(visit)) < 0.4).astype(np.float64)
    images = Coded(
        np.arange(len(visit), dtype=np.int32), tuple(_image(number) for number in study.tolist())
    )
    yield (
        "tb_cxr",
        {
            "subject_id": visits.subject_id[visit],
            "hadm_id": visits.hadm_id[visit],
            "study_id": study,
            "image_id": images,
            "studydatetime": time,
            "viewposition": Coded(pa.astype(np.int32), ("ap", "pa")),
        },
    )
    failing = _stories("enlarged cardiac silhouette")[visits.story[visit]]
    heart = np.where(failing, 0.56, 0.48) + 0.05 * _bell(random, len(visit))
    yield (
        "cxr_studies",
        {
            "study_id": study,
            "image_id": images,
            "pa": pa,
            "female": (~visits.male[visit]).astype(np.float64),
            "ctr": np.round(heart, 3),
            "mtr": np.round(0.3 + 0.04 * _bell(random, len(visit)), 3),
            "problem": Coded(np.full(len(visit), -1, np.int32), ()),
        },
    )
    present = random((len(visit), len(RELATIONS))) < _rates()[visits.story[visit]]
    relation, row = np.nonzero(present.T)  # by relation, as they are asked for
    yield (
        "cxr_relations",
        {
            "study_id": study[row],
            "relation": relation,
            "probability": np.ones(len(row)),
        },
    )


def _taken(random: Random, visits: Visits) -> tuple[Ints, Ints, Ints]:
    """Of each study its visit (an index), its number and its time."""
    looks = np.array([story.name in _LOOKS for story in vocabulary().stories])[visits.story]
    taken = random(len(visits)) < np.where(looks, _OFTEN, _ELSE)
    count = np.where(taken, 1 + (random(len(visits)) * 3).astype(np.int64), 0)
    visit = np.repeat(np.arange(len(visits)), count)
    at = np.arange(len(visit)) - np.repeat(np.cumsum(count) - count, count)
    study = _FIRST_STUDY + (visits.hadm_id[visit] - FIRST_VISIT) * 10 + at
    length = visits.until[visit] - visits.start[visit]
    # In the order of their numbers, each in its own part of the visit.
    part = (at + random(len(visit))) / count[visit]
    time = visits.start[visit] + (length * part).astype(np.int64)
    return visit, study, time // MINUTE * MINUTE


def _image(study: int) -> str:
    return hashlib.sha256(f"demo image {study}".encode()).hexdigest()[:16]


def _bell(random: Random, count: int) -> Any:
    """About normal, with mean 0 and deviation 1, from even numbers."""
    return (sum(random(count) for _ in range(4)) - 2.0) * 1.7320508


def _stories(finding: str) -> npt.NDArray[np.bool_]:
    """Which stories look like a finding."""
    return np.array([finding in _LOOKS.get(story.name, ()) for story in vocabulary().stories])


def _rates() -> npt.NDArray[np.float64]:
    """(stories, relations): how often each is present."""
    base = np.array([_rate(relation) for relation in RELATIONS])
    raised = np.array([_stories(name) for _, name in RELATIONS]).T
    rates: npt.NDArray[np.float64] = np.minimum(0.6, base * np.where(raised, _RAISED, 1.0))
    return rates


def _rate(relation: Relation) -> float:
    """Of one relation, drawn by its name; few are frequent."""
    drawn = int.from_bytes(hashlib.sha256("|".join(relation).encode()).digest()[:4], "big") / 2**32
    return _LEAST * math.exp(drawn * math.log(_MOST / _LEAST))
