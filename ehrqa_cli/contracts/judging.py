"""Judges of answers: their contract (group ``ehrqa.judge``), and the paper's prompt to a model.

The prompt is that of Kweon et al. 2024 (arXiv:2402.16040), appendix A.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ehrqa_cli.contracts.notes import Note

# Word for word; only the line breaks are ours.
PROMPT = """\
Your task is to evaluate the provided model output by determining whether it matches the correct \
answer from the multiple-choice options provided. The model output is correct and should be met \
with a "yes" if it accurately reflects the content of the correct answer choice, not necessarily \
its exact wording. If the content of the model output aligns with the correct answer choice, \
despite any additional details or varied phrasing, you are to respond "yes". Should the model \
output diverge in meaning or substance from the correct answer—whether by selecting an \
alternative choice or providing a response not aligning with any provided options—a response of \
"no" is necessary.
Model Output: {output}
Answer Choices: {choices}
Correct Answer: {answer}
With the given information, do you conclude that the model output substantively matches the \
correct answer provided? Respond solely with "yes" or "no"
"""


@dataclass(frozen=True)
class JudgedQuestion:
    """What a judge is told: the question, the right answer and the given one, and on what they
    rest. ``choices`` by letter, where there are any."""

    question: str
    gold: str
    predicted: str
    notes: tuple[Note, ...] = ()
    choices: Mapping[str, str] | None = None


class Judge(ABC):
    """Says how far an answer means the gold one (group ``ehrqa.judge``)."""

    name: ClassVar[str]
    steady: ClassVar[bool] = False  # the same verdict always: once is enough

    @abstractmethod
    def judge(self, asked: JudgedQuestion) -> float:
        """1 for the same meaning, 0 for another; a graded judge may say something between.

        Raises ModelError.
        """

    @abstractmethod
    def provenance(self) -> Mapping[str, str]:
        """Model, hash and prompt, enough to repeat the verdict."""


def prompt(asked: JudgedQuestion) -> str:
    """The paper's prompt. Without choices the gold answer is the only one listed."""
    choices = asked.choices or {}
    listed = "\n".join(f"{letter}: {text}" for letter, text in choices.items()) or asked.gold
    # Filled in one step: braces in an answer or a note are text, never a place to fill.
    return PROMPT.format(output=asked.predicted, choices=listed, answer=asked.gold)


def verdict(reply: str) -> float:
    """What a model says to ``prompt``: 1 for what begins with yes, else 0, as the prompt allows
    nothing but yes and no."""
    return float(reply.strip().strip("\"'*. ").lower().startswith("yes"))
