"""Does this answer mean that one? Judges of free text, asked several times."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ehrqa_cli import registry
from ehrqa_cli.chat import Gguf, Transcript, Writer
from ehrqa_cli.contracts.errors import ModelError, PluginError
from ehrqa_cli.contracts.judging import Judge, JudgedQuestion, prompt, verdict
from ehrqa_cli.evaluate.wording import exact, token_f1
from ehrqa_cli.llama import Llama

TIMES = 5
LOCAL = "qwen2.5-coder-1.5b"  # the judge called "local"
_CONTEXT, _THREADS = 4096, 2
_SAID = 4  # tokens of a verdict


class ExactJudge(Judge):
    """The same tokens in the same order."""

    name: ClassVar[str] = "exact"
    steady: ClassVar[bool] = True

    def judge(self, asked: JudgedQuestion) -> float:
        return float(exact(asked.gold, asked.predicted))

    def provenance(self) -> Mapping[str, str]:
        return {"judge": self.name}


class F1Judge(Judge):
    """F1 of the two bags of tokens."""

    name: ClassVar[str] = "f1"
    steady: ClassVar[bool] = True

    def judge(self, asked: JudgedQuestion) -> float:
        return token_f1(asked.gold, asked.predicted)

    def provenance(self) -> Mapping[str, str]:
        return {"judge": self.name}


class PromptJudge(Judge):
    """A model that is given the paper's prompt; ``complete`` returns what it writes."""

    name: ClassVar[str] = "prompt"

    def __init__(self, complete: Callable[[str], str], model: Mapping[str, str]) -> None:
        self._complete = complete
        self._model = dict(model)

    def judge(self, asked: JudgedQuestion) -> float:
        return verdict(self._complete(prompt(asked)))

    def provenance(self) -> Mapping[str, str]:
        return {"judge": self.name, **self._model}


class LocalJudge(PromptJudge):
    """The prompt put to a model on this machine. Its first word is drawn by the model's own
    probabilities (temperature 1), the rest is greedy, so that asking five times tells how sure it
    is; the draws of one prompt are always the same, so that a run can be repeated."""

    name: ClassVar[str] = "local"

    def __init__(self, file: Gguf, load: Callable[[Path, int, int], Writer] = Llama) -> None:
        self._transcript = Transcript(load(file.path, _THREADS, _CONTEXT))
        self._asked: dict[str, int] = {}
        model = {"model": file.path.name, "sha256": file.sha256, "sampling": "temperature 1"}
        super().__init__(self._written, model)

    @classmethod
    def open(cls, model: str) -> LocalJudge:
        """By the name of a pulled model, or the path of a GGUF file. Raises ModelError."""
        if model.lower().endswith(".gguf"):
            return cls(Gguf.named(Path(model).expanduser()))
        return cls(Gguf.pulled(model or LOCAL))

    def _written(self, prompt: str) -> str:
        """What the model says to ``prompt``, the n-th time that it is asked."""
        import numpy as np

        key = hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()
        self._asked[key] = nth = self._asked.get(key, 0) + 1
        ids = self._transcript.chat("You are a careful judge of answers.", prompt)
        if len(ids) > _CONTEXT - _SAID:
            raise ModelError("an answer is too long for the judge", "give it another judge")
        logits = np.asarray(self._transcript.read(ids), dtype=np.float64)
        weights = np.exp(logits - logits.max())
        draw = np.random.default_rng([int(key[:15], 16), nth])
        first = int(draw.choice(len(weights), p=weights / weights.sum()))
        if self._transcript.writer.is_end(first):
            return ""
        rest = self._transcript.write(self._transcript.add([first]), _SAID - 1)
        return self._transcript.writer.text_of([first]) + rest


OWN: Mapping[str, type[Judge]] = {"exact": ExactJudge, "f1": F1Judge}


def open_judge(name: str) -> Judge:
    """The judge ``name``: exact, f1, local or local:MODEL, or an installed plugin's.

    Raises PluginError, and ModelError for a model that is not there.
    """
    if name in OWN:
        return OWN[name]()
    kind, _, model = name.partition(":")
    if kind == LocalJudge.name:
        return LocalJudge.open(model)
    if name not in registry.names(registry.JUDGE):
        known = ", ".join([*OWN, "local[:MODEL]", *registry.names(registry.JUDGE)])
        raise PluginError(f"no judge is called '{name}'", f"there are: {known}")
    return registry.load(registry.JUDGE, name, Judge)()  # type: ignore[type-abstract]


def verdicts(judge: Judge, asked: JudgedQuestion, times: int = TIMES) -> list[float]:
    """What ``judge`` says when it is asked ``times``; a steady one is asked once."""
    if judge.steady:
        return [judge.judge(asked)] * times
    return [judge.judge(asked) for _ in range(times)]


@dataclass(frozen=True)
class Takes:
    """The score of a whole set in each round of judging, in per cent, with their mean and sample
    standard deviation (Kweon et al. 2024, tables 4 and 6)."""

    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.scores)

    @property
    def deviation(self) -> float:
        return statistics.stdev(self.scores) if len(self.scores) > 1 else 0.0

    def shown(self) -> str:
        """For a table: 84.65 ± 0.28."""
        return f"{self.mean:.2f} ± {self.deviation:.2f}"


def takes(judged: Sequence[Sequence[float]]) -> Takes | None:
    """The rounds of several questions' verdicts (all of one length); None for no question."""
    if not judged:
        return None
    rounds = zip(*judged, strict=True)
    return Takes(tuple(100.0 * statistics.fmean(one) for one in rounds))
