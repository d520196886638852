"""BM25 (Robertson and Zaragoza 2009): which texts share most with the words of a question.

Few texts are looked through here (the lines of a note, a training set), so that a library's index
on disk would only be one more thing to install.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ehrqa_cli.evaluate.wording import tokens

K1, B = 1.5, 0.75  # the usual values


class Bm25:
    """An index over ``texts``; the same question gives the same order, whatever the machine."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(tokens(text)) for text in texts]
        self._lengths = [sum(one.values()) for one in counts]
        self._mean = sum(self._lengths) / len(counts) if counts else 0.0
        self._holding: dict[str, list[tuple[int, int]]] = {}
        for place, one in enumerate(counts):
            for word, count in one.items():
                self._holding.setdefault(word, []).append((place, count))

    def nearest(self, question: str, most: int) -> list[int]:
        """Places of at most ``most`` texts, nearest first; of equally near ones the first."""
        values = [0.0] * len(self._lengths)
        # In one order of words: a sum of floats depends on it in its last bits.
        for word in sorted(set(tokens(question))):
            holding = self._holding.get(word, [])
            rare = math.log(1 + (len(values) - len(holding) + 0.5) / (len(holding) + 0.5))
            for place, count in holding:
                length = K1 * (1 - B + B * self._lengths[place] / self._mean)
                values[place] += rare * count * (K1 + 1) / (count + length)
        return sorted(range(len(values)), key=lambda k: (-values[k], k))[:most]
