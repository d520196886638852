"""Notes beside an EHR, and embedders."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ehrqa_cli.notes.find.embed import Embedder
from ehrqa_cli.notes.importing import import_notes

from .made_up import NOTES, Numbers


@pytest.fixture
def numbers() -> Numbers:
    """An embedder without a model."""
    return Numbers(None, "numbers")


@pytest.fixture(scope="session")
def model() -> Embedder:
    """The sentence model itself."""
    return Embedder.open(threads=1)


@pytest.fixture
def add_notes(tmp_path: Path) -> Callable[..., Path]:
    """Import notes beside an EHR; returns the EHR's path."""

    def add(notes: Sequence[dict[str, Any]], replace: bool = False) -> Path:
        source, db = tmp_path / "notes.jsonl", tmp_path / "ehr.sqlite"
        source.write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
        import_notes(source, db, replace=replace)
        return db

    return add


@pytest.fixture
def db(add_notes: Callable[..., Path]) -> Path:
    """An EHR with the notes of NOTES."""
    return add_notes(NOTES)
