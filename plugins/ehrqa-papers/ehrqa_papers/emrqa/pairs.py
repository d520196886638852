"""Questions with this project's own logical forms, split as emrQL-1 and emrQL-2 are.

Pampari et al. 2018, section 6.2: 80% of the pairs to learn from and 20% to measure on, drawn in
two ways. *apart*: the paraphrases of each question type are split first, and pairs are made of each
part (emrQL-1). *mixed*: pairs are made first and then split (emrQL-2). The types here are the
templates of the builder with at least two wordings; values come from the user's own EHR.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.logical_form import refer
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.pair import Pair
from ehrqa_cli.sets.pairs.templates import Library, Template, load_library
from ehrqa_cli.sets.pairs.vocabulary import Vocabulary
from ehrqa_cli.text2sql.linking.linker import Linker

APART, MIXED = "paraphrases apart", "mixed"
SPLITS = (APART, MIXED)
FAMILIES = ("table", "compose", "unanswerable")
ABSTAIN = "abstain"
TRAIN_SHARE = 0.8
_TRIES = 20


@dataclass(frozen=True)
class FormPair:
    """A question with its values replaced by references (``text``: "<lab>#1"), and its form with
    the same references; ``form`` is None where a value of the form was not found in the
    question."""

    question: str
    text: str
    types: tuple[tuple[str, ...], ...]
    form: str | None
    template: str


@dataclass(frozen=True)
class FormSplit:
    """Pairs to learn from and to measure on."""

    name: str
    train: tuple[FormPair, ...]
    test: tuple[FormPair, ...]


def make_split(
    name: str, vocabulary: Vocabulary, linker: Linker, count: int, seed: int = 0
) -> FormSplit:
    """About ``count`` pairs in the split ``name``; the same arguments give the same pairs.

    Raises EvaluationError when the vocabulary fits no template.
    """
    generator = Generator(vocabulary, seed)
    rng = random.Random(seed)
    types = _types(generator.library)
    size = train_size(count)
    if name == APART:
        parts = [_cut(template, rng) for template in types]
        train = _pairs([a for a, _ in parts], size, generator, rng)
        test = _pairs([b for _, b in parts], count - size, generator, rng)
    else:
        made = _pairs(types, count, generator, rng)
        rng.shuffle(made)
        train, test = made[:size], made[size:]
    if not train or not test:
        raise EvaluationError(
            "no pairs of questions and forms can be made",
            "take at least 5 pairs, and an EHR with --db",
        )
    return FormSplit(name, _linked(train, linker), _linked(test, linker))


def train_size(count: int) -> int:
    """How many of ``count`` pairs are to learn from."""
    return round(TRAIN_SHARE * count)


def paraphrases() -> tuple[int, int, int]:
    """How many question types there are, and of their wordings how many are to learn from and to
    measure on where they are split apart."""
    sizes = [len(template.wordings) for template in _types(load_library())]
    learnt = sum(map(_cut_at, sizes))
    return len(sizes), learnt, sum(sizes) - learnt


def _types(library: Library) -> list[Template]:
    return [
        template
        for family in FAMILIES
        for template in library.families.get(family, ())
        if len(template.wordings) >= 2
    ]


def _cut_at(wordings: int) -> int:
    return min(max(1, round(TRAIN_SHARE * wordings)), wordings - 1)


def _cut(template: Template, rng: random.Random) -> tuple[Template, Template]:
    """The template with 80% of its wordings, and with the rest; each has at least one."""
    wordings = list(template.wordings)
    rng.shuffle(wordings)
    at = _cut_at(len(wordings))
    return (
        replace(template, wordings=tuple(wordings[:at])),
        replace(template, wordings=tuple(wordings[at:])),
    )


def _pairs(
    types: Sequence[Template], count: int, generator: Generator, rng: random.Random
) -> list[Pair]:
    """``count`` pairs, the types in turn; a type that needs a value the EHR lacks falls out."""
    found: list[Pair] = []
    left = list(types)
    while left and len(found) < count:
        rng.shuffle(left)
        lacking = set()
        for template in left:
            if len(found) == count:
                break
            pair = _made(template, generator)
            if pair is None:
                lacking.add(template.text)
            else:
                found.append(pair)
        left = [template for template in left if template.text not in lacking]
    return found


def _made(template: Template, generator: Generator) -> Pair | None:
    for _ in range(_TRIES):
        try:
            return generator.from_template(template)
        except KeyError:
            continue
    return None


def _linked(pairs: Sequence[Pair], linker: Linker) -> tuple[FormPair, ...]:
    return tuple(_normalised(pair, linker.link(pair.question)) for pair in pairs)


def _normalised(pair: Pair, linked: LinkedQuestion) -> FormPair:
    form = pair.form if pair.form == ABSTAIN else refer(pair.form, linked.links)
    types = tuple(link.types for link in linked.links)
    return FormPair(pair.question, linked.text, types, form, pair.template)
