"""A patient's note, and a reader over a model that is told what to say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ehrqa_cli.chat import Gguf
from ehrqa_cli.notes.desk import NoteDesk
from ehrqa_cli.notes.find.embed import Embedder
from ehrqa_cli.notes.importing import import_notes
from ehrqa_cli.notes.read.instruct import InstructReader, States

from .fake import FakeLlama, Script

NOTE = """Admission Date: 2150-03-02     Discharge Date: 2150-03-09
History of Present Illness: He fell from a ladder while picking cherries. No chest pain.
Hospital Course: The left radius was fixed with a plate by Dr. Haverkamp on 2150-03-03.
Ibuprofen was stopped because of a gastric ulcer. Hemoglobin fell to 8.4.
{0}
Discharge Medications:
1. Oxycodone 5 mg PO q6h prn
2. Pantoprazole 40 mg PO BID
Discharge Disposition: Home with his wife.
"""
Make = Callable[..., tuple[NoteDesk, FakeLlama]]


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return Embedder.open()


@pytest.fixture
def make(tmp_path: Path, embedder: Embedder) -> Iterator[Make]:
    """A desk over one note of patient 7 (``more`` stands in it) and its model."""
    opened: list[NoteDesk] = []

    def build(
        script: Script, more: str = "", *, budget: int = 3000, states: States | None = None
    ) -> tuple[NoteDesk, FakeLlama]:
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        note = {"note_id": "n-1", "patient_id": 7, "text": NOTE.format(more)}
        (folder / "notes.jsonl").write_text(json.dumps(note) + "\n", encoding="utf-8")
        import_notes(folder / "notes.jsonl", folder / "ehr.sqlite")
        model = FakeLlama(script)
        reader = InstructReader(
            Gguf(Path("fake.gguf"), "0" * 64),
            budget=budget,
            states=states or States(tmp_path / "states"),
            embedder=embedder,
            load=model.load,
        )
        opened.append(NoteDesk.open(folder / "ehr.sqlite", reader))
        opened[-1].finder.given = embedder
        return opened[-1], model

    yield build
    for desk in opened:
        desk.close()
