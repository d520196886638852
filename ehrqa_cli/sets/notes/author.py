"""The local model that writes the items. Notes are read once for all that is asked over them.

What it is given depends on the item alone, in the same pieces, so that a build which was killed and
goes on gets the same words: before each item it holds just the notes, read from the beginning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.chat import Gguf, Transcript, Writer
from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.read.instruct import asking
from ehrqa_cli.sets.notes.prompts import SYSTEM, marked

if TYPE_CHECKING:
    from ehrqa_cli.llama import Llama

CONTEXT = 12_288  # tokens: level 2 by our estimate, the instructions, and what is written
ROOM = 1_400  # of them for the instructions and what is written
_NOTHING = "There are no notes; answer by what is usual."
Load = Callable[[Path, int, int], Writer]


def load_llama(path: Path, threads: int, context: int) -> Llama:
    """The model in ``path`` by llama.cpp. Raises ModelError."""
    from ehrqa_cli.llama import Llama

    return Llama(path, threads, context)


class Author:
    """A model, loaded when it is first asked. Raises ModelError, and Cancelled once ``cancelled``
    is set. With two threads or one, the words are the same on one machine."""

    def __init__(self, file: Gguf, threads: int = 0, load: Load = load_llama) -> None:
        self.file = file
        self.cancelled = threading.Event()
        self._load, self._threads = load, threads
        self._transcript: Transcript | None = None
        self._prefix: list[int] = []

    def provenance(self) -> Mapping[str, str]:
        """The file and its hash; it writes greedily."""
        return {"model": self.file.path.name, "sha256": self.file.sha256, "sampling": "greedy"}

    def close(self) -> None:
        """Free the model."""
        if self._transcript is not None:
            self._transcript.writer.close()
            self._transcript = None

    def begin(self, notes: Sequence[Note]) -> bool:
        """Read the notes of a patient. False where there is no room for them."""
        return self._begin(marked(notes))

    def _begin(self, text: str) -> bool:
        model = self._opened()
        prefix = [*model.opening(SYSTEM), *model.writer.tokenize(f"{text}\n\n")]
        context = int(getattr(model.writer, "context", CONTEXT))
        if len(prefix) + ROOM > context:
            return False
        self._prefix = prefix
        if model.held[: len(prefix)] == prefix:
            model.back_to(len(prefix))
        else:
            model.back_to(0)
            model.add(prefix)
        return True

    def write(self, instruction: str, most: int, ends: str = "", begun: str = "") -> str:
        """What the model writes over the notes, at most so many tokens, up to a token with ``ends``
        in it; with ``begun`` it goes on from there, and that is part of what is returned."""
        model = self._opened()
        model.back_to(len(self._prefix))
        said = model.writer.tokenize(begun) if begun else []
        logits = model.add([*model.writer.tokenize(instruction), *model.closing(), *said])
        return begun + model.write(logits, most, ends)

    def chances(self, question: str, choices: Mapping[str, str]) -> dict[str, float]:
        """The logarithm of each choice's probability, and of "" for none of them, as the mean of
        two askings with the choices in both orders."""
        return asking.letters(self._opened(), self._prefix, question, choices)

    def chances_without_notes(self, question: str, choices: Mapping[str, str]) -> dict[str, float]:
        """The same without any notes; the notes must be begun anew afterwards."""
        self._begin(_NOTHING)
        return self.chances(question, choices)

    def _opened(self) -> Transcript:
        if self._transcript is None:
            writer = self._load(self.file.path, self._threads, CONTEXT)
            self._transcript = Transcript(writer, self.cancelled)
        return self._transcript
