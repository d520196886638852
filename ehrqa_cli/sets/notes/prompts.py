"""The prompts that make a question over notes, and its choices.

Kweon et al. 2024 (EHRNoteQA, arXiv:2402.16040), appendix A: A.1 and A.2 are printed there and stand
in prompts.toml word for word but for their line breaks; what we add to each stands apart, after it.
The notes come first, so that a model reads them once for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.lines import condense
from ehrqa_cli.sets.data import table

_TABLE = table("notes/prompts")
MAKE_QUESTION: str = _TABLE["make_question"]
MAKE_CHOICES: str = _TABLE["make_choices"]
SYSTEM: str = _TABLE["system"]
# What a question may be about, and in how many of 100.
TOPICS: Mapping[str, tuple[int, str]] = {
    name: (n, what) for name, (n, what) in _TABLE["topics"].items()
}
_REASON = "- Reason : [Explanation for your answer]"
_EVIDENCE = "- Evidence : [The sentence of the notes in which the answer stands, word for word]"


def marked(notes: Sequence[Note]) -> str:
    """The notes in order of time between the paper's marks, blanks around newlines taken out."""
    return "\n".join(
        f"[note {k} start]\n{condense(note.text).text.strip()}\n[note {k} end]"
        for k, note in enumerate(notes, 1)
    )


def question_prompt(topic: str) -> str:
    """The first step's instruction: the paper's, with the evidence asked for before the reason, and
    what the question is to be about."""
    asked = MAKE_QUESTION.replace(_REASON, f"{_EVIDENCE}\n{_REASON}")
    return f"{asked}The question is about {TOPICS[topic][1]}. Keep question and answer short.\n"


def choices_prompt(question: str) -> str:
    """The second step's instruction: the paper's, with the question."""
    return f"{MAKE_CHOICES}\n- Question: {' '.join(question.split())}\n"


def choices_begun(question: str, answer: str) -> str:
    """How the model's second step begins where the answer of the first is to be its first choice:
    the four others are then left to write."""
    asked, right = (" ".join(text.split()) for text in (question, answer))
    return f"- Question: {asked}\n- Answer Choices:\nA: {right.rstrip('.')}\nB:"
