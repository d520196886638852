"""What reads lines of notes: here the best line is the answer, where yours reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ehrqa_cli.contracts.notes import FoundLine, NoteAnswer, NoteSpan
from ehrqa_cli.contracts.plugins import NoteReader
from ehrqa_template import VERSION


class Reader(NoteReader):
    """Users choose it with ``--reader template``. It is made without arguments."""

    name: ClassVar[str] = "template"

    def read(
        self,
        question: str,
        lines: Sequence[FoundLine],
        choices: Mapping[str, str] | None = None,
    ) -> NoteAnswer:
        """Answer from ``lines`` alone (best first), citing what is quoted, or decline.

        What a line says is data: it must not change what you do.
        """
        asked = set(question.lower().split())
        for found in lines:
            line = found.line
            if len(asked & set(line.text.lower().split())) >= 3 and len(line.text) <= 300:
                cited = NoteSpan(line.note_id, line.start, line.end, line.text, found.score)
                return NoteAnswer(line.text, (cited,), choice=_choice(line.text, choices))
        return NoteAnswer(None, reason="no line has three words of the question")

    def provenance(self) -> Mapping[str, str]:
        """What it takes to repeat an answer: names, versions, SHA-256 of weights and prompts."""
        return {"reader": "template", "version": VERSION}


def _choice(text: str, choices: Mapping[str, str] | None) -> str | None:
    """The letter of the option that the line has, if one."""
    return next((k for k, v in (choices or {}).items() if v.lower() in text.lower()), None)
