"""N-grams that occur mostly in unanswerable questions (Yang et al. 2024, section 2).

They are counted on validation questions only, by the number of questions that contain them, and
applied unchanged to test questions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

SIZES = (1, 2, 3)
NAMES = {1: "unigram", 2: "bigram", 3: "trigram"}
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

Ratios = tuple[float, float, float]  # by the n-gram's size


def words(question: str) -> list[str]:
    """Lower-cased words and numbers; punctuation separates them and is no word itself."""
    return _WORD.findall(question.lower())


def ngrams(question: str, size: int) -> frozenset[str]:
    """The different n-grams of a question, as words joined by single spaces."""
    found = words(question)
    return frozenset(" ".join(found[i : i + size]) for i in range(len(found) - size + 1))


@dataclass(frozen=True)
class Pattern:
    """An n-gram and the number of answerable and of unanswerable questions that contain it."""

    text: str
    size: int
    answerable: int
    unanswerable: int

    @property
    def ratio(self) -> float:
        """Unanswerable to answerable; the number of unanswerable ones where none is answerable
        (Table 1 of the paper)."""
        return self.unanswerable / max(self.answerable, 1)


class Patterns:
    """All n-grams of a set of questions with their ratios."""

    def __init__(self, questions: Iterable[tuple[str, bool]]) -> None:
        """``questions`` are (text, is it answerable?)."""
        counts: dict[int, tuple[Counter[str], Counter[str]]] = {
            size: (Counter(), Counter()) for size in SIZES
        }
        for text, answerable in questions:
            for size in SIZES:
                counts[size][answerable].update(ngrams(text, size))
        # Those of answerable questions only have the ratio 0: they filter nothing.
        self._by_size = {
            size: {gram: Pattern(gram, size, yes[gram], no[gram]) for gram in no}
            for size, (no, yes) in counts.items()
        }

    def predominant(self, size: int, above: float = 0.0) -> list[Pattern]:
        """Patterns of one size with a ratio over ``above``, highest first (then by the number of
        unanswerable questions and the alphabet)."""
        found = [p for p in self._by_size[size].values() if p.ratio > above]
        return sorted(found, key=lambda p: (-p.ratio, -p.unanswerable, p.text))

    def strongest(self, question: str) -> Ratios:
        """The highest ratio among the question's uni-, bi- and trigrams; 0 where none is known."""
        out = []
        for size in SIZES:
            known = self._by_size[size]
            out.append(
                max((known[g].ratio for g in ngrams(question, size) if g in known), default=0.0)
            )
        return (out[0], out[1], out[2])
