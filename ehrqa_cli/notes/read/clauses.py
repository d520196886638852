"""The clauses of a long line, which are compared with a question each by itself."""

from __future__ import annotations

import re

_CLAUSES = re.compile(
    r"(?<=[.;:,)])\s+|\s+(?:->|=>|because|but|which|who|while|although|though|and)\s+", re.I
)
_SHORT, _LONG = 4, 12  # words of a clause and of a line


def clauses(text: str) -> list[str]:
    """The parts of a long line, none of them very short; of a short line, the line."""
    if len(text.split()) <= _LONG:
        return [text]
    found: list[str] = []
    for part in _CLAUSES.split(text):
        if found and (len(part.split()) < _SHORT or len(found[-1].split()) < _SHORT):
            found[-1] = f"{found[-1]} {part}"
        else:
            found.append(part)
    return found
