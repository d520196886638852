"""The vocabulary of chest X-rays: 36 objects, 68 attributes, 5 categories (cxr_words.txt).

Names as MIMIC-CXR-VQA spells them (Bae et al. 2023, arXiv:2310.18652, from the Chest ImaGenome
relations), each with what people say instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_PLACE, _CATEGORY = "obj", "cat"


def _lines() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(obj, cat or an attribute's category; name; what people say instead)."""
    text = Path(__file__).with_name("cxr_words.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            kind, name, *words = line.split("\t")
            yield kind, name, tuple(words[0].split(" | ")) if words else ()


_ALL = tuple(_lines())
OBJECTS = {name: words for kind, name, words in _ALL if kind == _PLACE}
CATEGORIES = {name: words for kind, name, words in _ALL if kind == _CATEGORY}
CATEGORY_OF = {name: kind for kind, name, _ in _ALL if kind in CATEGORIES}
ATTRIBUTES = {name: words for kind, name, words in _ALL if kind in CATEGORIES}


def entries() -> Iterator[tuple[str, str, str]]:
    """(type, words, name) for every name and what people say instead, and for the plurals of
    attributes that are no other name; types attr, obj, cat."""
    known = {word for _, name, words in _ALL for word in (name, *words)}
    for kind, names in (("attr", ATTRIBUTES), ("obj", OBJECTS), ("cat", CATEGORIES)):
        for name, words in names.items():
            for word in (name, *words):
                yield kind, word, name
                plural = f"{word}s"
                if kind == "attr" and word[-1] not in "s)" and plural not in known:
                    yield kind, plural, name
