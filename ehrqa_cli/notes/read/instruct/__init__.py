"""The second reader of notes: a local instruction model as a GGUF file."""

from __future__ import annotations

from pathlib import Path

from ehrqa_cli.chat import Gguf
from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.notes.read.instruct.reader import InstructReader
from ehrqa_cli.notes.read.instruct.states import States

__all__ = ["Coder05", "Coder15", "InstructReader", "States", "of_file"]


class _Pulled(InstructReader):
    """A model that the user has pulled. Raises ModelError, with how to pull it."""

    def __init__(self) -> None:
        super().__init__(Gguf.pulled(self.name))

    @classmethod
    def lacking(cls) -> str:
        """What must be had before it can be used, and how; "" when it is there."""
        try:
            Gguf.pulled(cls.name)
        except ModelError as error:
            return str(error)
        return ""


class Coder15(_Pulled):
    """Qwen2.5-Coder-1.5B-Instruct as pulled."""

    name = "qwen2.5-coder-1.5b"


class Coder05(_Pulled):
    """Qwen2.5-Coder-0.5B-Instruct as pulled."""

    name = "qwen2.5-coder-0.5b"


def of_file(path: Path) -> InstructReader:
    """Any instruction model as a GGUF file. Raises ModelError."""
    return InstructReader(path)
