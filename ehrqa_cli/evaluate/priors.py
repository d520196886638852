"""Baselines that look at no image and read no question: the most common answers.

Prior (Most) and Prior (Question) of Bae et al. 2023 (arXiv:2310.18652, section 6.1 and E.1.1):
the most common answer in training, of all questions or of those of the same template.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ehrqa_cli.contracts.errors import EvaluationError

Answer = TypeVar("Answer", bound=Hashable)

TRAIN, LEFT_OUT, HINDSIGHT = "train", "leave one out", "hindsight"
MOST, PER_TEMPLATE = "most common answer", "most common per template"
SYSTEMS = {"most-common": MOST, "most-common-per-template": PER_TEMPLATE}


@dataclass(frozen=True)
class Prior(Generic[Answer]):
    """A baseline's answers to the measured questions, in their order.

    ``source`` is ``train`` (chosen on the training split), ``leave one out`` (for each question
    chosen on the other measured ones) or ``hindsight`` (chosen on the measured questions
    themselves: no such baseline can do better).
    """

    name: str
    source: str
    answers: tuple[Answer, ...]


def priors(
    measured: Sequence[tuple[str, Answer]], training: Sequence[tuple[str, Answer]]
) -> list[Prior[Answer]]:
    """The two priors for (template, answer) pairs, from ``training``; where it is empty, from the
    measured questions with one left out, and from the measured questions themselves.

    A template that was not seen has the most common answer of all. Equally common answers are
    decided by their text, so that the choice never rests on an order of questions.
    """
    if training:
        seen = _by_template(training)
        best = _best(Counter(a for _, a in training))
        return [
            Prior(MOST, TRAIN, tuple(best for _ in measured)),
            Prior(
                PER_TEMPLATE,
                TRAIN,
                tuple(_best(seen[t]) if t in seen else best for t, _ in measured),
            ),
        ]
    if not measured:
        return []
    most = _Ranked(Counter(a for _, a in measured))
    by_template = {t: _Ranked(counts) for t, counts in _by_template(measured).items()}
    return [
        Prior(MOST, LEFT_OUT, tuple(most.without(a) for _, a in measured)),
        Prior(
            PER_TEMPLATE,
            LEFT_OUT,
            tuple(by_template[t].without(a, most) for t, a in measured),
        ),
        Prior(MOST, HINDSIGHT, tuple(most.first[1] for _ in measured)),
        Prior(
            PER_TEMPLATE,
            HINDSIGHT,
            tuple(by_template[t].first[1] for t, _ in measured),
        ),
    ]


def prior_named(
    name: str,
    measured: Sequence[tuple[str, Answer]],
    training: Sequence[tuple[str, Answer]],
) -> tuple[Prior[Answer], Answer]:
    """The prior that a system's name (``most-common``, ``most-common-per-template``) stands for,
    chosen on ``training``, else with each question left out; and the most common answer of all.
    Raises EvaluationError where there is nothing to choose on."""
    found = next((p for p in priors(measured, training) if p.name == SYSTEMS[name]), None)
    if found is None:
        raise EvaluationError(
            "there are no answers to choose the most common one of",
            "give a folder with train.json, or a split with answers",
        )
    return found, _best(Counter(a for _, a in training or measured))


def _by_template(pairs: Sequence[tuple[str, Answer]]) -> dict[str, Counter[Answer]]:
    found: dict[str, Counter[Answer]] = {}
    for template, answer in pairs:
        found.setdefault(template, Counter())[answer] += 1
    return found


def _best(counts: Counter[Answer]) -> Answer:
    return _Ranked(counts).first[1]


class _Ranked(Generic[Answer]):
    """Counts with the two most common answers at hand."""

    def __init__(self, counts: Counter[Answer]) -> None:
        self.counts = counts
        top = heapq.nsmallest(2, ((-n, _text(a), a) for a, n in counts.items()), key=_first_two)
        self.first = (-top[0][0], top[0][2])
        self.second = (-top[1][0], top[1][2]) if len(top) > 1 else None

    def without(self, answer: Answer, other: _Ranked[Answer] | None = None) -> Answer:
        """The most common answer with one of ``answer`` left out; where none is left that of
        ``other``, else ``answer`` itself."""
        rest = self.second if answer == self.first[1] else self.first
        left = self.counts[answer] - 1
        if rest is not None and (-rest[0], _text(rest[1])) < (-left, _text(answer)):
            return rest[1]
        if left or other is None:
            return answer
        return other.without(answer)


def _first_two(item: tuple[int, str, Answer]) -> tuple[int, str]:
    return item[:2]


def _text(answer: Hashable) -> str:
    parts = sorted(map(str, answer)) if isinstance(answer, frozenset) else [str(answer)]
    return " ".join(parts)
