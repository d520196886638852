"""Wordings grouped by edit distance, so that those kept for valid and test are unlike the others.

As MIMIC-CXR-VQA (Bae et al. 2023, appendix B.2.2, paraphrasing): the wordings of a template are
put into four groups by their edit distance, and the groups divided three to one. The paper's
k-means needs a mean, which texts have not; here the middle of a group is a text (k-medoids).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Distances = NDArray[np.float64]

GROUPS = 4
_ROUNDS = 30


def divided(texts: Sequence[str], rng: random.Random) -> tuple[list[int], list[int]]:
    """Places of the texts for training, and of those kept back: the group that is nearest to one
    in four of them. Both have one at least, of two texts or more."""
    found = groups(texts)
    if len(found) == 1:
        return found[0], found[0] if len(texts) == 1 else []
    rng.shuffle(found)
    back = min(found, key=lambda group: abs(len(group) - len(texts) / GROUPS))
    held = set(back)
    return [at for at in range(len(texts)) if at not in held], sorted(back)


def groups(texts: Sequence[str]) -> list[list[int]]:
    """Up to ``GROUPS`` groups of places, each ascending; equal texts are in one."""
    import numpy as np
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    far: Distances = cdist(
        texts, texts, scorer=Levenshtein.normalized_distance, dtype=np.float64, workers=1
    )
    middles = _spread(far, min(GROUPS, len(set(texts))))
    for _ in range(_ROUNDS):
        nearest = far[:, middles].argmin(axis=1)
        moved = [_middle(far, np.flatnonzero(nearest == k)) for k in range(len(middles))]
        if moved == middles:
            break
        middles = moved
    nearest = far[:, middles].argmin(axis=1)
    return [[int(at) for at in np.flatnonzero(nearest == k)] for k in range(len(middles))]


def _spread(far: Distances, count: int) -> list[int]:
    """First middles: the text in the middle of all, then each time the one farthest from those."""
    found = [int(far.sum(axis=1).argmin())]
    while len(found) < count:
        found.append(int(far[:, found].min(axis=1).argmax()))
    return found


def _middle(far: Distances, members: NDArray[np.intp]) -> int:
    within = far[members][:, members].sum(axis=1)
    return int(members[int(within.argmin())])
