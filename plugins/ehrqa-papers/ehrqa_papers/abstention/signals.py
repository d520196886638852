"""Signals that tell which questions not to answer, and thresholds on them (Yang et al. 2024).

A signal is a number for each record; a higher one means less sure. A method joins a signal and the
n-gram filter, either of which may be absent. Its threshold is chosen on validation records for a
stated precision (P_exe) and applied unchanged to test records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.engine.risk import Thresholds, risk
from ehrqa_cli.evaluate.bias.ngrams import Patterns, Ratios
from ehrqa_cli.evaluate.metrics import Outcome, Scores, score
from ehrqa_cli.evaluate.records import Record
from ehrqa_cli.evaluate.thresholds import Goal, apply, choose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]

PRECISION = 99.0  # per cent of P_exe, as the EHRSQL leaderboard asks
Value = Callable[[Record], float]
NO_FILTER: Ratios = (math.inf, math.inf, math.inf)

# Scores of which more means surer; of all others more means more risk.
SURE = frozenset({"sum_logprob", "mean_logprob", "min_logprob", "complete"})
RISK_FITTED, RISK_SHIPPED = "risk_fitted", "risk_shipped"
IGNORED = "ignored_"
CHECKS = "checks"  # how many of the engine's checks would withhold the answer
# Ratios that the filter alone may take; it is the only method that has to reach the precision
# with them (section 4.2.1).
GRID = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, math.inf)


@dataclass(frozen=True)
class Signal:
    """A named number of a record; higher means less sure."""

    name: str
    value: Value

    @classmethod
    def of_score(cls, name: str) -> Signal:
        """One that the engine records. A missing score counts as 0, as in the risk; a missing
        log-probability as the least sure."""
        if name in SURE or ("agree" in name and "disagree" not in name):
            return cls(name, lambda r: -r.scores.get(name, -math.inf))
        return cls(name, lambda r: r.scores.get(name, 0.0))

    @classmethod
    def of_risk(cls, name: str, thresholds: Thresholds) -> Signal:
        """The engine's one risk, by the weights of ``thresholds``."""
        return cls(name, lambda r: risk(r.scores, thresholds))


ENTROPY = Signal.of_score("max_entropy")
BEAM = Signal.of_score("mean_logprob")  # of the best beam, length-normalised


@dataclass(frozen=True)
class Method:
    """``signal`` after an n-gram filter of ``ratios``; the limit on it is chosen, unless given as
    ``limit``. Without a signal it is the filter alone, which chooses its ratios unless there is a
    ``limit``: the paper demands the precision of that, too (section 4.2.1)."""

    name: str
    signal: Signal | None
    ratios: Ratios = NO_FILTER
    limit: float | None = None


@dataclass(frozen=True)
class Choice:
    """What was chosen on the validation part: answer where no n-gram has at least ``ratios`` and
    the signal is at most ``limit``. ``met`` is False where the precision could not be reached:
    then it is the highest that can be."""

    ratios: Ratios
    limit: float
    met: bool


@dataclass(frozen=True)
class Measured:
    """A method on both parts; ``test`` is None where there is none."""

    method: str
    choice: Choice
    valid: Scores
    test: Scores | None


def filtered(strongest: Sequence[Ratios], ratios: Ratios) -> Bools:
    """Which questions the filter withholds, (questions,): those with an n-gram of at least the
    ratio that its size asks for."""
    import numpy as np

    if not strongest:
        return np.zeros(0, dtype=np.bool_)
    found: Bools = np.any(np.array(strongest) >= np.array(ratios), axis=1)
    return found


@dataclass(frozen=True)
class Part:
    """Records of one part and the strongest n-gram ratios of their questions (see Patterns)."""

    records: Sequence[Record]
    strongest: Sequence[Ratios]

    @classmethod
    def of(cls, records: Sequence[Record], patterns: Patterns) -> Part:
        """With ratios that were counted on the validation part, whichever part this is."""
        return cls(records, [patterns.strongest(r.question) for r in records])

    def open(self, ratios: Ratios) -> Bools:
        """(records,): where the model wrote a query and the filter lets it through."""
        import numpy as np

        answered = np.array([r.status == "answered" for r in self.records], dtype=np.bool_)
        kept: Bools = answered & ~filtered(self.strongest, ratios)
        return kept

    def values(self, signal: Signal | None) -> Floats:
        """(records,): the signal, 0 without one."""
        import numpy as np

        return np.array([signal.value(r) if signal else 0.0 for r in self.records], np.float64)

    def given(self, method: Method, choice: Choice) -> Bools:
        """(records,): what is answered under ``choice``."""
        kept: Bools = self.open(choice.ratios) & (self.values(method.signal) <= choice.limit)
        return kept

    def scores(self, given: Bools) -> Scores:
        """The metrics when exactly ``given`` are answered."""
        return score(
            [
                Outcome(r.gold is not None, bool(g), bool(g) and r.correct)
                for r, g in zip(self.records, given, strict=True)
            ]
        )


def parts(valid: Sequence[Record], test: Sequence[Record] | None) -> tuple[Part, Part | None]:
    """Both parts, their n-grams counted on the validation part only."""
    patterns = Patterns((r.question, r.gold is not None) for r in valid)
    return Part.of(valid, patterns), None if test is None else Part.of(test, patterns)


def measure(
    method: Method, valid: Part, test: Part | None, precision: float = PRECISION
) -> Measured:
    """Choose on ``valid``, apply to both."""
    chosen = choose_on(method, valid, precision)

    def scores(part: Part) -> Scores:
        return part.scores(part.given(method, chosen))

    return Measured(method.name, chosen, scores(valid), scores(test) if test else None)


def choose_on(method: Method, part: Part, precision: float = PRECISION) -> Choice:
    """The threshold with the best recall (then the highest precision, so the best F1_exe) among
    those whose P_exe is at least ``precision`` per cent; without any, the highest P_exe."""
    import numpy as np

    right = np.array([r.correct for r in part.records], dtype=np.bool_)
    if method.limit is not None:
        given = part.open(method.ratios) & (part.values(method.signal) <= method.limit)
        met = _share(int((right & given).sum()), int(given.sum())) >= precision
        return Choice(method.ratios, method.limit, met)
    if method.signal is None:
        return _best_ratios(part, right, precision)
    return _best_limit(
        part.values(method.signal), right, part.open(method.ratios), method, precision
    )


def _share(good: float, given: float) -> float:
    return 100.0 * good / given if given else 0.0


def _rank(good: float, given: float, precision: float) -> tuple[bool, float, float]:
    """The more the better: is the precision met; then recall and precision, or, where it is not
    met, precision and recall."""
    share = _share(good, given)
    return (True, good, share) if given and share >= precision else (False, share, good)


def _best_ratios(part: Part, right: Bools, precision: float) -> Choice:
    """For the filter alone: of all combinations of GRID. Of equal ones the strictest."""
    import numpy as np

    strongest = np.array(part.strongest).reshape(-1, 3)
    # (grid, questions) for each size: is the question withheld by it?
    over = [strongest[:, n][None, :] >= np.array(GRID)[:, None] for n in range(3)]
    answered = part.open(NO_FILTER)
    best: tuple[tuple[bool, float, float], Choice] | None = None
    for a, first in enumerate(over[0]):
        for b, second in enumerate(over[1]):
            kept = answered & ~(first | second) & ~over[2]
            given, good = kept.sum(axis=1), (kept & right).sum(axis=1)
            for c, (n, k) in enumerate(zip(given.tolist(), good.tolist(), strict=True)):
                rank = _rank(k, n, precision)
                if best is None or rank > best[0]:
                    best = rank, Choice((GRID[a], GRID[b], GRID[c]), math.inf, rank[0])
    assert best is not None
    return best[1]


def _best_limit(
    values: Floats, right: Bools, kept: Bools, method: Method, precision: float
) -> Choice:
    """The limit on the signal of the records that are ``kept``. Equal values go together."""
    import numpy as np

    order = np.flatnonzero(kept)[np.argsort(values[kept], kind="stable")]
    if not len(order):
        return Choice(method.ratios, -math.inf, False)
    ordered, good = values[order], np.cumsum(right[order])
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)).tolist()
    ranks = [_rank(float(good[i]), i + 1, precision) for i in last]
    best = max(range(len(last)), key=lambda i: ranks[i])
    at = last[best]
    # Halfway to the next value, so that rounding does not decide.
    limit = math.inf
    if at + 1 < len(ordered):
        limit = float(ordered[at])
        if math.isfinite(ordered[at + 1]):
            limit = (limit + float(ordered[at + 1])) / 2.0
    return Choice(method.ratios, limit, ranks[best][0])


def paper_methods(ratios: Ratios) -> list[Method]:
    """The five rows of the paper's tables."""
    return [
        Method("Entropy", ENTROPY),
        Method("Beam", BEAM),
        Method("Ngram", None),
        Method("Entropy + Ngram", ENTROPY, ratios),
        Method("Beam + Ngram", BEAM, ratios),
    ]


def recorded(records: Sequence[Record]) -> list[str]:
    """Names of the scores that the engine recorded and that differ between the answers."""
    found: dict[str, set[float]] = {}
    for record in records:
        if record.status == "answered":
            for name in record.scores:
                found.setdefault(name, set())
    for record in records:
        if record.status == "answered":
            for name, values in found.items():
                values.add(record.scores.get(name, 0.0))
    return sorted(name for name, values in found.items() if len(values) > 1)


def own_signals(valid: Sequence[Record], names: Sequence[str], shipped: Thresholds) -> list[Signal]:
    """Every recorded score of ``names``, the engine's checks, and the risk: by the weights stored
    with the shipped model, and by weights fitted on ``valid``."""
    found = [Signal.of_score(name) for name in names]
    found.append(Signal(CHECKS, lambda r: float(sum(k.startswith(IGNORED) for k in r.scores))))
    found.append(Signal.of_risk(RISK_SHIPPED, shipped))
    fitted = fitted_risk(valid)
    return [*found, Signal.of_risk(RISK_FITTED, fitted)] if fitted else found


def as_shipped(thresholds: Thresholds) -> Signal:
    """1 where the engine with these thresholds would withhold the answer, else 0."""

    def withheld(record: Record) -> float:
        return float(apply([record], thresholds)[0].status != "answered")

    return Signal("all checks and the shipped limit", withheld)


def fitted_risk(valid: Sequence[Record]) -> Thresholds | None:
    """Weights and calibration of the risk, from ``valid`` alone; None where its answers are all
    right or all wrong."""
    # The engine's checks are off here: an answer that one would withhold is to learn from too.
    plain = [
        replace(r, scores={k: v for k, v in r.scores.items() if not k.startswith(IGNORED)})
        for r in valid
    ]
    try:
        return choose(plain, Goal(precision=PRECISION / 100.0))
    except EvaluationError:
        return None
