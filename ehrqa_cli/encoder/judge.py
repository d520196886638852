"""Does a reading say all of what was asked, and only that? And what sort of question is it?

One small encoder (``models/encoder``) reads the linked question alone, or together with a reading
in English: all-MiniLM-L6-v2 (Wang et al. 2020), trained on right and nearly right readings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import ModelError
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.encoder.tokens import encode_question
from ehrqa_cli.onnx import Folder

NETWORK = "encoder.onnx"
MOST = 160  # tokens of a question with its reading; what is longer was never learnt
_REFERENCE = re.compile(r"#(\d+)")
_WORD = re.compile(r"(?:(?:<[a-z_]+>)+#\d+|<no(?:pat|study)>)|[^\W\d_][\w'/-]*|\d+")


@dataclass(frozen=True)
class _Pair:
    """Token ids, and how many of them are the question's."""

    ids: list[int]
    first: int


class Judge:
    """The encoder over checked weights. Make one with ``load``."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._network = folder.network(NETWORK)
        self._special = {str(w): int(k) for w, k in folder.manifest["special"].items()}
        self.classes = tuple(str(name) for name in folder.manifest["classes"])

    @classmethod
    def load(cls, models_root: Path) -> Judge:
        """Open ``encoder`` under ``models_root``. Raises ModelError, with the next step, when a
        file is missing or corrupt or when onnxruntime is not installed."""
        return cls(Folder(models_root / "encoder"))

    def faithful(self, linked: LinkedQuestion, readings: Sequence[str]) -> list[float]:
        """Log-odds that each reading (of `ehrqa_cli.logical_form.describe`, over the references of
        ``linked``) says what was asked; of one too long to read they are low."""
        return self._odds([(linked.text, marked(reading, linked)) for reading in readings])

    def kinds(self, linked: LinkedQuestion) -> dict[str, float]:
        """The log-probability of each class of question: ``answerable``, or why it is not."""
        ids = self._ids(linked.text)[:MOST]
        scores = self._run([_Pair(ids, len(ids))])[1][0]
        return dict(zip(self.classes, map(float, scores), strict=True))

    def left_out(self, linked: LinkedQuestion, reading: str, most: int = 2) -> tuple[str, ...]:
        """The words of the question that count most against the reading: without each of them its
        log-odds would rise by at least half of what they lack (occlusion, Zeiler and Fergus 2014,
        section 4.2). Empty where no word alone does."""
        words = [m for m in _WORD.finditer(linked.text) if m[0][0] != "<"]
        other = marked(reading, linked)
        texts = [linked.text, *(linked.text[: m.start()] + linked.text[m.end() :] for m in words)]
        whole, *rest = self._odds([(text, other) for text in texts])
        rises = sorted(
            ((odds - whole, m.start(), m[0]) for odds, m in zip(rest, words, strict=True))
        )
        least = max(1.0, -whole / 2)
        best = [(start, word) for rise, start, word in reversed(rises) if rise >= least][:most]
        return tuple(word for _, word in sorted(best))

    def provenance(self) -> dict[str, str]:
        """File names with their SHA-256, and onnxruntime's version."""
        named = {f"encoder/{name}": digest for name, digest in self._folder.hashes.items()}
        return named | {"onnxruntime": self._runtime}

    @cached_property
    def _runtime(self) -> str:
        from ehrqa_cli.onnx import runtime

        return str(runtime().__version__)

    def _odds(self, texts: Sequence[tuple[str, str]]) -> list[float]:
        if not texts:
            return []
        pairs = []
        for question, reading in texts:
            ids = self._ids(question)
            pairs.append(_Pair([*ids, *self._ids(reading)[1:]], len(ids)))
        odds = self._run([_Pair(p.ids[:MOST], p.first) for p in pairs])[0]
        low = float(min(odds.min(), -5.0))
        return [low if len(p.ids) > MOST else float(x) for p, x in zip(pairs, odds, strict=True)]

    def _ids(self, text: str) -> list[int]:
        return encode_question(text, self._special)

    def _run(self, pairs: Sequence[_Pair]) -> list[Any]:
        """Log-odds (pairs) and log-probabilities of the classes (pairs, classes)."""
        import numpy as np

        wide = max(len(p.ids) for p in pairs)
        ids = np.zeros((len(pairs), wide), np.int64)
        part = np.zeros((len(pairs), wide), np.int64)
        for k, pair in enumerate(pairs):
            ids[k, : len(pair.ids)] = pair.ids
            part[k, pair.first :] = 1
        try:
            found: list[Any] = self._network.run(None, {"ids": ids, "part": part})
        # onnxruntime raises exceptions of its own native types, derived from nothing narrower.
        except Exception as error:
            raise ModelError(f"the judge failed: {error}", "report the question") from error
        return found


def marked(reading: str, linked: LinkedQuestion) -> str:
    """The reading with its references written as in the linked question."""

    def mark(match: re.Match[str]) -> str:
        number = int(match[1])
        if not 1 <= number <= len(linked.links):
            return match[0]
        return "".join(f"<{t}>" for t in linked.links[number - 1].types) + match[0]

    return _REFERENCE.sub(mark, reading)
