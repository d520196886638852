"""White space made less, as EHRNoteQA does, with the way back to the text as it was given.

Kweon et al. (2024, EHRNoteQA), section 3.1: "minimizing excessive white spaces, such as removing
spaces or tabs around newlines", which shortens MIMIC-IV's discharge summaries by 10%. Only a view:
what is stored and quoted is the note as it was given.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

# What is left out: blanks before and after a newline, and the \r of a newline written \r\n. A blank
# is looked at only where a run of them begins, or a line of a million blanks would take hours.
_LEFT_OUT = re.compile(r"(?<![ \t\r])[ \t\r]+(?=\n)|(?<=\n)[ \t\r]+")


@dataclass(frozen=True)
class Condensed:
    """The shorter text. Piece i begins at ``starts[i]`` of it and at ``origins[i]`` of the note."""

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]

    def original(self, offset: int) -> int:
        """The offset in the note of the character at ``offset`` of the shorter text."""
        piece = bisect_right(self.starts, offset) - 1
        return self.origins[piece] + offset - self.starts[piece]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where ``text[start:end]``, which is not empty, stands in the note."""
        return self.original(start), self.original(end - 1) + 1


def condense(text: str) -> Condensed:
    """``text`` without the blanks around its newlines."""
    pieces, starts, origins = [], [0], [0]
    at = length = 0
    for gap in _LEFT_OUT.finditer(text):
        pieces.append(text[at : gap.start()])
        length += gap.start() - at
        at = gap.end()
        starts.append(length)
        origins.append(at)
    pieces.append(text[at:])
    return Condensed("".join(pieces), tuple(starts), tuple(origins))
