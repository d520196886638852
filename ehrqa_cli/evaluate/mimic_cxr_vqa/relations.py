"""How well single relations are seen: AUROC per (object, attribute), and AUROC_rel.

Bae et al. 2023 (arXiv:2310.18652), section 6.1 and E.1.3: questions are taken apart into basic
ones ("Is there ${attribute} in the ${object}?"), those about categories left out; a pair counts
from 10 positives on; m_rel(o, a) = m_VQA(o, a) / m_ref(o, a) with AUROC as m, m_ref being that of
a reference classifier; AUROC_rel is its mean over the pairs (standard deviation over the pairs
as ±, which gives the 1.05 and 0.08 of the paper's best model from its Table E13).
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.images import ANYWHERE, Relation, SceneGraph
from ehrqa_cli.ehr.cxr_vocabulary import ATTRIBUTES
from ehrqa_cli.evaluate.calibration import auroc, bootstrap
from ehrqa_cli.vqa import Program, Vqa
from ehrqa_cli.vqa.program import Leaf, leaves

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.calibration import Floats

MIN_POSITIVES = 10
ROUNDS = 1000
_COLUMNS = ("object", "attribute", "reference_auroc")


@dataclass(frozen=True)
class Case:
    """One basic question about one study: is the relation there, and with what probability did
    the system say so? ``score`` is None where it said nothing."""

    relation: Relation
    study_id: int
    present: bool
    score: float | None


@dataclass(frozen=True)
class PairAuroc:
    """``support`` counts the scored studies; ``unscored`` those of which the system said nothing.
    ``auroc`` is None below MIN_POSITIVES positives or without a negative; ``low`` and ``high``
    bound its 95% bootstrap interval over studies. ``reference`` and ``relative`` (their ratio)
    are None without a reference."""

    relation: Relation
    positives: int
    support: int
    unscored: int
    auroc: float | None
    low: float | None = None
    high: float | None = None
    reference: float | None = None

    @property
    def relative(self) -> float | None:
        """m_rel of the pair."""
        if self.auroc is None or not self.reference:
            return None
        return self.auroc / self.reference


@dataclass(frozen=True)
class Relative:
    """AUROC_rel: mean and standard deviation over ``pairs`` pairs, of ``known`` that the reference
    has; ``low`` and ``high`` bound the 95% bootstrap interval of the mean over pairs."""

    mean: float
    deviation: float
    low: float
    high: float
    pairs: int
    known: int


def pair_aurocs(
    cases: Iterable[Case],
    reference: Mapping[Relation, float] | None = None,
    *,
    min_positives: int = MIN_POSITIVES,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> list[PairAuroc]:
    """The AUROC of each relation, in the order of their names. A study counts once a relation."""
    by_relation: dict[Relation, dict[int, Case]] = {}
    for case in cases:
        by_relation.setdefault(case.relation, {}).setdefault(case.study_id, case)
    return [
        _pair(relation, list(found.values()), (reference or {}).get(relation), options)
        for options in [(min_positives, rounds, seed)]
        for relation, found in sorted(by_relation.items())
    ]


def auroc_rel(
    pairs: Sequence[PairAuroc], reference: Mapping[Relation, float], seed: int = 0
) -> Relative | None:
    """AUROC_rel over the pairs that have both; None where none has."""
    found = [pair.relative for pair in pairs if pair.relative is not None]
    if not found:
        return None
    low, high = bootstrap([[value] for value in found], lambda s: s[:, 0] / len(found), seed=seed)
    return Relative(
        statistics.fmean(found), statistics.pstdev(found), low, high, len(found), len(reference)
    )


def read_reference(path: Path) -> dict[Relation, float]:
    """A table of object, attribute and reference_auroc, tab-separated. Raises EvaluationError."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t")
            lacking = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
            if lacking:
                raise EvaluationError(
                    f"{path} has no column {', '.join(lacking)}",
                    f"expected a tab-separated table of {', '.join(_COLUMNS)}",
                )
            return {
                (row["object"].strip().lower(), row["attribute"].strip().lower()): float(
                    row["reference_auroc"]
                )
                for row in reader
            }
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EvaluationError(f"cannot read {path}: {error}", "check --reference") from None
    except (ValueError, TypeError, AttributeError):
        raise EvaluationError(
            f"{path} has a row without a number in reference_auroc", "mend or fetch it again"
        ) from None


def basics(program: Program, answer: frozenset[str]) -> Iterator[tuple[Relation, bool | None]]:
    """The basic questions that a question is made of, with what its answer says of each.

    None where the answer does not decide it ("both" denied, "either" affirmed). Nothing for a
    question about a category or any abnormality, about the image as a whole, or of view, sex and
    widths.
    """
    if program.expr is None:
        return
    found = leaves(program.expr)
    if any(leaf.finding not in ATTRIBUTES or not leaf.place for leaf in found):
        return
    op = "" if isinstance(program.expr, Leaf) else program.expr.op
    flat = isinstance(program.expr, Leaf) or len(found) == len(program.expr.parts)
    for leaf in found:
        assert leaf.place is not None
        relation = (leaf.place, leaf.finding)
        if program.choose:
            # The answer names what distinguishes the two: their places, or their findings.
            by_place = len({other.place for other in found}) > 1
            yield relation, (leaf.place if by_place else leaf.finding) in answer
        elif not program.verify or not flat or op not in ("", "and", "or"):
            yield relation, None
        else:
            yes = answer == {"yes"}
            yield relation, yes if not op or yes == (op == "and") else None


class RelationScores:
    """The probability that a reader of images gives a relation, as its answers take it: that of
    the most probable relation that implies it."""

    def __init__(self, reader: Vqa) -> None:
        self._reader = reader

    def __call__(self, relation: Relation, study_id: int) -> float | None:
        """None for a relation it does not cover, or a study without an image."""
        graph = self._reader.graph(study_id)
        return None if graph is None else self._of(graph, relation)

    def _of(self, graph: SceneGraph, relation: Relation) -> float | None:
        columns = self._reader.known.columns(relation)
        found = [p for p in (graph.probabilities[k] for k in columns) if p == p]
        return max(found) if found else None


def labelled_cases(
    labels: Vqa, studies: Iterable[int], score: Callable[[Relation, int], float | None]
) -> Iterator[Case]:
    """Every relation of the labels in every study, those of the image as a whole (object
    ANYWHERE) too. Studies without labels give none."""
    truth = RelationScores(labels)
    relations = sorted(labels.known.column)
    whole = sorted({(ANYWHERE, name) for _, name in relations})
    for study in studies:
        for relation in (*relations, *whole):
            present = truth(relation, study)
            if present is not None:
                yield Case(relation, study, present >= 0.5, score(relation, study))


def _pair(
    relation: Relation,
    cases: Sequence[Case],
    reference: float | None,
    options: tuple[int, int, int],
) -> PairAuroc:
    min_positives, rounds, seed = options
    scored = [(case.score, case.present) for case in cases if case.score is not None]
    positive = [score for score, present in scored if present]
    negative = [score for score, present in scored if not present]
    counts = (len(positive), len(scored), len(cases) - len(scored))
    found = auroc(positive, negative) if len(positive) >= min_positives else None
    if found is None:
        return PairAuroc(relation, *counts, None, reference=reference)
    low, high = _interval(positive, negative, rounds, seed)
    return PairAuroc(relation, *counts, found, low, high, reference)


def _interval(
    positive: Sequence[float], negative: Sequence[float], rounds: int, seed: int
) -> tuple[float, float]:
    """95% percentile interval, resampling studies; draws without both kinds are left out."""
    import numpy as np

    scores = np.asarray([*positive, *negative], dtype=np.float64)
    yes = np.arange(len(scores)) < len(positive)
    order = np.argsort(scores, kind="stable")
    scores, yes = scores[order], yes[order]
    starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    weights = np.random.default_rng(seed).multinomial(
        len(scores), np.full(len(scores), 1.0 / len(scores)), size=rounds
    )
    # Of each resample, how many positives and negatives stand at each distinct score.
    high: Floats = np.add.reduceat(weights * yes, starts, axis=1).astype(np.float64)
    low: Floats = np.add.reduceat(weights * ~yes, starts, axis=1).astype(np.float64)
    below = np.cumsum(low, axis=1) - low / 2
    pairs = high.sum(axis=1) * low.sum(axis=1)
    values = (high * below).sum(axis=1)[pairs > 0] / pairs[pairs > 0]
    found = np.percentile(values, [2.5, 97.5])
    return float(found[0]), float(found[1])
