"""The scores of EHRSQL, computed as its papers and its 2024 scorer define them. Pure.

A prediction is an answer or None (declined). Gold is an answer or None (unanswerable).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.benchmarks import Measure, Record
from ehrqa_cli.evaluate.calibration import bootstrap

if TYPE_CHECKING:
    from ehrqa_cli.evaluate.calibration import Floats

PENALTIES = (0, 5, 10)


@dataclass(frozen=True)
class Outcome:
    """One scored question: is it answerable, was it answered, and rightly?

    ``failed``: a fault kept the program from answering; this counts neither as an answer nor as
    declining.
    """

    answerable: bool
    answered: bool
    correct: bool = False
    failed: bool = False

    def reliability(self, penalty: float) -> float:
        """1 for a right answer or for declining the unanswerable, 0 for declining an answerable
        question, minus ``penalty`` for a wrong answer (Lee et al. 2024, EHRSQL shared task)."""
        if self.answered:
            return 1.0 if self.correct else -penalty
        return 1.0 if not self.answerable and not self.failed else 0.0


@dataclass(frozen=True)
class Scores:
    """Per cent, except counts. ``rs`` maps a penalty to the reliability score; ``rs_n`` is that
    with the number of questions as the penalty. None: not defined (a division by 0)."""

    questions: int
    answerable: int
    answered: int
    correct: int
    wrong_on_answerable: int
    answered_unanswerable: int
    failed: int
    rs: dict[int, float]
    rs_n: float
    f1_ans: float | None
    p_exe: float | None
    r_exe: float | None
    f1_exe: float | None
    unanswerable_recall: float | None
    coverage: float | None


def score(outcomes: Sequence[Outcome], penalties: Sequence[int] = PENALTIES) -> Scores:
    """All scores of a set of questions.

    Answerability: precision and recall of "answered" against "answerable", joined in F1_ans.
    Execution: P_exe is the share of right answers among all answered questions, R_exe among all
    answerable ones, F1_exe their harmonic mean (EHRSQL, Lee et al. 2022; Yang et al. 2024).
    ``coverage`` is the share of answerable questions that were answered.
    """
    n = len(outcomes)
    answerable = sum(o.answerable for o in outcomes)
    answered = sum(o.answered for o in outcomes)
    both = sum(o.answered and o.answerable for o in outcomes)
    correct = sum(o.correct for o in outcomes)
    declined = sum(o.reliability(0) == 1.0 and not o.answerable for o in outcomes)
    p_exe, r_exe = _share(correct, answered), _share(correct, answerable)
    return Scores(
        questions=n,
        answerable=answerable,
        answered=answered,
        correct=correct,
        wrong_on_answerable=both - correct,
        answered_unanswerable=answered - both,
        failed=sum(o.failed for o in outcomes),
        rs={c: _mean([o.reliability(c) for o in outcomes]) for c in penalties},
        rs_n=_mean([o.reliability(n) for o in outcomes]),
        f1_ans=_f1(_share(both, answered), _share(both, answerable)),
        p_exe=p_exe,
        r_exe=r_exe,
        f1_exe=_f1(p_exe, r_exe),
        unanswerable_recall=_share(declined, n - answerable),
        coverage=_share(both, answerable),
    )


def outcome_of(record: Record) -> Outcome:
    """Of a record with ``gold``, ``status`` and ``correct``."""
    status = record["status"]
    return Outcome(
        record.get("gold") is not None,
        status == "answered",
        bool(record["correct"]),
        status == "failed",
    )


def measures_of(records: Sequence[Record]) -> dict[str, Measure]:
    """What each of such records counts in the scores that two runs are compared by."""

    def reliability(penalty: int) -> Measure:
        return lambda r: (outcome_of(r).reliability(penalty), 1.0)

    def f1(part: Callable[[Outcome], bool]) -> Measure:
        def one(record: Record) -> tuple[float, float]:
            o = outcome_of(record)
            return 2.0 * part(o), float(o.answered) + float(o.answerable)

        return one

    return {
        **{f"RS({c})": reliability(c) for c in PENALTIES},
        "RS(N)": reliability(len(records)),
        "F1_ans": f1(lambda o: o.answered and o.answerable),
        "P_exe": lambda r: (float(outcome_of(r).correct), float(outcome_of(r).answered)),
        "R_exe": lambda r: (float(outcome_of(r).correct), float(outcome_of(r).answerable)),
        "F1_exe": f1(lambda o: o.correct),
    }


def interval(
    outcomes: Sequence[Outcome], penalty: float, *, rounds: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """95% bootstrap interval (per cent) of a reliability score, resampling questions."""
    n = len(outcomes)
    values = [[o.reliability(penalty)] for o in outcomes]
    return bootstrap(values, lambda sums: 100.0 * sums[:, 0] / n, rounds=rounds, seed=seed)


def intervals(
    outcomes: Sequence[Outcome], penalties: Sequence[int] = PENALTIES, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """95% bootstrap intervals (per cent) of RS for each penalty and for the number of questions,
    and of F1_exe; by the name of the score. Empty for no outcomes."""
    if not outcomes:
        return {}
    found = {f"RS({c})": interval(outcomes, c, seed=seed) for c in penalties}
    found["RS(N)"] = interval(outcomes, len(outcomes), seed=seed)
    counted = [[o.correct, o.answered, o.answerable] for o in outcomes]
    found["F1_exe"] = bootstrap(counted, _f1_of_sums, seed=seed)
    return found


def _f1_of_sums(sums: Floats) -> Floats:
    # The harmonic mean of right/answered and right/answerable; 0 where there is nothing to divide.
    whole = sums[:, 1] + sums[:, 2]
    whole[whole == 0] = 1.0
    share: Floats = 200.0 * sums[:, 0] / whole
    return share


def _mean(values: Sequence[float]) -> float:
    return 100.0 * sum(values) / len(values) if values else 0.0


def _share(part: int, whole: int) -> float | None:
    return 100.0 * part / whole if whole else None


def _f1(p: float | None, r: float | None) -> float | None:
    if p is None or r is None:
        return None
    return 2 * p * r / (p + r) if p + r else 0.0
