"""Do the lines say what the model says? Each line against the words and numbers of an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ehrqa_cli.notes.find import lexical
from ehrqa_cli.notes.read.question import telling
from ehrqa_cli.notes.read.values import numbers

if TYPE_CHECKING:
    from ehrqa_cli.notes.read.meaning import Meaning

_TELLING = 0.3  # from which a word of an answer must be borne out
_NAMED = 0.4  # from which a line names it: an ambiguous abbreviation is enough
_MEANT = 0.6  # cosine from which a line means the answer, whatever its words
_BORNE = 0.5  # share of its words from which an answer is borne out
_MOST_LINES = 3
_WORD = re.compile(r"\b[^\W\d_]+\b")


@dataclass(frozen=True)
class Borne:
    """How far lines bear out an answer: ``places`` of the lines that do, best first; the share of
    its words, and whether all its numbers, stand in them."""

    places: tuple[int, ...]
    share: float
    numbers: bool
    meant: float

    @property
    def enough(self) -> bool:
        """Is every number of the answer there, and what it says?"""
        return self.numbers and (self.share >= _BORNE or self.meant >= _MEANT)


@dataclass(frozen=True)
class SupportTable:
    """An answer's words (with what each tells) and numbers, and which lines have them."""

    weights: tuple[float, ...]
    named: tuple[frozenset[int], ...]
    numbers: tuple[frozenset[int], ...]
    cosines: tuple[float, ...]

    @classmethod
    def of(cls, answer: str, question: str, texts: Sequence[str], meaning: Meaning) -> SupportTable:
        """Words that only repeat the question need not be borne out; its numbers neither."""
        asked = {group.phrase for group in lexical.groups(question)}
        groups = [
            group
            for group in lexical.groups(answer)
            if group.phrase not in asked
            and not group.phrase.replace(" ", "").isdigit()
            and telling(group.phrase) >= _TELLING
        ]
        matrix = lexical.matches(groups, texts)
        named = tuple(
            frozenset(k for k in range(len(texts)) if matrix[g, k] >= _NAMED)
            for g in range(len(groups))
        )
        known = set(numbers(question))
        each = [frozenset(numbers(text)) for text in texts]
        # "Twice a day" is "BID" in a note: only what the answer writes in digits is a number.
        written = numbers(_WORD.sub(" ", answer))
        wanted = [value for value in dict.fromkeys(written) if value not in known]
        cosines = meaning.cosines([answer], texts)[0] if texts and answer else [0.0] * len(texts)
        return cls(
            tuple(telling(group.phrase) for group in groups),
            named,
            tuple(frozenset(k for k, has in enumerate(each) if value in has) for value in wanted),
            tuple(float(x) for x in cosines),
        )

    def coverage(self, place: int) -> float:
        """The share of the answer that one line has, 0 to 1, a number counting as a rare word."""
        total = sum(self.weights) + len(self.numbers)
        if not total:
            return 0.0
        words = sum(w for w, lines in zip(self.weights, self.named, strict=True) if place in lines)
        return (words + sum(place in lines for lines in self.numbers)) / total

    def borne(self, order: Sequence[int]) -> Borne:
        """The few lines that bear the answer out together; of equals the first in ``order``."""
        chosen: list[int] = []
        lacking = [*zip(self.weights, self.named, strict=True), *((1.0, n) for n in self.numbers)]
        while lacking and len(chosen) < _MOST_LINES:
            gain = {k: sum(w for w, lines in lacking if k in lines) for k in order}
            best = max(order, key=lambda k: gain[k], default=None)
            if best is None or gain[best] <= 0:
                break
            chosen.append(best)
            lacking = [(w, lines) for w, lines in lacking if best not in lines]
        if not chosen and order:
            chosen = [order[0]]
        within = frozenset(chosen)
        total = sum(self.weights)
        words = sum(w for w, lines in zip(self.weights, self.named, strict=True) if lines & within)
        return Borne(
            tuple(chosen),
            words / total if total else 1.0,
            all(lines & within for lines in self.numbers),
            max((self.cosines[k] for k in chosen), default=0.0),
        )
