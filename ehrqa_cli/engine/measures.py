"""Several measures asked at once ("number of admissions and average stay"): are all in the form?

A model that has learnt to give one number answers half of such a question and is sure of it, so
that this is looked at apart from how sure it is.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from ehrqa_cli.logical_form.grammar import CUTS, FINISH, HAVING, ROLES, TIME_FILTERS
from ehrqa_cli.logical_form.word import Word

_DATA = tomllib.loads(Path(__file__).with_name("measures.toml").read_text(encoding="utf-8"))
# What a measure is called.
_MEASURES: dict[str, str] = {kind: "|".join(words) for kind, words in _DATA["measures"].items()}
_WORDS: dict[str, str] = {name: "|".join(words) for name, words in _DATA["words"].items()}


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_ANY = "|".join(_MEASURES.values())
# One measure, at most a few words, a joining word, at most two words, another measure.
_JOINED = _pattern(
    rf"\b({_ANY})\b(?=(?:[\s:]+(?!and\b|plus\b)[\w<>#'-]+){{0,7}}?\s*(?:,|;|&|\+|\band\b|\bplus\b)"
    rf"(?:\s*\b(?:and|the|its|their|then|of|a)\b){{0,2}}\s*\b({_ANY})\b)"
)
_BOTH_ENDS = _pattern(
    rf"\b(?:{_WORDS['first']})\s+and\s+(?:the\s+)?(?:{_WORDS['last']})\b"
    rf"|\b(?:{_WORDS['last']})\s+and\s+(?:the\s+)?(?:{_WORDS['first']})\b"
)
_MEN, _WOMEN = (_pattern(rf"\b(?:{_WORDS[name]})\b") for name in ("men", "women"))
# Two things side by side, unless it is their difference that is asked for.
_SIDE_BY_SIDE = _pattern(rf"\b({_WORDS['beside']})\b")
_DIFFERENCE = _pattern(rf"\b(?:{_WORDS['difference']})\b")
# A question of its own begins at the start, or after a comma or "and".
_ASKED = _pattern(rf"(?:^|[,;:&]|\band)\s*(?:also\s+)?({_WORDS['asking']})")
_GROUPED = re.compile(
    rf"\bby \w+(?: (?:{'|'.join((*CUTS, *HAVING))}) \S+)*(?: ({'|'.join(FINISH)})\b)?"
)
_WITH_NUMBER = _pattern(
    rf"(?:\b(?:{_WORDS['with']})|\+)\s+(?:{_WORDS['their']})\s+(?:\w+\s+)?"
    rf"({_WORDS['their_number']})\b(?!\s+of)"
)
# Whose number is asked for.
_UNITS = {
    counted: _pattern(
        rf"\b(?:{_WORDS['how_many']})\s+(?:(?:{_WORDS['different']})\s+)?({'|'.join(words)})\b"
    )
    for counted, words in _DATA["counted"].items()
}
_RELATIVE = _pattern(rf"\b({_WORDS['relative']})\b")
_UNSAID = _pattern(rf"\b({_WORDS['unsaid']})")
_SPECIMEN = _pattern(rf"\b({_WORDS['specimen']})\b(?!\s+(?:{_WORDS['no_specimen']}))")
_GROWN, _TAKEN = frozenset({"organism", "mtest"}), frozenset({"specimen", "of_specimen"})
_NOT = _pattern(rf"\b({_WORDS['not']})\b|n['’]t\b")
_ASIDE = _pattern(r"\([^)]*\)|\b(?:yes\s+)?or\s+not?\b|\bif\s+not\b")


def _lost(question: str, words: Sequence[str]) -> str | None:
    """A half, a group, a time or a "not" of the linked question that a form does not have."""
    known = set(words)
    both = _MEN.search(question) and _WOMEN.search(question)
    if both and not ({"male", "female"} <= known or "gender" in known):
        return both.group()
    beside = _SIDE_BY_SIDE.search(question)
    if beside and "minus" in known and not _DIFFERENCE.search(question):
        return beside.group()
    for counted, asked_for in _UNITS.items():
        found = asked_for.search(question)
        if found and not any(counted in role.counts for role in _roles(words)):
            return found.group(1).split()[-1]
    asked = _ASKED.findall(question)
    if len(asked) > _columns(words):
        return str(asked[-1])
    if "keys" in known and (found := _WITH_NUMBER.search(question)):
        return found.group(1)
    if (found := _RELATIVE.search(question)) and not known & {*TIME_FILTERS, "current", "visit"}:
        return found.group()
    if known & _GROWN and not known & _TAKEN and (found := _SPECIMEN.search(question)):
        return found.group(1)
    if found := _UNSAID.search(question):
        return found.group().strip()
    if found := _NOT.search(_ASIDE.sub(" ", question)):
        return None if any(role.negative for role in _roles(words)) else found.group()
    return None


def _columns(words: Sequence[str]) -> int:
    """How many things a form gives side by side: a group's key too, unless its finish drops it."""
    grouped = _GROUPED.findall(" ".join(words))
    return 1 + sum(not finish for finish in grouped) + sum(w in ("also", "beside") for w in words)


def left_out(question: str, form: str) -> str | None:
    """A measure that the question joins to another, or a half, a group, a time or a "not" of it,
    that the printed form lacks; None if none is.

    ``question`` is the linked text, so that names of values do not count.
    """
    words = form.split()
    if _BOTH_ENDS.search(question) and not {"first", "last"} <= set(words):
        return "last" if "first" in words else "first"
    for pair in _JOINED.findall(question):
        kinds = [_kind(text) for text in pair]
        if kinds[0] == kinds[1]:
            continue
        for text, kind in zip(pair, kinds, strict=True):
            if not any(kind in role.gives for role in _roles(words)):
                return str(text)
    return _lost(question, words)


def _kind(text: str) -> str:
    return next(k for k, words in _MEASURES.items() if re.fullmatch(words, text, re.I))


def _roles(words: Iterable[str]) -> list[Word]:
    return [role for word in words for role in ROLES.get(word, ())]
