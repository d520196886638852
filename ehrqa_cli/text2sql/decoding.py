"""Writing a form under the grammar, and measuring how sure the model was.

Beam search, of which greedy is the width 1, over one interface (``Stepper``), so that it is tested
without a network. Every number comes from the model's own distribution over its full vocabulary,
before the grammar removes anything: entropy of the next token (maximum over the form: Lee et al.,
EHRSQL 2022), log-probabilities, and the mass that the grammar removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ehrqa_cli.logical_form import EOS, Machine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ehrqa_cli.text2sql.network import State

MAX_LEXEMES = 96
BEAMS = 5
ABSTAIN, BEGIN = "abstain", "<s>"


class Stepper(Protocol):
    """What decoding needs of a model. States are values: any number of forms may go on from one."""

    @property
    def lexemes(self) -> Mapping[str, int]:
        """The lexemes that the model knows, and where their logits stand."""

    def read(self, ids: Sequence[int]) -> State:
        """The state after a question, for one form of which nothing is written yet."""

    def step(self, lexemes: Sequence[str], state: State) -> tuple[NDArray[np.float32], State]:
        """Logits (forms, lexemes) after the lexeme written last of each form."""


@dataclass(frozen=True)
class Step:
    """One lexeme: log-probability, entropies (nats; full vocabulary, and among the allowed),
    the probability mass that the grammar removed, and how many lexemes it left to choose from."""

    lexeme: str
    logprob: float
    entropy: float
    allowed_entropy: float
    removed: float
    options: int = 1

    @property
    def is_reference(self) -> bool:
        """Whether it points at a value of the question."""
        return self.lexeme.startswith("#")


@dataclass(frozen=True)
class Written:
    """A form as it was written; ``complete`` is False when it ran out of length or options."""

    steps: tuple[Step, ...]
    complete: bool
    p_abstain: float

    @property
    def lexemes(self) -> tuple[str, ...]:
        return tuple(s.lexeme for s in self.steps if s.lexeme != EOS)

    @property
    def mean_logprob(self) -> float:
        """Length-normalised log-probability: the score of a beam."""
        return sum(s.logprob for s in self.steps) / max(len(self.steps), 1)

    def scores(self) -> dict[str, float]:
        """The measured numbers of ``Query.scores``."""
        steps = self.steps or (Step(EOS, 0.0, 0.0, 0.0, 0.0),)
        decisions = [s.entropy for s in steps if s.options > 1] or [0.0]
        return {
            "max_entropy": max(s.entropy for s in steps),
            "mean_entropy": sum(s.entropy for s in steps) / len(steps),
            "first_entropy": steps[0].entropy,
            "max_allowed_entropy": max(s.allowed_entropy for s in steps),
            # Over references alone, and where the grammar left a choice.
            "ref_entropy": max((s.entropy for s in steps if s.is_reference), default=0.0),
            "decision_entropy": max(decisions),
            "mean_decision_entropy": sum(decisions) / len(decisions),
            "sum_logprob": sum(s.logprob for s in steps),
            "mean_logprob": self.mean_logprob,
            "min_logprob": min(s.logprob for s in steps),
            "max_removed": max(s.removed for s in steps),
            "p_abstain": self.p_abstain,
            "complete": float(self.complete),
        }


class Choices:
    """The next step's distribution, cut to what the grammar allows."""

    def __init__(self, logits: NDArray[np.float32], machine: Machine, ids: Mapping[str, int]):
        import numpy as np

        wide = logits.astype(np.float64)
        wide -= wide.max()
        self.logprobs = wide - np.log(np.exp(wide).sum())
        probability = np.exp(self.logprobs)
        self.entropy = float(-(probability * self.logprobs).sum())
        # Sorted, so that equal scores are broken the same way in every run.
        self.lexemes = [w for w in sorted(machine.allowed()) if w in ids]
        where = [ids[w] for w in self.lexemes]
        kept = probability[where]
        mass = float(kept.sum())
        self.removed = max(0.0, 1.0 - mass)
        shares = kept / mass if mass > 0 else kept
        shares = shares[shares > 0]
        self.allowed_entropy = float(-(shares * np.log(shares)).sum())
        self.found = self.logprobs[where]

    def best(self, n: int, banned: frozenset[str] = frozenset()) -> list[Step]:
        """The ``n`` most probable allowed lexemes that are not ``banned``, best first.

        Banning changes what is written and no number: entropies and the removed mass stay those
        of the grammar, so that signals of runs with and without it can be compared.
        """
        order = (-self.found).argsort(kind="stable")
        order = [i for i in order if self.lexemes[i] not in banned][:n]
        return [
            Step(
                self.lexemes[i],
                float(self.found[i]),
                self.entropy,
                self.allowed_entropy,
                self.removed,
                len(self.lexemes),
            )
            for i in order
        ]

    def probability(self, lexeme: str) -> float:
        """Of one lexeme; 0 when the grammar does not allow it."""
        import numpy as np

        if lexeme not in self.lexemes:
            return 0.0
        return float(np.exp(self.found[self.lexemes.index(lexeme)]))


@dataclass(frozen=True)
class _Beam:
    written: Written
    machine: Machine

    @property
    def total(self) -> float:
        return sum(s.logprob for s in self.written.steps)

    @property
    def last(self) -> str:
        return self.written.steps[-1].lexeme if self.written.steps else BEGIN

    def grown(self, step: Step) -> _Beam:
        machine = self.machine.copy()
        machine.push(step.lexeme)
        steps = (*self.written.steps, step)
        return _Beam(replace(self.written, steps=steps, complete=machine.done), machine)


def write(
    model: Stepper,
    ids: Sequence[int],
    machine: Machine,
    tick: Callable[[str], None],
    width: int = 1,
    banned: frozenset[str] = frozenset(),
) -> list[Written]:
    """The forms of a question with the token ``ids``: of width 1 the most probable allowed lexeme
    at each step; wider, beam search ended when ``width`` forms are finished, best mean
    log-probability first (the score of Yang et al. 2024, appendix B).

    ``tick`` sees the best lexeme of each step and may raise; ``banned`` lexemes are never written.
    At least one form, not ``complete`` where none could be finished.
    """
    state = model.read(ids)
    live, done = [_Beam(Written((), False, 0.0), machine)], list[Written]()
    for length in range(MAX_LEXEMES):
        logits, state = model.step([b.last for b in live], state)
        choices = [
            Choices(row, b.machine, model.lexemes) for row, b in zip(logits, live, strict=True)
        ]
        if not length:
            live = [_Beam(Written((), False, choices[0].probability(ABSTAIN)), machine)]
        options = [
            (live[row].total + step.logprob, row, step)
            for row, found in enumerate(choices)
            for step in found.best(width, banned)
        ]
        options.sort(key=lambda o: -o[0])
        grown = [(row, live[row].grown(step)) for _, row, step in options[:width]]
        done += [b.written for _, b in grown if b.written.complete]
        going = [(row, b) for row, b in grown if not b.written.complete]
        if not going or len(done) >= width:
            break
        tick(going[0][1].last)
        live, state = [b for _, b in going], state.take([row for row, _ in going])
    return sorted(done, key=lambda w: -w.mean_logprob) or [live[0].written]
