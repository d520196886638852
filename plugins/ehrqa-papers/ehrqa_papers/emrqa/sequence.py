"""A small sequence model from question to logical form, in numpy.

It writes the form lexeme by lexeme. The next one is chosen by a linear score of what was written
last (one to three lexemes, and the last with each word and pair of words of the question), learnt
as an averaged perceptron (Collins 2002), and only among those that the grammar allows there, as the
paper's network had its brackets balanced. It has no attention and no hidden state: smaller than the
paper's two layers of 64 units, and trained in a minute on one core.
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ehrqa_cli.logical_form.machine import EOS, Machine
from ehrqa_papers.emrqa.pairs import FormPair

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

ROWS = 1 << 16  # of the hashed features
EPOCHS = 4
LONGEST = 80  # lexemes of a form
_START = "<s>"


class SequenceModel:
    """Learns with ``fit``, writes with ``write``. The same pairs and seed give the same model."""

    def __init__(self, seed: int = 0, epochs: int = EPOCHS) -> None:
        self.seed, self.epochs = seed, epochs
        self.lexemes: list[str] = []
        self._place: dict[str, int] = {}
        self._weights: Floats

    def fit(
        self, pairs: Sequence[FormPair], progress: Callable[[int, int], None] = lambda d, n: None
    ) -> None:
        """Learn from the pairs that have a form."""
        import numpy as np

        usable = [(pair, [*pair.form.split(), EOS]) for pair in pairs if pair.form is not None]
        self.lexemes = sorted({lexeme for _, form in usable for lexeme in form})
        self._place = {lexeme: k for k, lexeme in enumerate(self.lexemes)}
        weights = np.zeros((ROWS, len(self.lexemes)), dtype=np.float32)
        late = np.zeros_like(weights)  # each change times the step it came at, for the average
        rng, step = random.Random(self.seed), 1
        for epoch in range(self.epochs):
            rng.shuffle(usable)
            for done, (pair, form) in enumerate(usable):
                if done % 500 == 0:
                    progress(epoch * len(usable) + done, self.epochs * len(usable))
                words = question_words(pair.text)
                for at, lexeme in enumerate(form):
                    rows = features(words, form[:at])
                    right = self._place[lexeme]
                    guess = int(weights[rows].sum(axis=0).argmax())
                    if guess != right:
                        for place, change in ((right, 1.0), (guess, -1.0)):
                            weights[rows, place] += change
                            late[rows, place] += change * step
                    step += 1
        self._weights = weights - late / np.float32(step)

    def write(self, pair: FormPair) -> str | None:
        """The form of a question, lexeme by lexeme, the best each time; None where the grammar
        offers none that was ever seen, or no end is reached."""
        machine = Machine(pair.types)
        words = question_words(pair.text)
        form: list[str] = []
        while len(form) < LONGEST:
            allowed = [self._place[lexeme] for lexeme in self._known(machine.allowed())]
            if not allowed:
                return None
            scores = self._weights[features(words, form)][:, allowed].sum(axis=0)
            lexeme = self.lexemes[allowed[int(scores.argmax())]]
            if lexeme == EOS:
                return " ".join(form)
            machine.push(lexeme)
            form.append(lexeme)
        return None

    def _known(self, lexemes: Iterable[str]) -> list[str]:
        return sorted(lexeme for lexeme in lexemes if lexeme in self._place)


def question_words(text: str) -> list[str]:
    """The question's words and neighbouring pairs of words, each once."""
    words = text.split()
    return list(dict.fromkeys([*words, *map(" ".join, itertools.pairwise(words))]))


def features(words: Sequence[str], written: Sequence[str]) -> list[int]:
    """Rows of the weights for what may come after ``written``, each once."""
    one, two, three = ([_START, _START, _START, *written])[-1:-4:-1]
    used = " ".join(sorted(lexeme for lexeme in written if lexeme.startswith("#")))
    head = written[0] if written else _START
    names = [f"1 {one}", f"2 {two} {one}", f"3 {three} {two} {one}", f"u {one} {used}"]
    names += [f"w {one}|{word}" for word in words]
    names += [f"v {two} {one}|{word}" for word in words]
    names += [f"h {head}|{word}" for word in words]
    return list(dict.fromkeys(zlib.crc32(name.encode()) % ROWS for name in names))
