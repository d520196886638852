"""A language model that is spoken to: a prompt of which only what is new is read.

Shared by those who drive a whole instruction model: the third opinion on SQL, the reader of notes
and the judge.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ehrqa_cli.contracts.errors import Cancelled, ModelError
from ehrqa_cli.llama import Frame

_MAGIC = b"GGUF"
STEP = 128  # tokens read at once: what is lost when it is cancelled, and how fine progress is


@dataclass(frozen=True)
class Gguf:
    """The file of a model and its SHA-256, as published for a pulled one, else as it is."""

    path: Path
    sha256: str

    @classmethod
    def pulled(cls, name: str) -> Gguf:
        """The pulled model called ``name``. Raises ModelError, with how to pull it, where it is
        missing or not whole."""
        from ehrqa_cli import config, modelstore

        folder = config.load().models_dir()
        model = modelstore.by_name(name, folder)
        path = modelstore.find(name, folder)
        # Only the size: hashing a gigabyte would take as long as an answer.
        if path.stat().st_size != model.bytes:
            raise ModelError(
                f"the model '{name}' is not whole: {path}",
                f"run `ehrqa models pull {name} --force`",
            )
        return cls(path, model.sha256)

    @classmethod
    def named(cls, path: Path) -> Gguf:
        """The file at ``path``. Raises ModelError where there is none, or it is no GGUF file."""
        from ehrqa_cli import modelstore

        try:
            with path.open("rb") as file:
                begins = file.read(len(_MAGIC))
        except OSError as error:
            raise ModelError(
                f"cannot read the model {path}: {error.strerror}",
                "name a GGUF file, or pull one: see `ehrqa models list`",
            ) from error
        if begins != _MAGIC:
            raise ModelError(f"{path} is not a GGUF file", "name an instruction model as GGUF")
        return cls(path, modelstore.digest(path))


class Writer(Protocol):
    """What is needed of ehrqa_cli.llama.Llama; tests give a fake."""

    def frame(self) -> Frame: ...
    def is_end(self, token: int) -> bool: ...
    def tokenize(self, text: str) -> list[int]: ...
    def truncate(self, length: int) -> None: ...
    def text_of(self, ids: Sequence[int]) -> str: ...
    def decode(self, entries: Sequence[tuple[int, int, int, bool]]) -> Sequence[Any]: ...
    def close(self) -> None: ...


class Transcript:
    """What a model holds of its sequence 0. Not thread-safe beyond ``cancelled``.

    Every method raises Cancelled once ``cancelled`` is set.
    """

    def __init__(self, writer: Writer, cancelled: threading.Event | None = None) -> None:
        self.writer = writer
        self.held: list[int] = []
        self.cancelled = cancelled or threading.Event()
        self._frame: Frame | None = None

    def chat(self, system: str, user: str) -> list[int]:
        """Token ids of the two messages in the model's own format; the answer is begun for it."""
        frame = self._framed()
        said = [*self.writer.tokenize(system), *frame.between, *self.writer.tokenize(user)]
        return [*frame.before, *said, *frame.after]

    def opening(self, system: str) -> list[int]:
        """The first part of `chat`, up to where the user's message begins."""
        frame = self._framed()
        return [*frame.before, *self.writer.tokenize(system), *frame.between]

    def closing(self) -> tuple[int, ...]:
        """The last part of `chat`, from where the user's message ends."""
        return self._framed().after

    def read(self, ids: Sequence[int], on_read: Callable[[int, int], None] | None = None) -> Any:
        """Logits (vocabulary,) after ``ids``, the whole prompt; what the model holds of the same
        beginning is not read again. ``on_read`` is called with (read, all) tokens."""
        same = 0
        while same < min(len(self.held), len(ids) - 1) and self.held[same] == ids[same]:
            same += 1
        self.back_to(same)
        return self.add(ids[same:], on_read)

    def back_to(self, length: int) -> None:
        """Hold only the first ``length`` tokens."""
        self.writer.truncate(length)
        self.held = self.held[:length]

    def add(self, ids: Sequence[int], on_read: Callable[[int, int], None] | None = None) -> Any:
        """Logits (vocabulary,) after ``ids``, which follow what is held."""
        last: Any = None
        whole = len(self.held) + len(ids)
        for start in range(0, len(ids), STEP):
            if self.cancelled.is_set():
                raise Cancelled("cancelled", "")
            part = ids[start : start + STEP]
            at, final = len(self.held), start + len(part) == len(ids)
            entries = [
                (token, at + i, 0, final and i == len(part) - 1) for i, token in enumerate(part)
            ]
            found = self.writer.decode(entries)
            self.held += part
            last = found[0] if final else last
            if on_read:
                on_read(len(self.held), whole)
        return last

    def write(self, logits: Any, most: int, ends: str = "") -> str:
        """What the model goes on to say, greedy, to its end, ``most`` tokens or a text that has
        ``ends`` in it; ``logits`` are those after what is held."""
        import numpy as np

        out: list[int] = []
        while len(out) < most:
            if self.cancelled.is_set():
                raise Cancelled("cancelled", "")
            token = int(np.argmax(np.asarray(logits)))
            if self.writer.is_end(token):
                break
            out.append(token)
            if ends and ends in self.writer.text_of([token]):
                break
            if len(out) < most:
                logits = self.add([token])
        return self.writer.text_of(out)

    def _framed(self) -> Frame:
        if self._frame is None:
            self._frame = self.writer.frame()
        return self._frame
