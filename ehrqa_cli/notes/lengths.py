"""How long a patient's notes are, and which of the paper's levels that is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.lines import condense

# Kweon et al. 2024, section 3.1: level 1 up to 3,500 tokens, level 2 up to 7,500.
LEVELS = (("1", 3500), ("2", 7500))
BEYOND = "beyond"
BANDS = (3500, 7500, 16_000, 32_000)
_PIECE = re.compile(r"[^\W\d_]+|\d+|\n+|[^\w\s]|_")
_LETTERS, _DIGITS = 6, 3  # of one token


def tokens_of(text: str) -> int:
    """About how many tokens a language model reads in ``text``, after blanks around newlines are
    taken out as in section 3.1.

    An estimate: up to 6 letters or 3 digits are a token, and so is each mark and line break. The
    paper names no tokenizer.
    """
    return sum(_size(piece) for piece in _PIECE.findall(condense(text).text))


def _size(piece: str) -> int:
    if piece[0].isdigit():
        return -(-len(piece) // _DIGITS)
    return -(-len(piece) // _LETTERS) if piece[0].isalpha() else 1


def length_of(notes: Sequence[Note]) -> int:
    """The estimated tokens of all these notes."""
    return sum(tokens_of(note.text) for note in notes)


def level_of(tokens: int) -> str:
    """ "1", "2", or "beyond" what the paper covers."""
    return next((name for name, most in LEVELS if tokens <= most), BEYOND)


def band_of(tokens: int) -> str:
    """The band of lengths, for a table of accuracy by length."""
    low = 0
    for high in BANDS:
        if tokens <= high:
            return f"{low:,} to {high:,}"
        low = high
    return f"over {BANDS[-1]:,}"
