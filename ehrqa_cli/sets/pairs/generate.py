"""Training pairs: questions in many words with their logical forms, from any EHR and a seed.

The trainer's only source of pairs besides published questions; the same seed and vocabulary
give the same pairs. Templates are drawn evenly, so that none dominates.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ehrqa_cli.sets.making.files import write_lines
from ehrqa_cli.sets.pairs.aggregate import FAMILY, AggregateMaker
from ehrqa_cli.sets.pairs.compose import Composer
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.images import ImageMaker
from ehrqa_cli.sets.pairs.pair import Pair
from ehrqa_cli.sets.pairs.spoil import Spoiler
from ehrqa_cli.sets.pairs.templates import Template, made_template
from ehrqa_cli.sets.pairs.vocabulary import Vocabulary, read_vocabulary

FAMILIES = ("table", "image", "image_table", "compose", "aggregate", "unanswerable")
WEIGHTS: Mapping[str, float] = {
    "table": 0.40,
    "image": 0.11,
    "image_table": 0.06,
    "compose": 0.13,
    "aggregate": 0.18,
    "unanswerable": 0.12,
}
_TRIES = 50
# The share of a family that is composed freely rather than from its own templates.
_FREE = {"compose": 0.55, "unanswerable": 0.35}


def generate(
    n: int,
    seed: int,
    vocabulary: Vocabulary,
    *,
    families: Sequence[str] = FAMILIES,
    weights: Mapping[str, float] | None = None,
) -> Iterator[Pair]:
    """``n`` pairs; ``weights`` are the shares of the families (those without templates or
    without values in this vocabulary fall out). The same arguments give the same pairs."""
    generator = Generator(vocabulary, seed)
    makers = {name: maker for name in families if (maker := _maker(name, generator))}
    if not makers:
        return
    share = weights or WEIGHTS
    names = tuple(makers)
    chances = [share.get(name, 0.0) for name in names]
    if not any(chances):
        chances = [1.0] * len(names)
    for _ in range(n):
        yield makers[generator.rng.choices(names, chances)[0]]()


def _maker(family: str, generator: Generator) -> Callable[[], Pair] | None:
    """What makes pairs of a family: its templates in turn, some of them made on the spot."""
    if family == FAMILY:
        return _persistent(AggregateMaker(generator).make)
    if family in ("image", "image_table"):
        return ImageMaker(family.replace("_", "+"), generator.sampler, generator.rng).make
    templates = [t for t in generator.library.families.get(family, ()) if _usable(t, generator)]
    if not templates:
        return None
    bag: list[Template] = []

    def from_bag() -> Pair:
        if not bag:
            bag.extend(t for t in templates for _ in range(max(1, round(t.weight))))
            generator.rng.shuffle(bag)
        return generator.from_template(bag.pop())

    free = _free_maker(family, generator)
    if free is None:
        return _persistent(from_bag)
    return _persistent(lambda: free() if generator.rng.random() < _FREE[family] else from_bag())


def _persistent(make: Callable[[], Pair]) -> Callable[[], Pair]:
    """``make``, called again when it needs a kind of value that this vocabulary lacks."""

    def again() -> Pair:
        for _ in range(_TRIES):
            try:
                return make()
            except KeyError:
                continue
        return make()

    return again


def _free_maker(family: str, generator: Generator) -> Callable[[], Pair] | None:
    """What makes pairs of a family without a template of its own, if anything does."""
    if family == "compose":
        composer = Composer(generator.rng)
        return lambda: generator.from_template(made_template(*composer.compose()))
    if family == "unanswerable":
        return Spoiler(generator).make
    return None


def _usable(template: Template, generator: Generator) -> bool:
    state = generator.rng.getstate()
    try:
        for _ in range(3):
            generator.from_template(template)
    except KeyError:
        return False
    finally:
        generator.rng.setstate(state)
    return bool(template.wordings)


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m ehrqa_cli.sets.pairs.generate --db FILE --n N --seed S --out FILE.jsonl``."""
    parser = argparse.ArgumentParser(prog="ehrqa_cli.sets.pairs.generate", description=__doc__)
    parser.add_argument("--db", type=Path, required=True, help="an EHR SQLite file")
    parser.add_argument("--n", type=int, default=50_000, help="how many pairs")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same pairs")
    parser.add_argument("--out", type=Path, required=True, help="the JSON lines file to write")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=FAMILIES)
    options = parser.parse_args(arguments)
    vocabulary = read_vocabulary(options.db)
    pairs = generate(options.n, options.seed, vocabulary, families=options.families)
    count = write_lines(options.out, (pair.as_dict() for pair in pairs))
    print(f"{count} pairs in {options.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
