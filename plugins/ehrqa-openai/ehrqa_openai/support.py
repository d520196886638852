"""Do the cited lines say what the answer says? By its words and numbers only."""

from __future__ import annotations

import re
from collections.abc import Sequence

ENOUGH = 0.5  # share of an answer's words that the cited lines must have
ENOUGH_OF_OPTION = 0.3  # the same of an option, which is worded by others than the notes' writers
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]+")
_SHORTEST = 5  # letters that two forms of one word share at least
_STOP = """
    a about after all also an and any are as at be because been before but by can could did do does
    during for from given got had has have he her him his how i in into is it its may me more most
    no not of on or our out over patient patients per she should since so some than that the their
    them then there these they this those to up was we were what when where which while who whose
    why will with would yes you your
"""
_SAYS_NOTHING = frozenset(_STOP.split())


def words(text: str) -> set[str]:
    """The words that say something."""
    return {word for word in _WORD.findall(text.casefold()) if word not in _SAYS_NOTHING}


def numbers(text: str) -> set[float]:
    """The numbers written in digits."""
    found: set[float] = set()
    for each in _NUMBER.findall(text):
        plain = re.sub(r",(?=\d{3}\b)", "", each)
        found.update(float(part) for part in re.findall(r"\d+(?:\.\d+)?", plain))
    return found


def borne(answer: str, question: str, lines: Sequence[str], enough: float = ENOUGH) -> bool:
    """Do ``lines`` have every number of ``answer`` and ``enough`` of its words?

    What the question says itself need not be borne out. An answer that says nothing more (yes, no)
    is borne out by lines that share a word with the question.
    """
    said = words(" ".join(lines))
    wanted = {word for word in words(answer) if not _has(words(question), word)}
    counted = numbers(answer) - numbers(question)
    if not wanted and not counted:
        return any(_has(said, word) for word in words(question))
    if not counted <= numbers(" ".join(lines)):
        return False
    return not wanted or sum(_has(said, word) for word in wanted) / len(wanted) >= enough


def _has(said: set[str], word: str) -> bool:
    """Is the word, or another form of it, among those said?"""
    if word in said:
        return True
    return any(
        word[:shared] == other[:shared]
        for other in said
        if (shared := max(_SHORTEST, min(len(word), len(other)) - 3)) <= min(len(word), len(other))
    )
