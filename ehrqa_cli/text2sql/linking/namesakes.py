"""What else in a database a name of the question fits: other items of its type or another table.

"sepsis" is one title of five, "heparin" is ordered under one name and infused under another. An
answer that rests on one of them says so, or is withheld (engine.namesakes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ehrqa_cli.ehr.value_index import ValueIndex, stems
from ehrqa_cli.text2sql.linking.aliases import HEAD, aliases, words
from ehrqa_cli.text2sql.linking.context import named
from ehrqa_cli.text2sql.linking.names import Names
from ehrqa_cli.text2sql.linking.tokens import WORDS, key
from ehrqa_cli.words.lists import word_list

# The tables in which one thing may stand under several names.
_ELSEWHERE = {"drug": ("intake",), "intake": ("drug",), "lab": ("drug", "intake")}
# A title says here that what follows is not the case, or that the disease itself is not meant.
_DENIED = re.compile(r"\b(?:without|not|except|other than)\b.*")
_APART = re.compile(
    r"^(?:(?:personal |family )?history|encounter|exposure|contact|aftercare|allergy|resistance"
    r"|long-term|adverse|poisoning|underdosing|observation|special screening|screening)\b"
)
_WAYS = frozenset({"abnormal", "high", "low", "elevated", "raised", "normal", "increased"})
_SMALL = frozenset(stem for word in word_list(WORDS, "small") for stem in stems(word))


@dataclass(frozen=True)
class Namesakes:
    """``exact``: the mention is the whole name of its value; ``part``: it is made of words of it.
    ``also``: what else it fits, by type."""

    exact: bool = True
    part: bool = True
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def find_namesakes(
    index: ValueIndex, names: Names, mention: str, kind: str, value: str
) -> Namesakes:
    """What a ``mention`` of a ``value`` fits beside it: values that hold all its words, and those
    that the lists of names give it as well."""
    exact = key(mention) == key(value) or stems(mention) == stems(value)
    phrases = [mention] if exact else [mention, *_cores(mention, kind, value)]
    also: dict[str, tuple[str, ...]] = {}
    for other in (kind, *_ELSEWHERE.get(kind, ())):
        found: dict[str, None] = {}
        for phrase in phrases:
            found.update(dict.fromkeys(_holding(index, other, phrase, exact)))
            if not exact:
                known = names.kinds(" ".join(key(phrase).split())).get(other, [])
                found.update(dict.fromkeys(name.value for name in known))
        if other == kind:
            found.update(dict.fromkeys(names.listed(kind, " ".join(words(mention)))))
            found.pop(value, None)
        if found:
            also[other] = tuple(found)
    if kind == "dx" and not exact and (measured := _measured(index, mention)):
        also["lab"] = (measured,)
    return Namesakes(exact, _is_part(mention, value), also)


def _measured(index: ValueIndex, mention: str) -> str | None:
    """The lab test of which the mention says that it is out of range: "high potassium"."""
    rest = [word for word in stems(mention) if word not in _WAYS]
    if len(rest) == len(stems(mention)):
        return None
    return next((v for v in index.holding("lab", rest) if sorted(stems(v)) == sorted(rest)), None)


def _is_part(mention: str, value: str) -> bool:
    return set(stems(mention)) <= set(stems(value))


def _cores(mention: str, kind: str, value: str) -> Iterable[str]:
    """For a name that is not made of its value's words ("chf"): the shortest name of the value."""
    if _is_part(mention, value):
        return []
    whole = [alias for alias, penalty in aliases(kind, value) if penalty < HEAD]
    return [min(whole, key=lambda alias: (len(alias.split()), len(alias)))]


def _holding(index: ValueIndex, kind: str, phrase: str, whole: bool) -> Iterable[str]:
    """The values of a type that hold all words of the phrase; a ``whole`` name's "unspecified"
    is one of them."""
    wanted = [word for word in stems(phrase) if whole or word not in _SMALL]
    if not wanted:
        return []
    apart = _APART.search(phrase.lower()) is not None
    return [
        value
        for value in index.holding(kind, wanted)
        if apart
        or (not _APART.search(value.lower()) and set(wanted) <= set(stems(_DENIED.sub("", value))))
    ]


def around(text: str) -> str:
    """The words around the values of a linked question."""
    return re.sub(r"<[a-z_]+>|#\d+", " ", text.lower())


def speaks_of(kind: str, text: str) -> bool:
    """Whether the words around the values of a linked question name this type of thing."""
    return named(kind, around(text))
