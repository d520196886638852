"""Synonyms and abbreviations of clinical language: what else a question's words may be called.

The list is data, in ``terms.txt``, whose head says how a line is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ehrqa_cli.words.lists import sections, word_list

_FILE = Path(__file__).with_name("terms.txt")
_DENYING_FILE = Path(__file__).with_name("denying_words.txt")
_PLAIN = "plain English"
_WORD = re.compile(r"[^\W_]+")
_LONGEST = 6  # words of a phrase
# British and American spelling.
_SPELT = (
    ("haem", "hem"), ("aemia", "emia"), ("oedem", "edem"), ("oesoph", "esoph"), ("oestr", "estr"),
    ("paed", "ped"), ("gynaec", "gynec"), ("diarrhoea", "diarrhea"), ("orrhoea", "orrhea"),
    ("pnoea", "pnea"), ("anaesth", "anesth"), ("faec", "fec"), ("caec", "cec"), ("foet", "fet"),
    ("coeliac", "celiac"), ("tumour", "tumor"), ("colour", "color"), ("dialys", "dialyz"),
    ("fibre", "fiber"), ("litre", "liter"), ("sulph", "sulf"), ("orthopaed", "orthoped"),
    ("ised", "ized"), ("hiatus", "hiatal"),
)  # fmt: skip
# How much a line with another name counts (1: the word itself).
SAME, KIND, AMBIGUOUS = 0.8, 0.6, 0.4


@dataclass(frozen=True)
class Concept:
    """``same`` are names of one thing, ``kinds`` names of what it may be; all in `words` form.

    The first ``strict`` of ``same`` prove one another; the first ``implying`` of ``kinds`` prove
    each of those.
    """

    same: tuple[str, ...]
    kinds: tuple[str, ...]
    strict: int
    implying: int


def words(text: str) -> list[str]:
    """The words of ``text`` in lower case, without punctuation: "s/p" is "s", "p"."""
    return _WORD.findall(text.lower())


def singular(word: str) -> str:
    """``word`` without the ending of a plural, if it seems to have one."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def names_of(phrase: str) -> dict[str, float]:
    """What ``phrase`` (in `words` form) may be called, each with its weight; itself has 1."""
    found = {phrase: 1.0}
    concepts = _by_name().get(_key(phrase), ())
    for concept in concepts:
        sure = not _ambiguous(phrase)
        for name in concept.same:
            unsure = not sure or _ambiguous(name)
            found[name] = max(found.get(name, 0.0), AMBIGUOUS if unsure else SAME)
        for name in concept.kinds:
            found[name] = max(found.get(name, 0.0), KIND if sure else AMBIGUOUS)
    return found


def proofs(phrase: str) -> tuple[frozenset[str], frozenset[str]]:
    """Names that prove ``phrase`` (in `words` form): of the same thing, and of its kinds.

    A line that denies the former denies it; one that denies a kind does not. An abbreviation of
    several things (RA, MS) proves none of them, and nothing proves it.
    """
    phrase = _asked().get(phrase, phrase)
    same, kinds = {phrase}, set[str]()
    concepts = _strictly(phrase)
    if len(concepts) > 1:
        return frozenset(), frozenset()
    if concepts:
        same.update(name for name in _strict(concepts[0]) if len(_strictly(name)) == 1)
        for kind in concepts[0].kinds[: concepts[0].implying]:
            kinds.add(kind)
            inner = _strictly(kind)
            if len(inner) == 1:
                kinds.update(name for name in _strict(inner[0]) if len(_strictly(name)) == 1)
    same |= {spelt for name in same for spelt in _spellings(name)}
    kinds |= {spelt for name in kinds for spelt in _spellings(name)}
    return frozenset(same), frozenset(kinds - same)


def _spellings(name: str) -> set[str]:
    found = {name}
    for pair in _SPELT:
        found |= {each.replace(a, b) for each in found for a, b in (pair, pair[::-1]) if a in each}
    return found


def deniers(names: Iterable[str]) -> frozenset[str]:
    """Words that deny by themselves what any of ``names`` says: "afebrile" denies fever."""
    wanted = set(map(_key, names))
    return frozenset(word for word, denied in _denying() if wanted & denied)


@cache
def _asked() -> dict[str, str]:
    """What an abbreviation of several things means when somebody asks whether a patient has it."""
    pairs = (line.partition(" = ") for line in _lines() if " = " in line)
    return {short: long for left, _, long in pairs for short in left.split(" | ")}


@cache
def _denying() -> tuple[tuple[str, frozenset[str]], ...]:
    parts = [line.partition(" : ") for line in sections(_DENYING_FILE)[""]]
    return tuple(
        (word, frozenset(map(_key, _names(denied))))
        for left, _, denied in parts
        for word in _names(left)
    )


def _ambiguous(name: str) -> bool:
    """Is this a strict name of several things or, strict nowhere, a name on several lines?"""
    strictly = _strictly(name)
    return len(strictly) > 1 or (not strictly and len(_by_name().get(_key(name), ())) > 1)


def _strictly(name: str) -> tuple[Concept, ...]:
    """The concepts of which ``name`` is a strict name."""
    return _by_strict_name().get(_key(name), ())


def _strict(concept: Concept) -> tuple[str, ...]:
    return concept.same[: concept.strict]


def phrases(text: list[str]) -> Iterator[tuple[int, int]]:
    """The longest known phrases of ``text`` from the left, as (start, end); else single words."""
    at = 0
    while at < len(text):
        size = next(
            (n for n in range(min(_LONGEST, len(text) - at), 1, -1) if known(text[at : at + n])), 1
        )
        yield at, at + size
        at += size


def known(text: list[str]) -> bool:
    """Is this phrase in the list, whatever its plurals?"""
    return _key(" ".join(text)) in _by_name()


def _key(phrase: str) -> str:
    return " ".join(map(singular, phrase.split()))


@cache
def _by_name() -> dict[str, tuple[Concept, ...]]:
    return _indexed(lambda concept: concept.same)


@cache
def _by_strict_name() -> dict[str, tuple[Concept, ...]]:
    return _indexed(_strict)


def _indexed(names: Callable[[Concept], tuple[str, ...]]) -> dict[str, tuple[Concept, ...]]:
    found: dict[str, tuple[Concept, ...]] = {}
    for concept in concepts():
        for name in dict.fromkeys(map(_key, names(concept))):
            found[name] = (*found.get(name, ()), concept)
    return found


@cache
def concepts() -> tuple[Concept, ...]:
    """All lines of the list."""
    return tuple(_read(line) for line in _lines() if " = " not in line)


@cache
def plain() -> frozenset[str]:
    """Names that are plain English words too, and no abbreviations of anything in a note."""
    return word_list(_FILE, _PLAIN)


def _lines() -> Iterator[str]:
    return (line for head, lines in sections(_FILE).items() if head != _PLAIN for line in lines)


def _read(line: str) -> Concept:
    left, _, right = line.partition(" > ")
    same, _, loose = left.partition(" ~ ")
    kinds, _, signs = (
        right.removeprefix("~ ").rpartition(" ~ ") if "~" in right else (right, "", "")
    )
    strict, implying = _names(same), _names(kinds)
    return Concept(strict + _names(loose), implying + _names(signs), len(strict), len(implying))


def _names(text: str) -> tuple[str, ...]:
    return tuple(" ".join(words(name)) for name in text.split(" | ") if words(name))
