"""Shorter names of a database's own strings: without salts, dosage forms and "unspecified".

"tiotropium" is "tiotropium bromide" where that is the plainest of its kind, "total bilirubin" is
"bilirubin, total", and "alt" is "alanine aminotransferase (alt)". Every alias carries a penalty:
how much had to be left out. Of several strings with one alias the plainest is meant; where two are
as plain the alias is ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ehrqa_cli.text2sql.linking.titles import HEAD, title_aliases
from ehrqa_cli.text2sql.linking.tokens import WORDS, fold
from ehrqa_cli.words import lists

__all__ = ["HEAD", "aliases", "words"]

_WORD = re.compile(r"[^\W_]+(?:'s)?")
_PARENTHESIS = re.compile(r"[(\[]([^)\]]*)[)\]]")
_STRENGTH = re.compile(r"^\d+(?:\.\d+)?(?:mg|mcg|g|ml|units?|meq)?$")
_SALTS = lists.word_list(WORDS, "salts")
_FORMS = lists.word_list(WORDS, "forms")
_PLAIN = frozenset({"immediate", "release", "ir", "full", "unspecified", "nos"})
# a lab is of blood unless its name says otherwise
_FLUIDS = {
    "blood": 1,
    "whole": 1, "total": 1, "measured": 1, "calculated": 2, "automated": 1, "functional": 1,
    "absolute": 2, "urine": 4, "ascites": 5, "csf": 5, "pleural": 5, "fluid": 5, "stool": 5,
    "joint": 5, "free": 3, "other": 5,
}  # fmt: skip
_COMBINED = re.compile(r"^([a-z]{5,})\s?[-/]\s?([a-z]{5,})$")
_LETTERS = 3  # shorter aliases are left to the curated list


def words(text: str) -> list[str]:
    """The words of a text; punctuation aside."""
    return _WORD.findall(fold(text))


def aliases(kind: str, value: str) -> Iterator[tuple[str, int]]:
    """(words joined by a space, penalty) of one string; 0 for the string itself."""
    whole = " ".join(words(value))
    yield whole, 0
    seen = {whole}
    for alias, penalty in _shorter(kind, value):
        joined = " ".join(words(alias))
        if len(joined) >= _LETTERS and joined not in seen and not joined.isdigit():
            seen.add(joined)
            yield joined, penalty


def _shorter(kind: str, value: str) -> Iterator[tuple[str, int]]:
    text = fold(value)
    if kind in ("drug", "intake"):
        yield from _medicine(text)
    elif kind in ("lab", "careunit", "proc"):
        yield from _parentheses(text)
        if kind == "lab":
            yield from _turned(text)
    elif kind == "dx":
        yield from title_aliases(text)
    elif kind == "organism":
        yield re.sub(r"\b(?:species|sp|group|complex|presumptive identification)\b", "", text), 2


def _medicine(text: str) -> Iterator[tuple[str, int]]:
    inside = _PARENTHESIS.findall(text)
    bare = _PARENTHESIS.sub(" ", text)
    penalty = sum(_weight(word) for part in inside for word in words(part))
    yield bare, max(1, penalty) if inside else 0
    for part in inside:
        if re.fullmatch(r"[a-z][a-z -]{2,}", part) and not _qualifies(part):
            yield part, 1  # a brand name: "furosemide (lasix)"
    named = [word for word in words(bare) if not _STRENGTH.match(word)]
    yield " ".join(named), max(1, penalty)  # "lidocaine patch": "lidocaine 5% patch"
    left: list[str] = []
    cost = penalty
    for word in words(bare):
        if left and (word in _SALTS or word in _FORMS or word in _PLAIN or _STRENGTH.match(word)):
            cost += _weight(word)
        else:
            left.append(word)
    if left:
        yield " ".join(left), max(1, cost)
    combined = _COMBINED.match(bare.strip())
    if combined:  # "acetaminophen-oxycodone"
        yield f"{combined[2]} {combined[1]}", max(1, penalty)


def _qualifies(part: str) -> bool:
    return any(word in _FORMS or word in _SALTS or word in _PLAIN for word in words(part))


def _weight(word: str) -> int:
    if word in _PLAIN:
        return 0
    return 1 if word in _SALTS else 3


def _parentheses(text: str) -> Iterator[tuple[str, int]]:
    inside = _PARENTHESIS.findall(text)
    if not inside:
        return
    yield _PARENTHESIS.sub(" ", text), 1
    # an abbreviation, unless the name goes on: "[egd] with biopsy" is not just "egd"
    if text.endswith((")", "]")):
        yield inside[-1], 1


def _turned(text: str) -> Iterator[tuple[str, int]]:
    """ "bilirubin, total" as "total bilirubin"; and "bilirubin" for the plainest of its kind."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) < 2:
        return
    yield " ".join(reversed(parts)), 0
    if len(parts) == 3:
        yield f"{parts[1]} {parts[0]}", _FLUIDS.get(parts[2], 4)
    yield parts[0], sum(max(_FLUIDS.get(word, 4) for word in words(p) or [""]) for p in parts[1:])
