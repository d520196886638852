"""A judge by a local model, over a model that leans to yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehrqa_cli.chat import Gguf
from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.contracts.judging import JudgedQuestion
from ehrqa_cli.evaluate.judge import LocalJudge, open_judge, verdicts
from ehrqa_cli.llama import Frame

WORDS = {10: "Yes", 11: " no", 12: "."}


class Leaning:
    """Says Yes with a probability, whatever it is asked, and then ends."""

    def __init__(self, yes: float) -> None:
        self.yes = yes
        self.held: list[int] = []
        self.read = 0

    def load(self, path: Path, threads: int, context: int) -> Any:
        return self

    def frame(self) -> Frame:
        return Frame((1,), (1,), (1,))

    def is_end(self, token: int) -> bool:
        return token == 2

    def tokenize(self, text: str) -> list[int]:
        return [20 + ord(c) % 70 for c in text]

    def truncate(self, length: int) -> None:
        self.held = self.held[:length]

    def text_of(self, ids: Sequence[int]) -> str:
        return "".join(WORDS.get(token, "") for token in ids)

    def decode(self, entries: Sequence[tuple[int, int, int, bool]]) -> list[Any]:
        self.held += [entry[0] for entry in entries]
        self.read += len(entries)
        chances = np.full(100, 1e-9)
        if self.held[-1] in WORDS:
            chances[2] = 1.0
        else:
            chances[10], chances[11] = self.yes, 1 - self.yes
        return [np.log(np.maximum(chances, 1e-12))] if entries[-1][3] else []

    def close(self) -> None: ...


def judge(yes: float) -> tuple[LocalJudge, Leaning]:
    model = Leaning(yes)
    return LocalJudge(Gguf(Path("m.gguf"), "0" * 64), model.load), model


ASKED = JudgedQuestion(
    "What dose?", "40 mg", "40 mg twice a day", choices={"A": "40 mg", "B": "80 mg"}
)


def test_a_sure_model_says_the_same_five_times() -> None:
    assert verdicts(judge(1.0)[0], ASKED) == [1.0] * 5
    assert verdicts(judge(0.0)[0], ASKED) == [0.0] * 5


def test_a_model_in_doubt_varies_and_can_be_repeated() -> None:
    first = verdicts(judge(0.5)[0], ASKED, 40)
    assert 0.2 < sum(first) / 40 < 0.8
    assert verdicts(judge(0.5)[0], ASKED, 40) == first


def test_the_prompt_is_read_once() -> None:
    asked, model = judge(1.0)
    verdicts(asked, ASKED, 1)
    once = model.read
    verdicts(asked, ASKED, 5)
    assert model.read - once < once / 10


def test_it_tells_its_model_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = judge(1.0)[0].provenance()
    assert (told["judge"], told["model"], told["sampling"]) == ("local", "m.gguf", "temperature 1")
    monkeypatch.setenv("EHRQA_MODELS", str(tmp_path))
    with pytest.raises(ModelError, match=r"models pull qwen2\.5-coder-1\.5b"):
        open_judge("local")
    with pytest.raises(ModelError, match=r"models pull qwen2\.5-coder-0\.5b"):
        open_judge("local:qwen2.5-coder-0.5b")
    with pytest.raises(ModelError, match="cannot read"):
        open_judge(f"local:{tmp_path / 'none.gguf'}")
    with pytest.raises(ModelError, match="too long"):
        judge(1.0)[0].judge(JudgedQuestion("?", "yes", "word " * 2000))
