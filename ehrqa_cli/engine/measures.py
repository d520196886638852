"""Several measures asked at once ("number of admissions and average stay"): are all in the form?

A model that has learnt to give one number answers half of such a question and is sure of it, so
that this is looked at apart from how sure it is.
"""

from __future__ import annotations

import re

# What a measure is called, and the words of a form that give it (a trailing * is any ending).
# "How many days" is a length, "in total" no sum, "patient number" no count.
_MEASURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "number": (
        r"numbers?(?!\s+<pat>)|counts?|how\s+many(?!\s+(?:day|hour|week|minute|time)s)|tally",
        ("count", "avg_count", "max_count"),
    ),
    "average": (r"averages?|mean|avg", ("avg",)),
    "lowest": (
        r"lowest|minimum|min|smallest|youngest|shortest|cheapest",
        ("min", "lowest", "least"),
    ),
    "highest": (
        r"highest|maximum|max|largest|oldest|longest|priciest|greatest",
        ("max", "highest", "most", "top"),
    ),
    "total": (
        r"(?<!in )totals?|sum",
        ("sum", "plus", "max_total", "min_total", "avg_total", "bill"),
    ),
    "median": (r"median", ("median",)),
}
_ANY = "|".join(words for words, _ in _MEASURES.values())
# One measure, at most a few words, a joining word, at most two words, another measure.
_JOINED = re.compile(
    rf"\b({_ANY})\b(?=(?:[\s:]+(?!and\b|plus\b)[\w<>#'-]+){{0,7}}?\s*(?:,|;|&|\+|\band\b|\bplus\b)"
    rf"(?:\s*\b(?:and|the|its|their|then|of|a)\b){{0,2}}\s*\b({_ANY})\b)",
    re.IGNORECASE,
)

_BOTH_ENDS = re.compile(
    r"\b(?:first|earliest)\s+and\s+(?:the\s+)?(?:last|latest)\b"
    r"|\b(?:last|latest)\s+and\s+(?:the\s+)?(?:first|earliest)\b",
    re.IGNORECASE,
)


def left_out(question: str, form: str) -> str | None:
    """A measure that the question joins to another and the printed form lacks; None if none is.

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
            if not any(_gives(word, kind) for word in words):
                return str(text)
    return None


def _kind(text: str) -> str:
    return next(k for k, (words, _) in _MEASURES.items() if re.fullmatch(words, text, re.I))


def _gives(word: str, kind: str) -> bool:
    stems = _MEASURES[kind][1]
    return any(word == stem or word.startswith(f"{stem}_") for stem in stems)
