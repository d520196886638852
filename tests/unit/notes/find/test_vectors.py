"""The file of vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ehrqa_cli.contracts.errors import DatabaseError
from ehrqa_cli.notes.find.embed import Embedder
from ehrqa_cli.notes.find.vectors import BYTES, VectorFile, pack, unpack


def test_four_bits_keep_the_direction(model: Embedder) -> None:
    vectors = model.embed(["Chest tube placed.", "No rash.", "Aspirin 81 mg daily"])
    kept = unpack(pack(vectors))
    assert ((vectors * kept).sum(axis=1) > 0.98).all()
    assert np.abs(vectors @ vectors.T - kept @ kept.T).max() < 0.05


def test_rows_by_place(tmp_path: Path, numbers: Embedder) -> None:
    file = VectorFile(tmp_path / "v")
    assert file.rows() == 0
    file.cut(0)
    assert file.path.stat().st_mode & 0o777 == 0o600
    vectors = numbers.embed(["a", "b", "c"])
    file.append(vectors[:2])
    file.append(vectors[2:])
    assert file.rows() == 3
    assert ((file.read(1, 2) * vectors[1:]).sum(axis=1) > 0.98).all()


def test_what_is_not_there(tmp_path: Path, numbers: Embedder) -> None:
    file = VectorFile(tmp_path / "v")
    with pytest.raises(DatabaseError, match="cannot use"):
        file.read(0, 1)
    file.cut(0)
    file.append(numbers.embed(["a", "b"]))
    with file.path.open("ab") as raw:
        raw.write(b"x" * (BYTES // 2))  # a write that was broken off
    assert file.rows() == 2
    with pytest.raises(DatabaseError, match="shorter"):
        file.read(1, 2)
