"""Is there an answer, which known question is nearest, and how likely is this form?

One small encoder (``models/answerability``) reads the linked question; a writer and an index of
known questions (``models/nearest``) read what it saw. Nothing here knows the generative model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.errors import FormError, ModelError
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.logical_form import normalise, parse, print_form
from ehrqa_cli.onnx import Folder
from ehrqa_cli.text2sql.second.pieces import Pieces, Read
from ehrqa_cli.text2sql.second.slots import fill, template_text

POOL = 48  # nearest known questions looked at
CANDIDATES = 8  # different forms that the writer compares
_KEPT = 32  # questions whose reading is kept


@dataclass(frozen=True)
class Neighbour:
    """A known question: its linked text, its form with *this* question's references, the cosine
    distance (0 the same, 2 opposite), and ``template_text``: the words with plain nouns in place
    of its values, to show to people."""

    text: str
    form: str
    distance: float
    template_text: str


@dataclass(frozen=True)
class _Known:
    text: str
    form: str


@dataclass(frozen=True)
class _Seen:
    """What the encoder made of a question."""

    read: Read
    logit: float
    point: Any
    states: Any


class SecondOpinion:
    """Scores and neighbours of linked questions. Make one with ``load``."""

    def __init__(self, answerability: Folder, nearest: Folder) -> None:
        self._folders = {"answerability": answerability, "nearest": nearest}
        self._encoder = answerability.network("encoder.onnx")
        self._pieces = Pieces(answerability.json("pieces.json"))
        self._writer = nearest.network("writer.onnx")
        self._index = nearest.network("index.onnx")
        known = nearest.json("known.json")
        self._words = {str(w): k for k, w in enumerate(known["lexemes"])}
        self._known = [_Known(str(text), str(form)) for text, form in known["questions"]]
        self._seen: dict[str, _Seen] = {}

    @classmethod
    def load(cls, models_root: Path) -> SecondOpinion:
        """Open ``answerability`` and ``nearest`` under ``models_root``.

        Raises ModelError, with the next step, when a file is missing or corrupt or when
        onnxruntime is not installed.
        """
        return cls(Folder(models_root / "answerability"), Folder(models_root / "nearest"))

    def scores(self, linked: LinkedQuestion, form: str | None) -> dict[str, float]:
        """The measured signals, all floats; the last four are absent without a form.

        ``p_unanswerable``: probability that no form answers the question.
        ``nearest_distance``: cosine distance of the nearest known question whose form can be
        filled (2.0 without one).
        ``agreement``: of the forms of the nearest known questions and the given one, the share of
        the writer's probability that the given one has: 1.0 when none of them is as likely.
        ``retrieved``: 1.0 when the given form is one of theirs.
        ``lexeme_surprise``: how unlikely the writer finds the form's least likely lexeme (nats).
        ``lexeme_gap``: by how much (nats) it likes another lexeme better, where that is most;
        0.0 when it would write this very form itself.
        """
        seen = self._look(linked)
        near = self._candidates(linked, seen, CANDIDATES)
        found = {
            "p_unanswerable": _sigmoid(seen.logit),
            "nearest_distance": near[0][0] if near else 2.0,
        }
        if form is not None:
            form = _canonical(form)
            each, gaps = self._surprise(seen, form)
            total = math.fsum(each)
            others = [filled for _, _, filled in near if filled != form]
            rivals = [math.fsum(self._surprise(seen, other)[0]) for other in others]
            found["agreement"] = 1.0 / (1.0 + math.fsum(_odds(total - r) for r in rivals))
            found["retrieved"] = float(len(others) < len(near))
            found["lexeme_surprise"] = max(each)
            found["lexeme_gap"] = max(gaps)
        return found

    def nearest(self, linked: LinkedQuestion, k: int) -> tuple[Neighbour, ...]:
        """The ``k`` nearest known questions, each form once, whose forms this question's
        references can fill; nearest first."""
        return tuple(
            Neighbour(known.text, form, distance, template_text(known.text))
            for distance, known, form in self._candidates(linked, self._look(linked), k)
        )

    def provenance(self) -> dict[str, str]:
        """File names with their SHA-256, and onnxruntime's version."""
        found = {
            f"{folder}/{name}": digest
            for folder, files in self._folders.items()
            for name, digest in files.hashes.items()
        }
        return found | {"onnxruntime": self._runtime}

    @cached_property
    def _runtime(self) -> str:
        from ehrqa_cli.onnx import runtime

        return str(runtime().__version__)

    def _look(self, linked: LinkedQuestion) -> _Seen:
        known = self._seen.get(linked.text)
        if known is not None:
            return known
        import numpy as np

        read = self._pieces.read(linked.text)
        logit, point, states = _run(self._encoder, ids=np.array([read.ids], dtype=np.int64))
        seen = _Seen(read, float(logit[0]), point, states)
        if len(self._seen) >= _KEPT:
            self._seen.pop(next(iter(self._seen)))
        self._seen[linked.text] = seen
        return seen

    def _candidates(
        self, linked: LinkedQuestion, seen: _Seen, count: int
    ) -> list[tuple[float, _Known, str]]:
        """(distance, question, filled form) of the nearest that can be filled, a form once."""
        similar, places = _run(self._index, point=seen.point)
        ours = [link.types for link in linked.links]
        found: dict[str, tuple[float, _Known, str]] = {}
        for cosine, place in zip(similar[0].tolist(), places[0].tolist(), strict=True):
            if len(found) >= count:
                break
            known = self._known[place]
            filled = fill(known.form, ours)
            if filled is not None:
                found.setdefault(filled[0], (max(0.0, 1.0 - cosine), known, filled[0]))
        return list(found.values())

    def _surprise(self, seen: _Seen, form: str) -> tuple[list[float], list[float]]:
        """How unlikely each lexeme and the end of the form are, and how much likelier the
        likeliest in its place is, in nats."""
        import numpy as np

        ids = self._words
        words = [seen.read.numbers.get(w, w) for w in form.split()]
        numbers = [ids["<s>"], *(ids.get(w, ids["<unk>"]) for w in words), ids["</s>"]]
        numbers = numbers[: self._limit + 1]
        before = np.array([numbers[:-1]], dtype=np.int64)
        (logp,) = _run(self._writer, states=seen.states, before=before)
        each = [-float(row[k]) for row, k in zip(logp[0], numbers[1:], strict=True)]
        best = logp[0].max(1).tolist()
        return each, [surprise + float(top) for surprise, top in zip(each, best, strict=True)]

    @cached_property
    def _limit(self) -> int:
        return int(self._folders["nearest"].manifest["most_lexemes"])


def _run(network: Any, **inputs: Any) -> list[Any]:
    try:
        outputs: list[Any] = network.run(None, inputs)
    # onnxruntime raises exceptions of its own native types, derived from nothing narrower.
    except Exception as error:
        raise ModelError(f"the second opinion failed: {error}", "report the question") from error
    return outputs


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


def _odds(nats: float) -> float:
    return math.exp(min(nats, 700.0))


def _canonical(form: str) -> str:
    """The form in the one way it is written for training; as it is when it is no form."""
    try:
        return print_form(normalise(parse(form)))
    except FormError:
        return form
