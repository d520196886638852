"""A model that says what a test tells it to, word by word, and remembers what it was asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ehrqa_cli.llama import Frame

_PIECE = re.compile(r"\s?\S+|\s")
_END, _AFTER = 0, 1
_ROOM = 20_000

# Given all that the model holds, what it says.
Reply = Callable[[str], str]


class FakeWriter:
    """What ehrqa_cli.chat.Writer asks for, over whole words."""

    def __init__(self, reply: Reply, context: int = 12_288) -> None:
        self.reply, self.context = reply, context
        self.ids: dict[str, int] = {"<end>": _END, "\n<answer>\n": _AFTER}
        self.words: list[str] = list(self.ids)
        self.held: list[int] = []
        self.asked: list[str] = []
        self.read = 0
        self.closed = False
        self._saying: list[int] = []
        self._said = -1

    def load(self, path: Path, threads: int, context: int) -> Any:
        return self

    def frame(self) -> Frame:
        return Frame((), (), (_AFTER,))

    def is_end(self, token: int) -> bool:
        return token == _END

    def tokenize(self, text: str) -> list[int]:
        return [self._id(piece) for piece in _PIECE.findall(text)]

    def _id(self, piece: str) -> int:
        if piece not in self.ids:
            self.ids[piece] = len(self.words)
            self.words.append(piece)
        return self.ids[piece]

    def truncate(self, length: int) -> None:
        self.held = self.held[:length]

    def text_of(self, ids: Sequence[int]) -> str:
        return "".join(self.words[k] for k in ids if k > _AFTER)

    def decode(self, entries: Sequence[tuple[int, int, int, bool]]) -> list[Any]:
        assert entries[0][1] == len(self.held), "positions follow what is held"
        self.held += [entry[0] for entry in entries]
        self.read += len(entries)
        if not entries[-1][3]:
            return []
        if len(entries) > 1 or entries[0][0] != self._said:  # not its own last word: a new prompt
            text = self.text_of(self.held)
            self.asked.append(text)
            self._saying = [*self.tokenize(self.reply(text)), _END]
        self._said = self._saying.pop(0) if self._saying else _END
        logits = np.full(_ROOM, -20.0)
        logits[self._said] = 0.0
        return [logits]

    def close(self) -> None:
        self.closed = True
