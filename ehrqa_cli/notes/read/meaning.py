"""Sentence vectors of lines, kept between questions: a patient is mostly asked about repeatedly."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ehrqa_cli.notes.read.clauses import clauses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ehrqa_cli.notes.find.embed import Embedder, Vectors

    Matrix = NDArray[np.float32]

_KEPT = 8192  # vectors in memory, 1.5 KB each


class Meaning:
    """Vectors of texts by the sentence model; ``embedder`` is opened when first needed."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[str, Any] = OrderedDict()

    @property
    def embedder(self) -> Embedder:
        """The sentence model. Raises ModelError when it is not installed."""
        if self._embedder is None:
            from ehrqa_cli.notes.find.embed import Embedder

            # A few short texts at a time: a second thread costs more than it brings.
            self._embedder = Embedder.open(threads=1)
        return self._embedder

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of ``texts``, shape (len(texts), 384)."""
        import numpy as np

        missing = list(dict.fromkeys(text for text in texts if text not in self._kept))
        fresh: dict[str, Any] = {}
        if missing:
            fresh = dict(zip(missing, self.embedder.embed(missing), strict=True))
        found = [fresh[text] if text in fresh else self._kept[text] for text in texts]
        for text, vector in zip(texts, found, strict=True):
            self._kept[text] = vector
            self._kept.move_to_end(text)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        stacked: Vectors = np.stack(found)
        return stacked

    def keep(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Take vectors of ``texts`` that were made before, shape (len(texts), 384)."""
        for text, vector in zip(texts, vectors, strict=True):
            self._kept.setdefault(text, vector)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def cosines(self, left: Sequence[str], right: Sequence[str]) -> Matrix:
        """Cosines of each of ``left`` with each of ``right``: shape (len(left), len(right))."""
        found: Matrix = self.vectors(left) @ self.vectors(right).T
        return found

    def closest(self, left: Sequence[str], right: Sequence[str]) -> Matrix:
        """Cosines of each of ``left`` with the closest clause of each of ``right``."""
        import numpy as np

        parts = [clauses(text) for text in right]
        starts = np.cumsum([0, *(len(some) for some in parts)])[:-1]
        flat = [part for some in parts for part in some]
        found: Matrix = np.maximum.reduceat(self.cosines(left, flat), starts, axis=1)
        return found
