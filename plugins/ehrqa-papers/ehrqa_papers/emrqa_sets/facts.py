"""What annotations say of a note, in one shape for all of i2b2's challenges."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mention:
    """A piece of a note: its words, its lines from ``first`` to ``last`` (counted from 0), and its
    place in the first (``token``, words between blanks counted from 0). What an annotation says in
    words of its own, as the class of a drug, stands nowhere: ``first`` is then -1."""

    text: str
    first: int = -1
    last: int = -1
    token: int = 0

    @property
    def placed(self) -> bool:
        """Does it stand in the note?"""
        return self.first >= 0


@dataclass(frozen=True)
class Fact:
    """One annotation: its ``kind`` ("medication", "TrAP", "present"), and who plays which role in
    it ("medication", "dosage", "problem")."""

    kind: str
    roles: Mapping[str, Mention]


@dataclass(frozen=True)
class AnnotatedNote:
    """A note with what was annotated. ``title`` names the challenge (medication, relations, risk,
    smoking, obesity) and ``group`` whose note it is; ``chains`` are mentions of one thing;
    ``labels`` are classes of the whole note, by what is asked; ``lost`` counts the annotations
    that do not stand where they say."""

    title: str
    note_id: str
    group: str
    text: str
    facts: tuple[Fact, ...] = ()
    chains: tuple[tuple[Mention, ...], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    lost: int = 0


class Lines:
    """A note's lines, as annotations count them."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def start(self, line: int) -> int:
        """The offset of the line's first character."""
        return self._starts[line]

    def line_at(self, offset: int) -> int:
        """The line in which the character at ``offset`` stands."""
        return bisect_right(self._starts, offset) - 1

    def between(self, first: int, last: int) -> str:
        """The text of these lines, both included."""
        return "\n".join(self.lines[first : last + 1]).rstrip("\r")

    def words(self, first: int, start: int, last: int, end: int) -> str | None:
        """The words from the ``start``-th of line ``first`` to the ``end``-th of line ``last``;
        None where there are no such."""
        if not 0 <= first <= last < len(self.lines):
            return None
        found: list[str] = []
        for number in range(first, last + 1):
            words = self.lines[number].split()
            low = start if number == first else 0
            high = end if number == last else len(words) - 1
            if not 0 <= low <= high < len(words):
                return None
            found += words[low : high + 1]
        return " ".join(found)
