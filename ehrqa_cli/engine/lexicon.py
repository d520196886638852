"""English words that the words of a logical form account for.

A content word of the question that nothing in the form accounts for is a sign that the form
answers another question ("the *dentist* of this patient"). The signal is soft: it is measured and
weighed with the others (engine.confidence), because no list of words is complete. The words stand
with each word of the grammar (logical_form/words), those that any question may hold in
words/stop_words.txt. A trailing ``*`` stands for any ending.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from ehrqa_cli.logical_form.grammar import ROLES, words_for
from ehrqa_cli.words.lists import stop_words

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# Where conditions are looked for, both sides of a hyphen or slash, and the whole ("non-survivors").
_COMPOUND = re.compile(r"[^\W\d_]+(?:[/-][^\W\d_]+)*")


@dataclass(frozen=True)
class Unused:
    """Words of a question that a form leaves unused: ``unknown`` to the whole grammar, or
    ``elsewhere``: the words of something that this form does not ask."""

    unknown: tuple[str, ...]
    elsewhere: tuple[str, ...]


def content_words(text: str, spans: Iterable[tuple[int, int]] = ()) -> list[str]:
    """Lower-cased words outside the linked ``spans``, less those any question may hold."""
    masked = list(text)
    for start, end in spans:
        masked[start:end] = " " * (end - start)
    words = (w.lower().replace("’", "'") for w in _WORD.findall("".join(masked)))
    return [w for w in words if not _matches(w.removesuffix("'s"), common_words())]


def unused(words: Iterable[str], form: str) -> Unused:
    """Which content words neither a word of the printed ``form`` nor a common word explains."""
    licensed = " ".join(words_for(lexeme) for lexeme in sorted(set(form.split())))
    left = [w for w in words if not _matches(w.removesuffix("'s"), licensed)]
    known = [w for w in left if _matches(w.removesuffix("'s"), _everything())]
    return Unused(tuple(w for w in left if w not in known), tuple(known))


@cache
def common_words() -> str:
    """The words that any question may hold."""
    return " ".join(sorted(stop_words("form")))


def added(question: str, form: str) -> str | None:
    """A condition of the printed ``form`` that no word of the question accounts for, or None.

    Conditions leave rows out: a form has one only where the question speaks of it.
    """
    spoken = [w.lower() for w in _COMPOUND.findall(question)]
    spoken += [part for word in spoken for part in re.split("[/-]", word)]
    words = form.split()
    for word in words:
        asked = any(role.asked for role in ROLES.get(word, ()))
        if not asked or (word == "current" and words[0].endswith("_since")):
            continue  # what has gone by since an admission goes by in the one that is not over
        if not any(_matches(w, words_for(word)) for w in spoken):
            return word
    return None


@cache
def _everything() -> str:
    return " ".join(map(words_for, ROLES))


@lru_cache(maxsize=512)
def _lists(vocabulary: str) -> tuple[frozenset[str], tuple[str, ...]]:
    entries = vocabulary.split()
    whole = frozenset(e for e in entries if not e.endswith("*"))
    return whole, tuple(e[:-1] for e in entries if e.endswith("*"))


def _matches(word: str, vocabulary: str) -> bool:
    whole, prefixes = _lists(vocabulary)
    return word in whole or bool(prefixes and word.startswith(prefixes))
