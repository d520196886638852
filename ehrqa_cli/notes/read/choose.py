"""A reader of notes by name: an installed one, a pulled model, or a GGUF file."""

from __future__ import annotations

from pathlib import Path

from ehrqa_cli import registry
from ehrqa_cli.contracts.plugins import NoteReader

GGUF = ".gguf"


def open_reader(name: str) -> NoteReader:
    """The reader called ``name`` in ``ehrqa.note_reader``, the model of that name that can be
    pulled, or the model file that ``name`` is the path of (``.gguf``).

    Raises PluginError for a name that nothing has, ModelError for a model that is not here.
    """
    if name.lower().endswith(GGUF):
        from ehrqa_cli.notes.read.instruct import of_file

        return of_file(Path(name).expanduser())
    if name not in registry.names(registry.NOTE_READER) and name in _models():
        from ehrqa_cli.notes.read.instruct import of_pulled

        return of_pulled(name)
    contract: type[NoteReader] = NoteReader  # type: ignore[type-abstract]
    return registry.load(registry.NOTE_READER, name, contract)()


def _models() -> list[str]:
    from ehrqa_cli import modelstore

    return [model.name for model in modelstore.pullable_models(Path())]
