"""The model behind the reader, and what it holds: a page, read once or taken from a file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ehrqa_cli.chat import Gguf, Transcript
from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.llama import Llama
from ehrqa_cli.notes.read.instruct.states import States
from ehrqa_cli.notes.read.record import OnRead

_LEAST_KEPT = 128  # tokens from which a state is worth a file


class Held:
    """A model and the page that it holds in its sequence 0. Not thread-safe beyond ``cancel``."""

    def __init__(
        self, file: Gguf, threads: int, context: int, states: States,
        load: Callable[[Path, int, int], Llama] = Llama,
    ) -> None:  # fmt: skip
        self.file = file
        self.states = states
        self._cancelled = threading.Event()
        self._llama = load(file.path, threads, context)
        self.transcript = Transcript(self._llama, self._cancelled)
        self.context = self._llama.context

    def hold(self, tokens: Sequence[int], on_read: OnRead | None = None) -> None:
        """Make the model hold ``tokens`` from its beginning: still, from a file, or read now."""
        held = self.transcript.held
        if held[: len(tokens)] == list(tokens):
            self.transcript.back_to(len(tokens))
        elif not self._from_file(tokens):
            self.transcript.read(tokens, on_read)
            if len(tokens) >= _LEAST_KEPT and self.states.most_bytes:
                self.states.save(States.key(self.file.sha256, tokens), self._llama.state())
        if on_read:
            on_read(len(tokens), len(tokens))

    def _from_file(self, tokens: Sequence[int]) -> bool:
        state = self.states.load(States.key(self.file.sha256, tokens))
        if state is None:
            return False
        self.transcript.held = []
        try:
            self._llama.restore(state)
        except ModelError:  # another build of llama.cpp wrote it
            self._llama.clear()
            return False
        self.transcript.held = list(tokens)
        return True

    def cancel(self) -> None:
        """End what runs, from any thread."""
        self._cancelled.set()
        self._llama.cancel()

    def resume(self) -> None:
        """Let it run again."""
        self._cancelled.clear()
        self._llama.resume()

    def close(self) -> None:
        """Free the model."""
        self._llama.close()


def told(file: Gguf) -> Mapping[str, str]:
    """For provenance."""
    return {"model": file.path.name, "model_sha256": file.sha256}
