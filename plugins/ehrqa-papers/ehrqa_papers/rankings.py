"""Do two rankings of systems agree? (Kweon et al. 2024, EHRNoteQA, sections 4.1 and 4.3.)"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.files import hash_file

_SHAPE = "expected a header and a row for each system: its name, the benchmark's score, then scores"


@dataclass(frozen=True)
class Agreement:
    """Spearman's rho and Kendall's tau-b of two lists of scores, with two-sided p-values; None
    where one of the lists is the same throughout."""

    spearman: float | None
    kendall: float | None
    spearman_p: float | None = None
    kendall_p: float | None = None
    systems: int = 0


def agreement(ours: Sequence[float], theirs: Sequence[float]) -> Agreement:
    """How far two lists of scores rank the same systems alike; equal scores share their rank.

    Raises EvaluationError for lists of other lengths.
    """
    if len(ours) != len(theirs) or len(ours) < 2:
        raise EvaluationError(
            f"rankings of {len(ours)} and {len(theirs)} systems", "give both for the same systems"
        )
    if len(set(ours)) == 1 or len(set(theirs)) == 1:
        return Agreement(None, None, systems=len(ours))
    from scipy import stats

    rho, tau = stats.spearmanr(ours, theirs), stats.kendalltau(ours, theirs)
    return Agreement(
        float(rho.statistic), float(tau.statistic), float(rho.pvalue), float(tau.pvalue), len(ours)
    )


def ranks(scores: Sequence[float]) -> list[int]:
    """1 for the highest; equal scores share the better rank."""
    return [1 + sum(other > score for other in scores) for score in scores]


def rank_changes(rounds: Sequence[Sequence[float]]) -> int:
    """How unsteady a judge ranks: the sum over systems and rounds of the distance of the rank from
    the system's most frequent one (section 4.1). ``rounds`` are the scores of each round."""
    by_system = list(zip(*(ranks(scores) for scores in rounds), strict=True))
    return sum(_spread(found) for found in by_system)


def _spread(found: tuple[int, ...]) -> int:
    # Of equally frequent ranks the first that came, which gives the paper's figures.
    usual = statistics.mode(found)
    return sum(abs(rank - usual) for rank in found)


@dataclass(frozen=True)
class RankedSystems:
    """Systems with a benchmark's scores and those that others gave them, by who gave them."""

    names: tuple[str, ...]
    benchmark: str
    scores: tuple[float, ...]
    others: tuple[tuple[str, tuple[float, ...]], ...]
    sha256: str


def read_systems(path: Path) -> RankedSystems:
    """A table of systems, with commas or tabs between its columns. Raises EvaluationError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise EvaluationError(f"cannot read {path}: {told}", "check the path") from None
    mark = "\t" if "\t" in text.partition("\n")[0] else ","
    rows = [row for row in csv.reader(text.splitlines(), delimiter=mark) if row]
    if len(rows) < 3 or len(rows[0]) < 3 or {len(row) for row in rows} != {len(rows[0])}:
        raise EvaluationError(f"{path} holds no scores of systems", _SHAPE)
    try:
        columns = [tuple(map(float, column)) for column in list(zip(*rows[1:], strict=True))[1:]]
    except ValueError as error:
        raise EvaluationError(f"{path}: {error}", _SHAPE) from None
    names = tuple(row[0] for row in rows[1:])
    others = tuple(zip(rows[0][2:], columns[1:], strict=True))
    return RankedSystems(names, rows[0][1], columns[0], others, hash_file(path))
