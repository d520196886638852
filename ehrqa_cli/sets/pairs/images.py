"""Pairs of the image and image+table templates: their slots filled, their words as typed."""

from __future__ import annotations

import random
import re

from ehrqa_cli.sets.pairs.cxr_vocabulary import COMPARISONS, draw
from ehrqa_cli.sets.pairs.image_templates import image_templates
from ehrqa_cli.sets.pairs.image_wording import ImageTemplate
from ehrqa_cli.sets.pairs.pair import Pair
from ehrqa_cli.sets.pairs.slots import SlotSampler, canonical
from ehrqa_cli.sets.pairs.surface import Words, render
from ehrqa_cli.sets.pairs.times import Drawn, Spoken

SLOT = re.compile(r"\$?[{\[]([a-z_0-9]+)[}\]]")
_KINDS = ("object", "attribute", "category")


class ImageMaker:
    """Makes pairs of the templates of one modality ("image" or "image+table"), evenly."""

    def __init__(self, modality: str, sampler: SlotSampler, rng: random.Random) -> None:
        self.templates = [t for t in image_templates() if t.modality == modality]
        self.family = modality.replace("+", "_")
        self.sampler = sampler
        self.rng = rng
        self._bag: list[ImageTemplate] = []

    def make(self) -> Pair:
        """One pair; each template comes once before any comes again."""
        if not self._bag:
            self._bag = list(self.templates)
            self.rng.shuffle(self._bag)
        return self.from_template(self._bag.pop())

    def from_template(self, template: ImageTemplate) -> Pair:
        """One pair of a template, of itself or of one of its variants."""
        rng = self.rng
        form, wordings = template.form, template.wordings
        if template.variants and rng.random() < 0.45:
            variant = rng.choice(template.variants)
            form, wordings = variant.form, variant.wordings
        drawn: Drawn = {}
        same = form.endswith("sameperiod [time_filter_global1]")
        while True:
            filled = self._fill(form, drawn)
            # Without a period there is nothing for two events to share but the hospital visit.
            if not same or drawn["tg"][""].form:
                break
            drawn.pop("tg")
        words = self._words(rng.choice(wordings), drawn)
        text = render(words, rng)
        return Pair(_ages(text), filled, template.text, self.family)

    def _fill(self, form: str, drawn: Drawn) -> str:
        def value(match: re.Match[str]) -> str:
            name = match[1]
            found = self._slot(name, drawn).form
            return f"{found}_since" if name == "unit_count" else found

        return " ".join(SLOT.sub(value, form).split())

    def _words(self, wording: str, drawn: Drawn) -> Words:
        words: Words = []
        at = 0
        for match in SLOT.finditer(wording):
            words.append((wording[at : match.start()], False))
            words.append((self._slot(match[1], drawn).text, True))
            at = match.end()
        words.append((wording[at:], False))
        return words

    def _slot(self, name: str, drawn: Drawn) -> Spoken:
        base = name.split("_")[0].rstrip("0123456789")
        maker = self._finding if base in _KINDS else self._comparison
        if base not in (*_KINDS, "comparison"):
            return self.sampler.draw(canonical(name), "visit", drawn)[""]
        if name not in drawn:
            others = {styles[""].form for styles in drawn.values()}
            for _ in range(5):
                spoken = maker(base)
                if spoken.form not in others:
                    break
            drawn[name] = {"": spoken}
        return drawn[name][""]

    def _finding(self, kind: str) -> Spoken:
        name, words = draw(kind, self.rng)
        return Spoken(words, f'"{name}"')

    def _comparison(self, _base: str) -> Spoken:
        form = self.rng.choice(tuple(COMPARISONS))
        return Spoken(COMPARISONS[form], form)


def _ages(text: str) -> str:
    """ "In their 60 or above" is what nobody says."""
    return re.sub(r"in their (\d+ (?:or|and))", r"aged \1", text)
