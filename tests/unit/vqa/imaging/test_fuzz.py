"""Bad image files of every kind: a picture, or an error of one line, soon, and nothing written."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from .fuzzed import make, outcome

SECONDS = 10.0  # of one file; the slowest of 10,000 took a twentieth


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(10))
def test_each_is_a_picture_or_refused(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    found = set()
    for number in range(40):
        path = make(rng, tmp_path, number)
        there = sorted(p.name for p in tmp_path.iterdir())
        begun = time.monotonic()
        found.add(outcome(path, 224 if number % 2 else None))
        assert time.monotonic() - begun < SECONDS, path.name
        assert sorted(p.name for p in tmp_path.iterdir()) == there
    assert found == {"a picture", "refused"}
