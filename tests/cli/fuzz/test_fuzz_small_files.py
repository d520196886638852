"""A small file of weights or thresholds that is harmed is told on one line, with the next step."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ehrqa_cli import modelstore
from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.engine.note_route import NoteRouter
from ehrqa_cli.engine.risk import Thresholds

from .odd import INPUTS, harmed

LOADERS: dict[str, Callable[[Path], object]] = {
    "text2sql/thresholds.json": Thresholds.load,
    "note_router/weights.json": NoteRouter.load,
}
WHOLE = (b"", b"{}", b"[]", b"null", b"[" * 5000, b"9" * 5000, b'{"weights": 1}', b"\xff\xfe")


@pytest.mark.parametrize("name", LOADERS)
def test_a_harmed_file(tmp_path: Path, name: str) -> None:
    good = (modelstore.models_root() / name).read_bytes()
    told = 0
    for number in range(-1, INPUTS // len(LOADERS)):
        rng = random.Random(f"{name} {number}")
        path = tmp_path / f"{number}.json"
        if number >= 0:
            small = number < len(WHOLE)
            path.write_bytes(WHOLE[number] if small else harmed(rng, good.replace(b"0.", b"1e309")))
        try:
            LOADERS[name](path)
        except EhrqaError as error:
            told += 1
            assert error.hint and "\n" not in str(error), number
    assert told > len(WHOLE) - 2
