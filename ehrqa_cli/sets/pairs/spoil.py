"""Answerable questions made unanswerable: a value nobody has, or a condition the schema lacks.

These are the near misses of the unanswerable family. Whether a question can be answered then
depends on a word or two, as it does with the questions that people ask.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from ehrqa_cli.sets.data import table
from ehrqa_cli.sets.pairs.cxr_vocabulary import draw
from ehrqa_cli.sets.pairs.fill import Generator
from ehrqa_cli.sets.pairs.images import SLOT
from ehrqa_cli.sets.pairs.pair import Pair
from ehrqa_cli.sets.pairs.slots import canonical
from ehrqa_cli.sets.pairs.surface import render, without_patient
from ehrqa_cli.sets.pairs.templates import Template
from ehrqa_cli.sets.pairs.times import Drawn, Spoken

_SAID = table("pairs/words/spoil")
_UNKNOWN: Mapping[str, list[str]] = _SAID["unknown"]
_IMAGES = {f["name"]: f["wordings"] for f in table("pairs/unanswerable_images")["family"]}


class Spoiler:
    """Makes unanswerable questions out of the table and image templates of a generator."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._rng: random.Random = generator.rng
        tables = generator.library.families.get("table", ())
        self._tables = [t for t in tables if t.slots]
        self._valued = [t for t in tables if any(_kind(s) in _UNKNOWN for s in t.slots)]
        self._single = [t for t in tables if "p" in t.slots]

    def make(self) -> Pair:
        """One question, its form ``abstain``."""
        roll = self._rng.random()
        if roll < 0.36 and self._valued:
            return self._unknown_value()
        if roll < 0.7 and self._tables:
            return self._unsupported()
        if roll < 0.84 and self._single:
            return self._nobody()
        return self._image()

    def _nobody(self) -> Pair:
        """A question about one patient that does not say which, and has no earlier one."""
        while True:
            template = self._rng.choice(self._single)
            _, drawn = self._generator.form_of(template)
            words = without_patient(self._generator.words_of(template, drawn), self._rng)
            if words is not None:
                lead = self._rng.choice(_SAID["no_leads"]) if self._rng.random() < 0.15 else ""
                text = render([(self._filled(lead), True), *words], self._rng)
                return Pair(text, "abstain", "unanswerable: which patient", "unanswerable")

    def _unknown_value(self) -> Pair:
        template = self._rng.choice(self._valued)
        _, drawn = self._generator.form_of(template)
        name = self._rng.choice([s for s in drawn if _kind(s) in _UNKNOWN])
        drawn[name] = {"": Spoken(self._name(_kind(name)), "")}
        return self._pair(template, drawn, "", "unanswerable: a value that is not there")

    def _name(self, kind: str) -> str:
        """A value of this kind that the vocabulary does not have, nor anything in it."""
        vocabulary, rng = self._generator.sampler.vocabulary, self._rng
        known = {value for values in vocabulary.values.values() for value in values}
        roll = rng.random()
        unused = vocabulary.dictionary.get(kind, ())
        if roll < 0.35 and unused and kind != "abbrev":
            found = rng.choice(unused)
        elif roll < 0.75:
            found = rng.choice(_UNKNOWN[kind])
        else:
            found = "".join(rng.choice(_SAID["syllables"]) for _ in range(rng.randint(2, 3)))
            found += rng.choice(_SAID["endings"])
        return found if found not in known else "zor" + rng.choice(_SAID["endings"])

    def _unsupported(self) -> Pair:
        template = self._rng.choice(self._tables)
        _, drawn = self._generator.form_of(template)
        single = "p" in template.slots
        extra = self._filled(self._rng.choice(_SAID["of_patient" if single else "of_group"]))
        return self._pair(template, drawn, extra, "unanswerable: a condition that is not there")

    def _filled(self, text: str) -> str:
        """The text with a person's name and a number in it."""
        text = text.replace("{name}", self._rng.choice(_SAID["names"]))
        return text.replace("{n}", str(self._rng.randint(2, 39)))

    def _pair(self, template: Template, drawn: Drawn, extra: str, name: str) -> Pair:
        words = [*self._generator.words_of(template, drawn), (extra, True)]
        return Pair(render(words, self._rng), "abstain", name, "unanswerable")

    def _image(self) -> Pair:
        """A question about a chest X-ray that its labels cannot answer."""
        name = self._rng.choice(tuple(_IMAGES))
        wording = self._rng.choice(_IMAGES[name])
        drawn: Drawn = {}

        def fill(match: re.Match[str]) -> str:
            kind = match[1].split("_")[0].rstrip("0123456789")
            if kind in ("object", "attribute", "category"):
                return draw(kind, self._rng)[1]
            return self._generator.sampler.draw(canonical(match[1]), "visit", drawn)[""].text

        text = render([(SLOT.sub(fill, wording), True)], self._rng)
        return Pair(text, "abstain", f"unanswerable image: {name}", "unanswerable")


def _kind(slot: str) -> str:
    return slot.partition(":")[0].rstrip("0123456789")
