"""An item as the fields of a form, and back. What a field shows is one or more lines of text; what
was not touched stays as it was, to the byte."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ehrqa_cli.sets.notes.review.items import Content

QUESTION, ANSWER, EVIDENCE = "question", "answer", "evidence"
NONE = "-"  # in the field of the right letter: the notes have no answer
_BLANK = re.compile(r"\n\s*\n")


def to_fields(content: Content) -> dict[str, str]:
    """The fields in the order of the form: the question, each choice under its letter, the right
    letter, and the pieces of evidence with an empty line between."""
    return {
        QUESTION: content.question,
        **{letter: " ".join(text.split()) for letter, text in content.choices.items()},
        ANSWER: content.answer or NONE,
        EVIDENCE: "\n\n".join(text for _, text in content.evidence),
    }


def of_fields(fields: Mapping[str, str], before: Content) -> Content:
    """What the fields say; ``before`` is what they were filled from."""
    shown = to_fields(before)

    def same(name: str) -> bool:
        return _flat(fields.get(name, "")) == _flat(shown[name])

    letter = fields.get(ANSWER, "").strip().upper()
    return Content(
        before.question if same(QUESTION) else _flat(fields[QUESTION]),
        {k: text if same(k) else _flat(fields[k]) for k, text in before.choices.items()},
        None if letter in ("", NONE, "NONE") else letter,
        before.evidence if same(EVIDENCE) else _pieces(fields[EVIDENCE], before),
    )


def _pieces(typed: str, before: Content) -> tuple[tuple[str, str], ...]:
    """The pieces as typed, under the note that each was of ("" for a new one)."""
    known = {_flat(text): (note, text) for note, text in before.evidence}
    pieces = (piece.strip() for piece in _BLANK.split(typed))
    return tuple(known.get(_flat(piece), ("", piece)) for piece in pieces if piece)


def _flat(text: str) -> str:
    return " ".join(text.split())
