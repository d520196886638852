"""The second reader of notes: a local instruction model as a GGUF file."""

from __future__ import annotations

from pathlib import Path

from ehrqa_cli.chat import Gguf
from ehrqa_cli.notes.read.instruct.reader import InstructReader
from ehrqa_cli.notes.read.instruct.states import States

__all__ = ["Coder05", "Coder15", "InstructReader", "States", "of_file"]


class Coder15(InstructReader):
    """Qwen2.5-Coder-1.5B-Instruct as pulled. Raises ModelError, with how to pull it."""

    name = "qwen2.5-coder-1.5b"

    def __init__(self) -> None:
        super().__init__(Gguf.pulled(self.name))


class Coder05(InstructReader):
    """Qwen2.5-Coder-0.5B-Instruct as pulled. Raises ModelError, with how to pull it."""

    name = "qwen2.5-coder-0.5b"

    def __init__(self) -> None:
        super().__init__(Gguf.pulled(self.name))


def of_file(path: Path) -> InstructReader:
    """Any instruction model as a GGUF file. Raises ModelError."""
    return InstructReader(path)
