"""An index that a full disk or a fault has spoilt is said so, and can be made again."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ehrqa_cli.contracts.errors import EhrqaError
from ehrqa_cli.notes.find.build import index_notes
from ehrqa_cli.notes.find.finder import Finder
from ehrqa_cli.notes.find.index_file import IndexFile
from ehrqa_cli.notes.importing import import_notes

FILES = (".notes.index", ".notes.vectors", ".notes.faiss")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few notes with their index."""
    db = tmp_path_factory.mktemp("whole") / "ehr.sqlite"
    lines = db.with_name("notes.jsonl")
    texts = ("Allergies: penicillin.", "No chest pain.\nTakes metformin 500 mg.", "Pleural drain.")
    rows = (f'{{"note_id": "{k}", "patient_id": 101, "text": "{t}"}}' for k, t in enumerate(texts))
    lines.write_text("\n".join(rows).replace(".\nT", ".\\nT"))
    import_notes(lines, db)
    index_notes(db)
    return db


def copied(whole: Path, to: Path) -> Path:
    for path in whole.parent.iterdir():
        shutil.copy(path, to)
    return to / whole.name


def look(db: Path) -> None:
    with Finder.open(db) as finder:
        finder.find("does she have an allergy?", 101)
        finder.cohort("penicillin")


def test_an_index_that_was_never_begun_is_none(whole: Path, tmp_path: Path) -> None:
    db = copied(whole, tmp_path)
    for ending in FILES:
        db.with_name(db.name + ending).unlink()
    db.with_name(db.name + FILES[0]).touch()  # as a full disk leaves it
    assert IndexFile.open(db) is None
    with Finder.open(db) as finder:
        assert finder.find("allergy?", 101)
    assert index_notes(db).notes == 3
    look(db)


def noise(rng: random.Random, data: bytes) -> bytes:
    return rng.randbytes(len(data))


def cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def spots(rng: random.Random, data: bytes) -> bytes:
    raw = bytearray(data)
    for _ in range(30):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def names(rng: random.Random, data: bytes) -> bytes:
    """The name of a table, with a byte that is no text."""
    del rng
    return data.replace(b"line_text_data", b"line_t\xacxt_data", 1)


@pytest.mark.parametrize("ending", FILES)
@pytest.mark.parametrize("harm", [noise, cut, spots, names])
def test_a_scrambled_file_is_told_and_mended(
    whole: Path, tmp_path: Path, ending: str, harm: Callable[[random.Random, bytes], bytes]
) -> None:
    db = copied(whole, tmp_path)
    path = db.with_name(db.name + ending)
    path.write_bytes(harm(random.Random(f"{ending} {harm.__name__}"), path.read_bytes()))
    for step in (look, index_notes, look):
        try:
            step(db)
        except EhrqaError as error:
            assert error.hint and "\n" not in str(error)
    index_notes(db, rebuild=True)
    look(db)
