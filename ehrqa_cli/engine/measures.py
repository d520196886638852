"""Several measures asked at once ("number of admissions and average stay"): are all in the form?

A model that has learnt to give one number answers half of such a question and is sure of it, so
that this is looked at apart from how sure it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ehrqa_cli.logical_form.grammar import COMPARISONS, CUTS, FINISH, HAVING, TIME_FILTERS

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


_MEN = re.compile(r"\b(?:men|man|males?|boys?|gentlemen)\b", re.IGNORECASE)
_WOMEN = re.compile(r"\b(?:women|woman|females?|girls?|ladies)\b", re.IGNORECASE)
# Two things side by side, unless it is their difference that is asked for.
_SIDE_BY_SIDE = re.compile(r"\b(versus|vs|compared?\s+(?:to|with)|and for)\b", re.IGNORECASE)
_DIFFERENCE = re.compile(
    r"\b(?:differ\w*|chang\w*|delta|gap|minus|subtract\w*|more|less|higher|lower|greater|fewer|"
    r"larger|smaller|rise|rose|drop\w*|fell|increas\w*|decreas\w*|gain\w*|los[st]\w*)\b",
    re.IGNORECASE,
)
# A question of its own begins at the start, or after a comma or "and"; ", which" goes on with one.
_ASKED = re.compile(
    r"(?:^|[,;:&]|\band)\s*(?:also\s+)?(when|where|who|(?<!,\s)which|what|"
    r"how\s+(?:many|much|long|often|old)|(?<=and\s)(?:was|is|did|does|has)\s+(?:it|that|the)\b)",
    re.IGNORECASE,
)
_GROUPED = re.compile(
    rf"\bby \w+(?: (?:{'|'.join((*CUTS, *HAVING))}) \S+)*(?: ({'|'.join(FINISH)})\b)?"
)
_WITH_NUMBER = re.compile(
    r"(?:\bwith|\bplus|\+|\band|\bincluding)\s+(?:the|their|that|its)\s+(?:\w+\s+)?"
    r"(numbers?|counts?|totals?|averages?|amounts?)\b(?!\s+of)",
    re.IGNORECASE,
)
# Whose number is asked for, and the words of a form that count them.
_UNITS = (
    (
        re.compile(
            r"\b(?:how\s+many|number\s+of|count\s+of|tally\s+of)\s+(?:different\s+|distinct\s+|unique\s+)?"
            r"(patients|pts|people|persons|individuals|men|women|males|females)\b",
            re.IGNORECASE,
        ),
        frozenset({"count_patients", "patients", "person"}),
    ),
    (
        re.compile(
            r"\b(?:how\s+many|number\s+of|count\s+of|tally\s+of)\s+(?:different\s+|distinct\s+|unique\s+)?"
            r"(?:hospital\s+)?(admissions|hospitali[sz]ations|encounters)\b",
            re.IGNORECASE,
        ),
        frozenset({"count_visits", "visits", "admission", "discharge", "patients"}),
    ),
)
_RELATIVE = re.compile(
    r"\b(today|yesterday|(?:this|last|previous|past)\s+(?:year|month))\b", re.IGNORECASE
)
# Times that no form says.
_UNSAID = re.compile(
    r"\b((?:mon|tues|wednes|thurs|fri|satur|sun)days?|week(?:end|day)s?|weeks?|"
    r"(?:over)?nights?|mornings?|evenings?|afternoons?|summers?|winters?|autumn|quarters?|"
    r"(?:early|mid|late|beginning|start|end|middle|half)(?:\s+(?:of|in))?(?:\s+the)?[\s-]+"
    r"(?=<(?:year|ym|ymd|md|mon)>))",
    re.IGNORECASE,
)
# What was cultured, which a form on organisms or tests by themselves does not say.
_SPECIMEN = re.compile(
    r"\b(blood|urine|sputum|stools?|wounds?|swabs?|tissue|csf|bile|bone|catheter\s+tip|"
    r"(?:spinal|pleural|peritoneal|ascitic|joint|cerebrospinal)\s+fluid|"
    r"bronch\w+\s+(?:lavage|washings?))\b(?!\s+(?:pressure|sugar|glucose|count|test))",
    re.IGNORECASE,
)
_GROWN, _TAKEN = frozenset({"organism", "mtest"}), frozenset({"specimen", "of_specimen"})
_NOT = re.compile(
    r"\b(not|never|without|neither|nor|except|excluding|no(?!\.|\s+(?:more|less|fewer|later|"
    r"earlier)\b))\b|n['’]t\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\([^)]*\)|\b(?:yes\s+)?or\s+not?\b|\bif\s+not\b", re.IGNORECASE)
_NEGATIVES = frozenset(
    {
        "none",
        "without",
        "notfollowed",
        "except",
        "alive",
        "current",
        "not",
        "abnormal",
        "high",
        "low",
    }
    | {
        *COMPARISONS,
        "atmost",
        "atleast",
        "under",
        "over",
        "shorter",
        "longer",
        "minus",
        "less",
        "greater",
    }
)


def _lost(question: str, words: Sequence[str]) -> str | None:
    """A half, a group, a time or a "not" of the linked question that a form does not have."""
    known = set(words)
    both = _MEN.search(question) and _WOMEN.search(question)
    if both and not ({"male", "female"} <= known or "gender" in known):
        return both.group()
    beside = _SIDE_BY_SIDE.search(question)
    if beside and "minus" in known and not _DIFFERENCE.search(question):
        return beside.group()
    for asked_for, counting in _UNITS:
        found = asked_for.search(question)
        counted = known & counting or any(word.endswith("_count") for word in words)
        if found and not counted:
            return found.group(1)
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
    if (found := _NOT.search(_ASIDE.sub(" ", question))) and not known & _NEGATIVES:
        return found.group()
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
            if not any(_gives(word, kind) for word in words):
                return str(text)
    return _lost(question, words)


def _kind(text: str) -> str:
    return next(k for k, (words, _) in _MEASURES.items() if re.fullmatch(words, text, re.I))


def _gives(word: str, kind: str) -> bool:
    stems = _MEASURES[kind][1]
    return any(word == stem or word.startswith(f"{stem}_") for stem in stems)
