"""The second reader of notes: a local instruction model as a GGUF file."""

from __future__ import annotations

from pathlib import Path

from ehrqa_cli.chat import Gguf
from ehrqa_cli.notes.read.instruct.reader import InstructReader
from ehrqa_cli.notes.read.instruct.states import States

__all__ = ["InstructReader", "States", "of_file", "of_pulled"]


def of_pulled(name: str) -> InstructReader:
    """The pulled model called ``name``. Raises ModelError, with how to pull it."""
    return InstructReader(Gguf.pulled(name))


def of_file(path: Path) -> InstructReader:
    """Any instruction model as a GGUF file. Raises ModelError."""
    return InstructReader(path)
