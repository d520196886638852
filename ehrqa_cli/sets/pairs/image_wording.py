"""Drawing wordings from the phrase banks of image_phrases.toml.

The shorthand of the banks (``<A>``, ``<S>``, ``<G>``) is replaced by words until only the slots of
templates.tsv are left.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ehrqa_cli.sets.data import table

Words = Mapping[str, str | Sequence[str]]
Makers = Sequence[tuple[str, Words]]
"""Patterns, each with the words of its shorthand."""

Variants = Iterable[tuple[str, Makers]]
"""Forms with a part fixed, each with its makers."""

_TOKEN = re.compile(r"<([A-Z]+[0-9]?)>")
_SLOTS: Words = {
    "C": "${category}", "C1": "${category_1}", "C2": "${category_2}",
    "A": "${attribute}", "A1": "${attribute_1}", "A2": "${attribute_2}",
    "O": "${object}", "O1": "${object_1}", "O2": "${object_2}",
    "CMP": "${comparison}", "P": "{patient_id}", "U": "[unit_count]", "AGE": "[age_group]",
    "E": "[time_filter_exact1]", "G": "[time_filter_global1]",
    "E2": "[time_filter_exact2]", "G2": "[time_filter_global2]", "W": "[time_filter_within]",
}  # fmt: skip
_TRIES = 40


@dataclass(frozen=True)
class Variant:
    """Wordings that fix part of the template's form."""

    form: str
    wordings: tuple[str, ...]


@dataclass(frozen=True)
class ImageTemplate:
    """One template of templates.tsv: exact text, form and wordings with the same slots."""

    modality: str
    text: str
    form: str
    wordings: tuple[str, ...]
    variants: tuple[Variant, ...] = ()


def phrase_banks() -> dict[str, Any]:
    """The phrase banks, by section."""
    return table("pairs/image_phrases")


def _fill(text: str, words: Words, rng: random.Random) -> str:
    """Replace every <TOKEN>, lists by one of their entries, until none is left."""

    def one(match: re.Match[str]) -> str:
        found = words.get(match[1], _SLOTS.get(match[1]))
        if found is None:
            raise KeyError(f"no words for <{match[1]}> in {text!r}")
        return found if isinstance(found, str) else rng.choice(found)

    while _TOKEN.search(text):
        text = _TOKEN.sub(one, text)
    return text


def tidy(text: str) -> str:
    """One blank between words, none before punctuation."""
    return re.sub(r" +([,.?])", r"\1", " ".join(text.split()))


class Writer:
    """Draws wordings from makers; the template's own text comes first."""

    def __init__(self, rng: random.Random, count: int) -> None:
        self._rng = rng
        self._count = count

    def template(
        self, modality: str, form: str, text: str, makers: Makers, variants: Variants = ()
    ) -> ImageTemplate:
        """A template; ``makers`` give its wordings beside its own text, and ``variants`` those of
        its form with a part fixed, a third as many."""
        own = self._draw(makers, self._count, _readable(text))
        fewer = max(1, self._count // 3)
        fixed = tuple(Variant(form, self._draw(makers, fewer)) for form, makers in variants)
        return ImageTemplate(modality, text, form, own, fixed)

    def _draw(self, makers: Makers, count: int, first: str = "") -> tuple[str, ...]:
        rng = self._rng
        found = {first: None} if first else {}
        order = list(makers)
        rng.shuffle(order)
        for attempt in range(_TRIES * count):
            if len(found) >= count:
                break
            pattern, words = order[attempt % len(order)]
            found.setdefault(self._finish(tidy(_fill(pattern, words, rng))))
        return tuple(found)

    def _finish(self, text: str) -> str:
        # Most people capitalise and end with a mark; some type neither.
        roll = self._rng.random()
        if roll < 0.12:
            return text.rstrip("?.")
        return text if roll < 0.24 else text[0].upper() + text[1:]


def _readable(text: str) -> str:
    """The template as a sentence: a verb for Has_verb, plurals where it has the bare word."""
    text = text.replace("Has_verb", "Has").replace(" ?", "?")
    text = re.sub(r"(are there any|list all( common)?) abnormality", r"\1 abnormalities", text)
    return text


def expand(form: str, words: Words) -> str:
    """A form or a template's text, its shorthand replaced; single blanks."""
    return " ".join(_fill(form, words, random.Random(0)).split())


def framed(frames: Sequence[str], clauses: Sequence[str], words: Words) -> list[tuple[str, Words]]:
    """Each frame once, around any of the clauses."""
    return [(frame, {**words, "Q": clauses}) for frame in frames] if clauses else []


def with_orders(bank: dict[str, Any], study: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """For each order that has words of its own: the studies named with it."""
    for order, said in bank["ordinals"].items():
        yield order, [name.replace("<E>", word) for name in study for word in said]
