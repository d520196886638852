"""A reader of notes by name: an installed one, or a GGUF file."""

from __future__ import annotations

from pathlib import Path

from ehrqa_cli import registry
from ehrqa_cli.contracts.plugins import NoteReader

GGUF = ".gguf"


def open_reader(name: str) -> NoteReader:
    """The reader called ``name`` in ``ehrqa.note_reader``, or the model file that ``name`` is the
    path of (``.gguf``). Raises PluginError for one that is not installed, ModelError for a file
    that is not there or is no model."""
    if name.lower().endswith(GGUF):
        from ehrqa_cli.notes.read.instruct import of_file

        return of_file(Path(name).expanduser())
    contract: type[NoteReader] = NoteReader  # type: ignore[type-abstract]
    return registry.load(registry.NOTE_READER, name, contract)()
