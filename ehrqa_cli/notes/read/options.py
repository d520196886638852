"""Multiple choice: which option the lines bear out, by a small fitted model with hidden lines.

Each option is compared with each of the best lines (`pairing`). An option's score is the logarithm
of the sum over lines of exp(weights x features), so that one line that bears it out well is enough
and it need not be known beforehand which: a log-linear model with the line as hidden variable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ehrqa_cli.notes.read.evidence import Evidence
from ehrqa_cli.notes.read.pairing import Pairs, compare
from ehrqa_cli.notes.read.weights import Weights

if TYPE_CHECKING:
    from ehrqa_cli.notes.read.meaning import Matrix, Meaning

_TOLD = ("covers, own", "close", "joined", "meant", "clause", "quantity near", "worked", "line",
         "covers ahead", "joined ahead", "pair")  # fmt: skip


@dataclass(frozen=True)
class Support:
    """One option: its score, and the line (by its place in the evidence) that bears it out most.

    ``features`` are those of the option with that line; ``share`` is that line's of the score.
    """

    letter: str
    features: dict[str, float]
    score: float
    line: int
    share: float


def support(
    evidence: Evidence, choices: Mapping[str, str], meaning: Meaning, weights: Weights
) -> list[Support]:
    """The options with how far the evidence supports each, best first."""
    return scored(list(choices), compare(evidence, list(choices.values()), meaning), weights)


def scored(letters: Sequence[str], pairs: Pairs, weights: Weights) -> list[Support]:
    """The options ``letters``, that were compared with lines, best first."""
    import numpy as np

    theta = np.array([weights.option.get(name, 0.0) for name in pairs.names], dtype=np.float32)
    table: Matrix = pairs.table @ theta
    top = table.max(axis=1)
    sums = top + np.log(np.exp(table - top[:, None]).sum(axis=1))
    found = []
    for k, letter in enumerate(letters):
        line = int(table[k].argmax())
        features = dict(zip(pairs.names, map(float, pairs.table[k, line]), strict=True))
        share = math.exp(float(table[k, line] - sums[k]))
        found.append(Support(letter, features, float(sums[k]), pairs.lines[line], share))
    return sorted(found, key=lambda each: (-each.score, each.letter))


def shares(found: Sequence[Support]) -> list[float]:
    """The scores of options as shares of one."""
    most = max(each.score for each in found)
    raised = [math.exp(each.score - most) for each in found]
    return [each / sum(raised) for each in raised]


def told(found: Sequence[Support]) -> dict[str, float]:
    """Features by which it is told whether the best option is borne out at all."""
    each, best = shares(found), found[0]
    return {
        "option share": each[0],
        "option ahead": each[0] - (each[1] if len(each) > 1 else 0.0),
        "option alone": best.share,
        **{f"option {name}": best.features[name] for name in _TOLD},
    }
