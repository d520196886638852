"""Templates filled with values: a form and a question that mean the same, from one seed."""

from __future__ import annotations

import random

from ehrqa_cli.sets.pairs.pair import Pair
from ehrqa_cli.sets.pairs.slots import SlotSampler, canonical
from ehrqa_cli.sets.pairs.surface import Words, render
from ehrqa_cli.sets.pairs.templates import Library, Template, load_library
from ehrqa_cli.sets.pairs.times import Drawn, Spoken
from ehrqa_cli.sets.pairs.vocabulary import Vocabulary
from ehrqa_cli.sets.pairs.wording import expand


class Generator:
    """Makes pairs of one vocabulary, one seed."""

    def __init__(self, vocabulary: Vocabulary, seed: int, library: Library | None = None) -> None:
        self.rng = random.Random(seed)
        self.sampler = SlotSampler(vocabulary, self.rng)
        self.library = library or load_library()

    def from_template(self, template: Template) -> Pair:
        """One pair of a template. Raises KeyError when the vocabulary lacks a kind it needs."""
        form, drawn = self.form_of(template)
        question = render(self.words_of(template, drawn), self.rng)
        return Pair(question, form, template.text, template.family)

    def form_of(self, template: Template) -> tuple[str, Drawn]:
        """The template's form with values, and what was drawn for its slots."""
        drawn = self.pairs_of(template)
        form = "".join(
            self.slot(text, template.context, drawn).form if is_slot else text
            for text, is_slot in template.pieces
        )
        return " ".join(form.split()), drawn

    def words_of(self, template: Template, drawn: Drawn) -> Words:
        """One wording of a template with the values drawn."""
        node = self.rng.choice(template.wordings)
        find = self.library.phrases.lookup(template.words)
        words: Words = []
        for text, is_slot in expand(node, self.rng, find):
            if is_slot:
                style = text.partition(":")[2]
                name = canonical(text) + (f":{style}" if style else "")
                words.append((self.slot(name, template.context, drawn).text, True))
            else:
                words.append((text, False))
        return words

    def pairs_of(self, template: Template) -> Drawn:
        """Slots that must fit each other are drawn together, before the others."""
        slots = template.slots
        if "ex2" in slots and "tg2" in slots:
            return self.sampler.pair(template.context)
        if "tg2" in slots and template.context == "new":
            return self.sampler.new_pair()
        return {}

    def slot(self, name: str, context: str, drawn: Drawn) -> Spoken:
        """The words and fragment of a canonical slot name, with its style if it has one."""
        base, _, style = name.partition(":")
        styles = self.sampler.draw(base, context, drawn)
        return styles.get(style) or styles[""]
