"""The paper's four metrics as rows of a table, and its Table 1."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.benchmarks import Cells, FigureTable
from ehrqa_cli.evaluate.bias.ngrams import NAMES, SIZES, Patterns
from ehrqa_cli.evaluate.metrics import Scores
from ehrqa_papers.abstention.signals import Measured

METRICS = ("F1_ans", "P_exe", "R_exe", "F1_exe")
COLUMNS = (
    "Method",
    *(f"valid {m}" for m in METRICS),
    *(f"test {m}" for m in METRICS),
)
UNMET = "*"
UNMET_NOTE = f"{UNMET} no threshold reaches the precision on valid: the highest there is"


@dataclass(frozen=True)
class Figures:
    """The paper's four metrics (per cent) of one part; None where not defined."""

    f1_ans: float | None
    p_exe: float | None
    r_exe: float | None
    f1_exe: float | None

    @classmethod
    def of(cls, scores: Scores) -> Figures:
        # Where nothing is answered, precision does not exist, and an F1 without answers is 0.
        return cls(
            scores.f1_ans if scores.f1_ans is not None else 0.0 if scores.answerable else None,
            scores.p_exe,
            scores.r_exe,
            scores.f1_exe if scores.f1_exe is not None else 0.0 if scores.answerable else None,
        )

    @classmethod
    def mean(cls, several: Sequence[Figures]) -> Figures:
        """Each metric's mean over those where it is defined."""
        columns = zip(*(f.cells() for f in several), strict=True)
        return cls(*(mean([c for c in column if c is not None]) for column in columns))

    def cells(self) -> tuple[float | None, ...]:
        return (self.f1_ans, self.p_exe, self.r_exe, self.f1_exe)


NOTHING = Figures(None, None, None, None)


def mean(values: Sequence[float]) -> float | None:
    """None for none."""
    return statistics.fmean(values) if values else None


def row(repeats: Sequence[Measured]) -> Cells:
    """One method, measured once or on several splits: then the means."""
    first = repeats[0]
    unmet = sum(not m.choice.met for m in repeats)
    mark = f" {UNMET}" if unmet else ""
    if unmet and len(repeats) > 1:
        mark += f"{unmet}/{len(repeats)}"
    valid = Figures.mean([Figures.of(m.valid) for m in repeats])
    tests = [Figures.of(m.test) for m in repeats if m.test is not None]
    test = Figures.mean(tests) if tests else NOTHING
    return (first.method + mark, *valid.cells(), *test.cells())


def notes(rows: Sequence[Cells], *more: str) -> tuple[str, ...]:
    """``more``, and what the mark of a missed precision means if any row has it."""
    marked = any(UNMET in str(r[0]) for r in rows)
    return (*more, UNMET_NOTE) if marked else more


def pattern_table(
    patterns: Patterns, source: str, top: tuple[int, int, int] = (6, 4, 3)
) -> FigureTable:
    """Table 1: the n-grams with the highest ratios."""
    blocks = []
    for size, n in zip(SIZES, top, strict=True):
        found = patterns.predominant(size)[:n]
        rows = tuple((p.text, p.answerable, p.unanswerable, round(p.ratio, 2)) for p in found)
        blocks.append((NAMES[size].capitalize(), rows))
    return FigureTable(
        "1",
        f"predominant n-grams in unanswerable questions of {source}",
        ("n-gram", "# ans", "# unans", "ratio"),
        tuple(blocks),
    )
