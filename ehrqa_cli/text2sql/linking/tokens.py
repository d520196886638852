"""Cutting text into tokens with offsets, so that spaces and case never hinder a match."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

WORDS = Path(__file__).with_name("words.txt")  # the lists of this room that are no stop-words

# Each replacement is one character long: offsets into the question stay valid.
_LOOKALIKES = str.maketrans(
    {
        "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u2032": "'", "\u201c": '"', "\u201d": '"',
        "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
        "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u200b": " ", "\ufeff": " ",
        "\u2044": "/", "\u00d7": "x", "\u00b5": "u", "\u03bc": "u",
    }
)  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")


@dataclass(frozen=True)
class Token:
    """One word, number or punctuation mark at ``[start, end)`` of the text."""

    text: str
    start: int
    end: int


def fold(text: str) -> str:
    """Lower case, look-alike characters and control characters replaced; the length is kept."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters grow when lowered (e.g. dotted capital I)
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return _CONTROL.sub(" ", lowered.translate(_LOOKALIKES))


def tokenize(folded: str) -> list[Token]:
    """Tokens of folded text: runs of letters and digits, and single punctuation marks."""
    return [Token(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(folded)]


def key(text: str) -> str:
    """What two spellings of the same value share: their tokens, joined by a space."""
    return " ".join(_TOKEN.findall(fold(text)))
