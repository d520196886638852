"""What a model is given that is asked a question of the set.

The prompts by which the paper's models were asked are not printed. ``ask`` puts the marks that made
the questions (sets/notes/prompts.py) around the notes, the question and, for multiple choice, the
five options; the judge's prompt (A.3) is in contracts/judging.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.sets.notes.prompts import marked


def ask(question: str, notes: Sequence[Note], choices: Mapping[str, str] | None) -> str:
    """The prompt that asks a question: of its options where ``choices`` are given, else for an
    answer in free text."""
    lines = [marked(notes), f"Question: {question}"]
    if choices:
        lines += ["Answer Choices:", *(f"{letter}: {text}" for letter, text in choices.items())]
        lines.append("Answer with the letter and the words of the one correct choice.")
    else:
        lines.append("Answer the question from the notes alone, in a few words.")
    return "\n".join([*lines, "Answer:"])
