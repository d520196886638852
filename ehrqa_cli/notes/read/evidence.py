"""Which lines answer a question: features of each line, weighed by a small fitted model.

The finder's score says that a line is about the same things; the features here say whether an
answer of the sort that is wanted stands in it, in the right part of the stay, said as a fact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.notes import FoundLine, Stance
from ehrqa_cli.notes.find import lexical
from ehrqa_cli.notes.find.mention import find_mention
from ehrqa_cli.notes.read import stays
from ehrqa_cli.notes.read.question import AnswerKind, NoteQuestion
from ehrqa_cli.notes.read.values import fits, spans_of
from ehrqa_cli.notes.read.weights import Weights, score

if TYPE_CHECKING:
    from ehrqa_cli.notes.read.meaning import Matrix, Meaning

MOST_LINES = 80  # that are compared in full with a question
_TELLS = 0.35  # weight from which a word does not only frame the question
_NEAR = 60  # characters between a value and what it is of
_BESIDE = 0.5  # how much what the lines beside a line say counts
_VALUES = (
    AnswerKind.DOSE,
    AnswerKind.FREQUENCY,
    AnswerKind.DATE,
    AnswerKind.DURATION,
    AnswerKind.COUNT,
    AnswerKind.NUMBER,
    AnswerKind.PERSON,
)


@dataclass(frozen=True)
class Evidence:
    """Lines compared with a question, best first. ``named`` has the shape (groups, lines).

    ``absent`` is the share of what the question tells that no line names at all; ``meant`` are the
    notes that the question names, None where it names none. ``unlike`` is the most that a word of
    the question tells that no line names and whose meaning is far from all of them.
    """

    asked: NoteQuestion
    lines: tuple[FoundLine, ...]
    features: tuple[dict[str, float], ...]
    scores: tuple[float, ...]
    named: Matrix
    absent: float
    most_absent: float
    meant: frozenset[str] | None = None
    unlike: float = 0.0

    def ordered(self, weights: Weights) -> Evidence:
        """The same lines, scored and ordered by ``weights``."""
        scores = [score(weights.line, features) for features in self.features]
        order = sorted(range(len(scores)), key=lambda k: (-scores[k], -self.lines[k].score, k))
        return Evidence(
            self.asked,
            tuple(self.lines[k] for k in order),
            tuple(self.features[k] for k in order),
            tuple(scores[k] for k in order),
            self.named[:, order],
            self.absent,
            self.most_absent,
            self.meant,
            self.unlike,
        )


def weigh(
    asked: NoteQuestion, found: Sequence[FoundLine], meaning: Meaning, weights: Weights
) -> Evidence:
    """Compare ``found`` with the question and order it by the fitted score."""
    import numpy as np

    lines = sorted(found, key=lambda each: -each.score)[:MOST_LINES]
    texts = [each.line.text for each in lines]
    named = lexical.matches(asked.groups, [each.line.text for each in found])
    absent, most_absent = _absent(asked, named)
    named = lexical.matches(asked.groups, texts)
    share = _shares(asked, named)
    beside = _beside(lines, named)
    around = np.maximum(named, beside)
    window = _shares(asked, around)
    headed = _shares(
        asked,
        np.maximum(named, _BESIDE * lexical.matches(asked.groups, [x.line.section for x in lines])),
    )
    cosines = meaning.cosines([asked.text], texts)[0] if texts else np.zeros(0)
    clause = meaning.closest([asked.text], texts)[0] if texts else np.zeros(0)
    first, second = _first(asked)
    rare = _rarest(asked, named)
    best = lines[0].score if lines else 0.0
    meant = stays.named(asked.text, found)
    features = tuple(
        {
            "found": each.score,
            "behind": each.score - best,
            "share": float(share[k]),
            "window": float(window[k]),
            "headed": float(headed[k]),
            "rarest": float(named[rare, k]) if rare is not None else 0.0,
            "cosine": float(cosines[k]),
            "clause": float(clause[k]),
            "first": 0.0 if first is None else float(around[first, k]),
            "second": 0.0 if second is None else float(around[second, k]),
            "meant": float(meant is not None and each.line.note_id in meant),
            "not meant": float(meant is not None and each.line.note_id not in meant),
            **_of_line(asked, each, named[:, k]),
        }
        for k, each in enumerate(lines)
    )
    unscored = (0.0,) * len(lines)
    unlike = _unlike(asked, named, meaning, texts)
    told = (absent, most_absent, meant, unlike)
    return Evidence(asked, tuple(lines), features, unscored, named, *told).ordered(weights)


def _of_line(asked: NoteQuestion, each: FoundLine, named: Matrix) -> dict[str, float]:
    """What can be told of a line by itself."""
    line = each.line
    words = len(line.text.split())
    negated = each.stance is Stance.NEGATED
    wanted = asked.kind
    features = {
        "short": float(words < 5),
        "long": min(words, 60) / 60,
        "section": float(any(part in line.section for part in asked.sections)),
        "no section": float(
            bool(asked.sections) and not any(p in line.section for p in asked.sections)
        ),
        "medication": float(
            line.kind == "medication" and wanted in (AnswerKind.DOSE, AnswerKind.FREQUENCY)
        ),
        "header": float(line.kind == "header" or line.section == "administrative"),
        "negated": float(negated and not asked.negative and wanted is not AnswerKind.YES_NO),
        "negated, asked": float(negated and (asked.negative or wanted is AnswerKind.YES_NO)),
        "planned": float(each.stance is Stance.PLANNED and not asked.planned),
        "family": float(each.stance is Stance.FAMILY and not asked.family),
    }
    if wanted in (
        *_VALUES,
        AnswerKind.REASON,
        AnswerKind.PLACE,
        AnswerKind.COMPARISON,
        AnswerKind.ARITHMETIC,
    ):
        features["fits"] = float(fits(wanted, line.text))
        features["reason"] = float(wanted is AnswerKind.REASON and fits(wanted, line.text))
        features["near"] = nearness(asked, line.text, named)
    return features


def nearness(asked: NoteQuestion, text: str, named: Matrix) -> float:
    """How near a value of the wanted sort stands to what is asked about: 0 (none) to 1.

    ``named`` says how well the line names each group of the question, shape (groups,).
    """
    values = spans_of(asked.kind, text)
    if not values:
        return 0.0
    best = 0.0
    for g, (group, weight) in enumerate(zip(asked.groups, asked.weights, strict=True)):
        place = find_mention(text, group) if named[g] else None
        if place is not None:
            gaps = [max(a - place[1], place[0] - b, 0) for a, b in values]
            best = max(best, weight * max(0.0, 1 - min(gaps) / _NEAR))
    return best


def _absent(asked: NoteQuestion, named: Matrix) -> tuple[float, float]:
    """The share of the question's weight, and the most of one group, that no line names."""
    total = sum(asked.weights)
    if not total:
        return 1.0, 1.0
    lost = [
        weight * (1 - float(named[g].max(initial=0.0))) for g, weight in enumerate(asked.weights)
    ]
    return sum(lost) / total, max(lost)


def _first(asked: NoteQuestion) -> tuple[int | None, int | None]:
    """The first two groups of the question that do not only frame it: mostly what it is of."""
    told = [g for g, weight in enumerate(asked.weights) if weight >= _TELLS]
    return (told[0] if told else None), (told[1] if len(told) > 1 else None)


def _unlike(asked: NoteQuestion, named: Matrix, meaning: Meaning, texts: list[str]) -> float:
    """The weight of a word that no line names, less how close in meaning it comes to a clause."""
    missing = [
        g for g, w in enumerate(asked.weights) if w >= _TELLS and not named[g].max(initial=0.0)
    ]
    if not missing or not texts:
        return 0.0
    close = meaning.closest([asked.groups[g].phrase for g in missing], texts).max(axis=1)
    return max(asked.weights[g] * (1 - float(c)) for g, c in zip(missing, close, strict=True))


def _shares(asked: NoteQuestion, named: Matrix) -> Matrix:
    """How much of what the question says each line says, by what each group tells."""
    import numpy as np

    weights = np.array(asked.weights, dtype=np.float32)
    total = max(float(weights.sum()), 1e-6)
    found: Matrix = (weights[:, None] * named).sum(axis=0) / np.float32(total)
    return found


def _rarest(asked: NoteQuestion, named: Matrix) -> int | None:
    """The group that tells most: itself, and by how few lines name it."""
    present = [
        (weight / (1 + float((named[g] > 0).sum()) / 8), g)
        for g, weight in enumerate(asked.weights)
        if named[g].any()
    ]
    return max(present)[1] if present else None


def _beside(lines: Sequence[FoundLine], named: Matrix) -> Matrix:
    """What the lines just before and after each line name, at half its worth."""
    import numpy as np

    place = {(each.line.note_id, each.line.number): k for k, each in enumerate(lines)}
    found = np.zeros_like(named)
    for k, each in enumerate(lines):
        for step in (-1, 1):
            other = place.get((each.line.note_id, each.line.number + step))
            if other is not None:
                found[:, k] = np.maximum(found[:, k], _BESIDE * named[:, other])
    return found
