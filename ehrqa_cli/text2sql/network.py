"""The encoder-decoder: a question's tokens are read once, then a form's lexemes one by one.

Two ONNX graphs (models/text2sql/export.py). The first gives what the decoder attends to in the
question, the second one step of the decoder with what it wrote before. Nothing is kept between
calls: a `State` is a value, so that many forms can go on from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.logical_form import EOS
from ehrqa_cli.onnx import Folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENCODER, DECODER = "text2sql.onnx", "decoder.onnx"
BEGIN = "<s>"


@dataclass(frozen=True)
class State:
    """Keys and values, float32: ``memory`` (2 x layers, 1, heads, tokens of the question, width)
    and ``past`` (2 x layers, forms, heads, lexemes so far, width)."""

    memory: NDArray[np.float32]
    past: NDArray[np.float32]

    def take(self, rows: Sequence[int]) -> State:
        """The forms of these rows, in this order."""
        return replace(self, past=self.past[:, list(rows)])


class Network:
    """The two graphs of a checked folder. Safe in several threads. Raises ModelError."""

    def __init__(self, folder: Folder, threads: int = 1) -> None:
        self.lexemes = {str(w): k for k, w in enumerate(folder.manifest.get("lexemes", ()))}
        self.special = {str(w): int(k) for w, k in folder.manifest.get("special", {}).items()}
        if not {BEGIN, EOS} <= set(self.lexemes):
            raise ModelError(
                f"{folder.path} has no text-to-SQL model of this program",
                "restore it with `git checkout models`",
            )
        self._shape = [int(n) for n in folder.manifest["past"]]
        self._encoder: Any = folder.network(ENCODER, threads)
        self._decoder: Any = folder.network(DECODER, threads)

    def read(self, ids: Sequence[int]) -> State:
        """The question's ``ids``, before anything is written."""
        import numpy as np

        (memory,) = self._encoder.run(None, {"ids": np.asarray([ids], np.int64)})
        layers, heads, width = self._shape
        return State(memory, np.zeros((layers, 1, heads, 0, width), np.float32))

    def step(self, lexemes: Sequence[str], state: State) -> tuple[NDArray[np.float32], State]:
        """After the lexeme written last of each form: logits (forms, lexemes) and the new state."""
        import numpy as np

        told = {
            "token": np.asarray([self.lexemes[w] for w in lexemes], np.int64),
            "memory": state.memory,
            "past": state.past,
        }
        logits, past = self._decoder.run(None, told)
        return logits, replace(state, past=past)
