"""Writing a form under the grammar, and measuring how sure the model was.

Greedy and beam search over one interface (``Stepper``), so that both are tested without
llama.cpp. Every number comes from the model's own distribution over its full vocabulary, before
the grammar removes anything: entropy of the next token (maximum over the form: Lee et al.,
EHRSQL 2022), log-probabilities, and the mass that the grammar removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ehrqa_cli.logical_form import EOS, Machine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_LEXEMES = 96
BEAMS = 5
ABSTAIN = "abstain"


class Stepper(Protocol):
    """What decoding needs of a model: sequences that can be started, continued and copied."""

    def prompt(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Start sequence 0; logits (vocabulary,) after the last token."""

    def decode(self, entries: Sequence[tuple[int, int, int, bool]]) -> list[NDArray[np.float32]]:
        """Continue sequences by (token, position, sequence, wants logits)."""

    def copy(self, source: int, target: int) -> None:
        """Make ``target`` continue from ``source``."""

    def drop(self, sequence: int) -> None:
        """Forget one sequence."""


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


class Greedy:
    """One form in the making: the most probable allowed lexeme at each step."""

    def __init__(
        self,
        prompt: Sequence[int],
        machine: Machine,
        ids: Mapping[str, int],
        banned: frozenset[str] = frozenset(),
    ) -> None:
        """``banned`` lexemes are never written."""
        self.prompt = prompt
        self._machine = machine
        self._ids = ids
        self._banned = banned
        self._steps: list[Step] = []
        self._complete = False
        self._p_abstain = 0.0

    def take(self, logits: NDArray[np.float32]) -> tuple[int, int] | None:
        """Write the next lexeme; its token and position, or None when the form has ended."""
        choices = Choices(logits, self._machine, self._ids)
        best = choices.best(1, self._banned)
        if not self._steps:
            self._p_abstain = choices.probability(ABSTAIN)
        if not best:
            return None
        self._steps.append(best[0])
        self._machine.push(best[0].lexeme)
        self._complete = self._machine.done
        if self._complete or len(self._steps) >= MAX_LEXEMES:
            return None
        return self._ids[best[0].lexeme], len(self.prompt) + len(self._steps) - 1

    @property
    def last(self) -> str:
        """The lexeme written last."""
        return self._steps[-1].lexeme

    @property
    def written(self) -> Written:
        """What has been written so far."""
        return Written(tuple(self._steps), self._complete, self._p_abstain)


def greedy(
    model: Stepper,
    prompt: Sequence[int],
    machine: Machine,
    ids: Mapping[str, int],
    tick: Callable[[str], None],
    banned: frozenset[str] = frozenset(),
) -> Written:
    """The most probable allowed lexeme at each step. ``tick`` sees each and may raise;
    ``banned`` lexemes are never written."""
    form = Greedy(prompt, machine, ids, banned)
    entry = form.take(model.prompt(prompt))
    while entry is not None:
        tick(form.last)
        entry = form.take(model.decode([(*entry, 0, True)])[0])
    return form.written


def greedy_many(
    model: Stepper, forms: Iterable[Greedy], slots: int, tick: Callable[[str], None]
) -> None:
    """Write all forms, ``slots`` of them together; one that ends makes room for the next.

    Numbers of a form must not depend on its mates. So each prompt is read alone, as `greedy` does,
    and each step has the same shape, ``slots`` sequences of one token: an empty slot reads the
    first token of some prompt anew. ``model`` gives each sequence cells of its own.
    """
    waiting = iter(forms)
    live: dict[int, tuple[Greedy, tuple[int, int]]] = {}
    filler = 0
    while True:
        for slot in range(slots):
            while slot not in live and (form := next(waiting, None)) is not None:
                model.drop(slot)
                filler, last = form.prompt[0], len(form.prompt) - 1
                tokens = [(t, i, slot, i == last) for i, t in enumerate(form.prompt)]
                entry = form.take(model.decode(tokens)[0])
                tick(form.last if entry else "")
                if entry is not None:
                    live[slot] = (form, entry)
        if not live:
            return
        entries = []
        for slot in range(slots):
            if slot in live:
                entries.append((*live[slot][1], slot, True))
            else:
                model.drop(slot)
                entries.append((filler, 0, slot, False))
        for (slot, (form, _)), logits in zip(
            sorted(live.items()), model.decode(entries), strict=True
        ):
            entry = form.take(logits)
            tick(form.last if entry else "")
            if entry is None:
                del live[slot]
            else:
                live[slot] = (form, entry)


@dataclass(frozen=True)
class _Beam:
    written: Written
    machine: Machine
    logits: NDArray[np.float32]
    sequence: int

    @property
    def total(self) -> float:
        return sum(s.logprob for s in self.written.steps)


def beam(
    model: Stepper,
    prompt: Sequence[int],
    machine: Machine,
    ids: Mapping[str, int],
    tick: Callable[[str], None],
    banned: frozenset[str] = frozenset(),
    width: int = BEAMS,
) -> list[Written]:
    """Beam search of size ``width``, all beams in one call a step, ended when ``width`` forms are
    finished; finished forms, best mean log-probability first (the score of Yang et al. 2024,
    appendix B). Empty when none finished. ``banned`` lexemes are never written."""
    logits = model.prompt(prompt)
    p_abstain = Choices(logits, machine, ids).probability(ABSTAIN)
    live = [_Beam(Written((), False, p_abstain), machine, logits, 0)]
    done: list[Written] = []
    half = 0
    for length in range(MAX_LEXEMES):
        options = [
            (old.total + step.logprob, old, step)
            for old in live
            for step in Choices(old.logits, old.machine, ids).best(width, banned)
        ]
        options.sort(key=lambda o: -o[0])
        chosen: list[tuple[_Beam, Step]] = []
        for _, old, step in options[:width]:
            if step.lexeme == EOS:
                done.append(replace(old.written, steps=(*old.written.steps, step), complete=True))
            else:
                chosen.append((old, step))
        if not chosen or len(done) >= width:
            break
        tick(chosen[0][1].lexeme)
        half = 1 - half
        live = _advance(model, chosen, live, ids, (len(prompt) + length, 1 + half * width))
    return sorted(done, key=lambda w: -w.mean_logprob)


def _advance(
    model: Stepper,
    chosen: list[tuple[_Beam, Step]],
    live: list[_Beam],
    ids: Mapping[str, int],
    place: tuple[int, int],
) -> list[_Beam]:
    """Continue the chosen beams in fresh sequences from ``place`` = (position, first sequence)."""
    position, first = place
    for i, (old, _) in enumerate(chosen):
        model.copy(old.sequence, first + i)
    for gone in live:
        model.drop(gone.sequence)
    entries = [(ids[s.lexeme], position, first + i, True) for i, (_, s) in enumerate(chosen)]
    found = []
    for i, (logits, (old, step)) in enumerate(zip(model.decode(entries), chosen, strict=True)):
        machine = old.machine.copy()
        machine.push(step.lexeme)
        written = replace(old.written, steps=(*old.written.steps, step))
        found.append(_Beam(written, machine, logits, first + i))
    return found
