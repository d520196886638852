"""Question to logical form by the nearest question seen: HM-1 and HM-2.

Pampari et al. 2018, section 6.1: the question's values are replaced by placeholders, the result is
matched with those of the training questions, and the placeholders of the best one's form are filled
with the question's own values. HM-1 matches what is identical, HM-2 what has the nearest sentence
vector; the paper's were made of GloVe vectors, ours are all-MiniLM-L6-v2's.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ehrqa_papers.emrqa.pairs import FormPair

Embed = Callable[[Sequence[str]], Any]
_REFERENCE = re.compile(r"#(\d+)")
_PLACE = re.compile(r"(?:<\w+>)+#\d+")
_FIRST_TYPE = re.compile(r"<(\w+)>")


def hm1(train: Sequence[FormPair], test: Sequence[FormPair]) -> list[str | None]:
    """The form most often seen with the very same normalised question; None where there is none."""
    seen = _forms(train)
    return [seen.get(pair.text) for pair in test]


def hm2(train: Sequence[FormPair], test: Sequence[FormPair], embed: Embed) -> list[str | None]:
    """The form of the normalised question with the nearest vector, its slots filled."""
    import numpy as np

    seen = _forms(train)
    types = {pair.text: pair.types for pair in train}
    texts = sorted(seen)
    if not texts:
        return [None] * len(test)
    known = np.asarray(embed([_words(text) for text in texts]))
    asked = np.asarray(embed([_words(pair.text) for pair in test]))
    out = []
    for start in range(0, len(test), 256):
        nearest = (asked[start : start + 256] @ known.T).argmax(axis=1)
        for pair, place in zip(test[start : start + 256], nearest, strict=True):
            text = texts[place]
            out.append(fill(seen[text], types[text], pair.types))
    return out


def fill(
    form: str, template: Sequence[Sequence[str]], question: Sequence[Sequence[str]]
) -> str | None:
    """``form`` with the references of the ``template``'s question turned into those of the asked
    ``question``: each goes to the first value not yet used that may be of the same type.

    None where a value lacks.
    """
    taken: dict[int, int] = {}
    for number in sorted({int(n) for n in _REFERENCE.findall(form)}):
        wanted = set(template[number - 1])
        free = (
            k
            for k, types in enumerate(question, 1)
            if k not in taken.values() and wanted.intersection(types)
        )
        found = next(free, None)
        if found is None:
            return None
        taken[number] = found
    return _REFERENCE.sub(lambda m: f"#{taken[int(m[1])]}", form)


def _forms(train: Sequence[FormPair]) -> dict[str, str]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for pair in train:
        if pair.form is not None:
            found[pair.text][pair.form] += 1
    # Equally frequent forms are decided by their text, never by an order of questions.
    return {text: min(forms, key=lambda f: (-forms[f], f)) for text, forms in found.items()}


def _words(text: str) -> str:
    """A normalised question as words, for a sentence vector: <lab>#1 as lab."""

    def word(place: re.Match[str]) -> str:
        first = _FIRST_TYPE.search(place[0])
        return first[1] if first else ""

    return _PLACE.sub(word, text)
