"""A model that says what it is told to, one token a word, digit or sign.

It is scripted by a function from the question to (answer, line numbers, option), and obeys masks as
a real one does: its logits prefer the next token of the script and are level otherwise.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ehrqa_cli.contracts.errors import Cancelled, ModelError
from ehrqa_cli.llama import Frame

START, END = 1, 2  # control tokens: <|im_start|> and <|im_end|>
_PIECE = re.compile(r" ?[^\W\d_]+|\d| |\n|[^\w\s]|.", re.S)
SIZE = 6000
Script = Callable[[str], tuple[str, list[int], str]]


class FakeLlama:
    """Stands in for ehrqa_cli.llama.Llama. ``shown`` is the text it has read."""

    def __init__(self, script: Script, context: int = 6000) -> None:
        self.script = script
        self.context = context
        self.held: list[int] = []
        self.decoded = 0
        self.ended = False
        self.on_step: Callable[[], None] = lambda: None
        self._stopped = False
        self._ids: dict[str, int] = {"<|im_start|>": START, "<|im_end|>": END}
        self._names = {v: k for k, v in self._ids.items()}

    def load(self, path: Path, threads: int, context: int) -> Any:
        self.context = min(self.context, context)
        return self

    def frame(self) -> Frame:
        role = self.tokenize("user\n")
        return Frame((START, *self.tokenize("system\n")), (END, START, *role), (END, START))

    def is_end(self, token: int) -> bool:
        return token == END

    def tokenize(self, text: str) -> list[int]:
        out = []
        for piece in _PIECE.findall(text):
            token = self._ids.setdefault(piece, len(self._ids) + 3)
            self._names[token] = piece
            out.append(token)
        return out

    def text_of(self, ids: Sequence[int]) -> str:
        return "".join(
            "" if token in (START, END) else self._names.get(token, "?") for token in ids
        )

    @property
    def shown(self) -> str:
        return "".join(self._names[token] for token in self.held)

    def truncate(self, length: int) -> None:
        self.held = self.held[:length]

    def clear(self) -> None:
        self.held = []

    def decode(self, entries: Sequence[tuple[int, int, int, bool]]) -> list[Any]:
        self.on_step()
        if self._stopped:
            raise Cancelled("cancelled", "")
        out = []
        for token, position, sequence, wanted in entries:
            assert position == len(self.held) and sequence == 0
            self.held.append(token)
            self.decoded += 1
            if wanted:
                out.append(self._logits())
        return out

    def _logits(self) -> Any:
        asked, _, written = self.shown.rpartition("<|im_end|><|im_start|>")
        question = asked.rpartition("\nQuestion: ")[2]
        answer, lines, option = self.script(question.partition("\n")[0].partition("<")[0])
        if "\nOptions:\n" in question:
            letters = re.findall(r"^([A-Z])\. (.*)$", question.partition("<")[0], re.M)
            wanted = "Answer: " + next(k for k, text in letters if option in text)
        else:
            wanted = f"Answer:{answer}\nLines: [{', '.join(map(str, lines))}]"
        if "\nLines: [" in written:  # whatever was said before
            wanted = written.partition("\nLines: [")[0] + wanted[wanted.rindex("\nLines: [") :]
        rest = wanted[len(written) :] if wanted.startswith(written) else ""
        logits = np.zeros(SIZE, np.float32)
        logits[END] = 5.0  # where it may not say what it would
        logits[self.tokenize(rest)[0] if rest else END] = 10.0
        return logits

    def cancel(self) -> None:
        self._stopped = True

    def resume(self) -> None:
        self._stopped = False

    def state(self, sequence: int = 0) -> bytes:
        return pickle.dumps((self.held, self._ids))

    def restore(self, state: bytes, sequence: int = 0) -> None:
        try:
            self.held, self._ids = pickle.loads(state)
        except Exception as error:
            raise ModelError("refused", "") from error
        self._names = {v: k for k, v in self._ids.items()}

    def close(self) -> None:
        self.ended = True
