"""What a study measures."""

from __future__ import annotations

from dataclasses import dataclass, field

from ehrqa_cli.engine.risk import Thresholds
from ehrqa_cli.evaluate.bias.ngrams import Ratios
from ehrqa_cli.evaluate.bias.split import PAPER, SplitSettings
from ehrqa_papers.abstention.signals import PRECISION

# Least ratios that filter a question (section 4.1).
ORIGINAL_RATIOS: Ratios = (8.0, 10.0, 4.0)
SPLIT_RATIOS: Ratios = (6.0, 6.0, 6.0)
# Table 5, in its order.
ABLATION = (SplitSettings(22, 18, 5), SplitSettings(18, 15, 9), SplitSettings(16, 10, 12))
# As in the paper to 9; then ours.
TABLES = ("1", "2", "3", "4", "5", "6", "7", "8", "10", "11", "12")


@dataclass(frozen=True)
class Plan:
    """What to measure. ``split`` and ``ablation`` are the debiased splits of Tables 3 and 5;
    ``original`` and ``ratios`` the filters of Table 2 and of all new splits. Every split is made
    ``repeats`` times from seeds ``seed``, ``seed`` + 1, ..., and means are given. ``signals``
    names our own (none: all that were recorded)."""

    split: SplitSettings = PAPER
    ablation: tuple[SplitSettings, ...] = ABLATION
    original: Ratios = ORIGINAL_RATIOS
    ratios: Ratios = SPLIT_RATIOS
    precision: float = PRECISION
    seed: int = 0
    repeats: int = 1
    tables: frozenset[str] = frozenset(TABLES)
    signals: tuple[str, ...] = ()
    shipped: Thresholds = field(default_factory=Thresholds)
