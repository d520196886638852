"""A transcript reads only what is new, and can be ended."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ehrqa_cli.chat import STEP, Transcript
from ehrqa_cli.contracts.errors import Cancelled
from ehrqa_cli.llama import Frame


class Letters:
    """One token a letter; it says "yes", then ends."""

    def __init__(self) -> None:
        self.held: list[int] = []
        self.read: list[int] = []

    def frame(self) -> Frame:
        return Frame((1,), (2, 1), (2, 1))

    def is_end(self, token: int) -> bool:
        return token == 2

    def tokenize(self, text: str) -> list[int]:
        return [ord(c) for c in text]

    def truncate(self, length: int) -> None:
        self.held = self.held[:length]

    def text_of(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))

    def decode(self, entries: Sequence[tuple[int, int, int, bool]]) -> list[Any]:
        assert len(entries) <= STEP
        for token, position, _, _ in entries:
            assert position == len(self.held)
            self.held.append(token)
            self.read.append(token)
        said = self.text_of(self.held).rpartition("\x02\x01")[2]
        logits = np.zeros(300, np.float32)
        logits[ord("yes\x02"[len(said)]) if len(said) < 4 else 2] = 1.0
        return [logits] if entries[-1][3] else []

    def close(self) -> None: ...


def test_what_is_held_is_not_read_again() -> None:
    model = Letters()
    transcript = Transcript(model)
    told: list[tuple[int, int]] = []
    first = transcript.chat("rules" * 100, "one")
    transcript.read(first, lambda done, whole: told.append((done, whole)))
    assert told[-1] == (len(first), len(first)) and len(told) > 2
    before = len(model.read)
    transcript.read(transcript.chat("rules" * 100, "two"))
    assert len(model.read) - before == len("two") + 2
    assert model.held == transcript.held


def test_the_same_prompt_twice_still_gives_logits() -> None:
    transcript = Transcript(Letters())
    ids = transcript.chat("a", "b")
    assert np.array_equal(transcript.read(ids), transcript.read(ids))


def test_it_writes_to_its_end_or_as_far_as_it_may() -> None:
    transcript = Transcript(Letters())
    ids = transcript.chat("a", "b")
    assert transcript.write(transcript.read(ids), 10) == "yes"
    assert transcript.write(transcript.read(ids), 2) == "ye"
    assert transcript.write(transcript.read(ids), 10, ends="e") == "ye"


def test_it_ends_when_it_is_told_to() -> None:
    stop = threading.Event()
    transcript = Transcript(Letters(), stop)
    logits = transcript.read(transcript.chat("a", "b"))
    stop.set()
    with pytest.raises(Cancelled):
        transcript.write(logits, 10)
    with pytest.raises(Cancelled):
        transcript.read(transcript.chat("a", "c"))
