"""When may a short or everyday word be a value? Only beside words that speak of its type.

"home" is a discharge location, "id" a route and "h" a lab in some databases; as plain words they
mean nothing of the kind. The rules go by type and by what the string looks like, never by question.
"""

from __future__ import annotations

import re

from ehrqa_cli.text2sql.linking.tokens import WORDS, Token
from ehrqa_cli.words.lists import everyday_words, sections

_WORDS = {
    kind: re.compile(rf"\b(?:{'|'.join(stems.split())})")
    for kind, _, stems in (line.partition(" = ") for line in sections(WORDS)["types"])
}

SPOKEN_OF = frozenset({"insurance", "language", "marital"})

_PERSONS = frozenset(
    {"patients", "pts", "people", "men", "women", "males", "females", "man", "woman", "persons"}
)
_HAVING = frozenset({"have", "had", "has", "on", "with", "by"})
_NO_KIND = frozenset({"other", "unknown", "none"})
_UNIT = frozenset({"careunit", "unit", "ward", "department", "service", "icu", "floor"})
_INTO = frozenset({"in", "at", "to", "into", "from", "through", "of", "the", "on", "via"})
_PEOPLE = frozenset(
    {"patients", "patient", "people", "present", "were", "was", "been", "are", "is"}
)
_ROUTE_BEFORE = frozenset({"via", "by", "through", "route", "routes", "using", "per"})
_GIVEN = frozenset({"given", "administered", "taken", "received"})
_LAB_NEAR = re.compile(r"^(labs?|laboratory|tests?|values?|levels?|results?|measure\w*|index)$")


def allowed(kind: str, tokens: list[Token], first: int, last: int, folded: str) -> bool:
    """Whether tokens ``[first, last)`` may be a value of type ``kind`` here."""
    if kind == "route":
        return _route(tokens, first, last)
    word = tokens[first].text
    if last - first > 1:
        # several words are a value nearly always; these types also need their subject named
        return kind not in SPOKEN_OF or named(kind, folded)
    if kind == "careunit":
        return _careunit(word, tokens, first, last, folded)
    if kind == "lab" and (len(word) == 1 or word.startswith("other")):
        return _beside(tokens, first, last, _LAB_NEAR)
    if word == "pt":
        return named("lab", folded) and not _patient_follows(tokens, last)
    if kind == "vital":
        return True
    if word == "er":
        return first > 0 and tokens[first - 1].text in _INTO
    after = tokens[last].text if last < len(tokens) else ""
    before = tokens[first - 1].text if first else ""
    if kind in SPOKEN_OF and word not in _NO_KIND and (after in _PERSONS or before in _HAVING):
        return True  # "single women", "have medicaid"
    weak = word in everyday_words() or len(word) <= _WEAK_LETTERS.get(kind, 2)
    if kind in ("admtype", "admloc", "dischloc", "language"):
        weak = True
    return not weak or named(kind, folded)


_WEAK_LETTERS = {"lab": 1, "vital": 1, "attr": 0, "obj": 0, "cat": 0, "abbrev": 0}


def named(kind: str, folded: str) -> bool:
    """Whether the text has a word that speaks of this type; True for types without such words."""
    pattern = _WORDS.get(kind)
    return pattern is None or pattern.search(folded) is not None


def nearest_naming(kind: str, tokens: list[Token], first: int, last: int) -> int | None:
    """How many tokens away from ``[first, last)`` the nearest word stands that speaks of this type,
    those behind it counted double; None where there is none."""
    pattern = _WORDS.get(kind)
    if pattern is None:
        return 0
    found = [
        first - place if place < first else 2 * (place - last + 1)
        for place, token in enumerate(tokens)
        if not first <= place < last and pattern.match(token.text)
    ]
    return min(found, default=None)


_SUBJECT_BEFORE = frozenset({"with", "of", "for", "had", "has", "have", "and", "last", "first"})
_QUANTITY_BEFORE = frozenset({"many", "much", "in", "per", "total", "/"})


def short_name_allowed(kind: str, tokens: list[Token], first: int, last: int, folded: str) -> bool:
    """Whether a one- or two-letter synonym ("k", "na", "mi") may be meant: not as a unit."""
    before = tokens[first - 1].text if first else ""
    after = tokens[last].text if last < len(tokens) else ""
    if before.isdigit() or before in _QUANTITY_BEFORE or after in ("/", "per", "'"):
        return False
    if kind == "lab":
        # "last k of patient 10018081", "k for ..."
        return named(kind, folded) or after in ("of", "for", "in", "on", "") or before == "last"
    if kind == "vital" and before in _SUBJECT:
        return True
    return named(kind, folded) or before in _SUBJECT_BEFORE


_SUBJECT = frozenset({"with", "of", "for", "had", "has", "have", "having", "on", "his", "her"})
_SUBJECT |= {
    "last",
    "latest",
    "first",
    "highest",
    "lowest",
    "peak",
    "mean",
    "average",
    "max",
    "min",
}


_UNDERGONE = frozenset({"was", "were", "been", "be", "being", "get", "got", "a", "an", "ever"})


def ordinary_word_allowed(
    kind: str, tokens: list[Token], first: int, last: int, folded: str
) -> bool:
    """Whether an ordinary word ("shock", "map") may be a value: where its type is spoken of."""
    if not allowed(kind, tokens, first, last, folded):
        return False
    before = tokens[first - 1].text if first else ""
    if kind == "proc" and before in _UNDERGONE:
        return True
    if kind in ("dx", "drug", "lab", "vital", "intake", "proc"):
        return before in _SUBJECT or (kind in _WORDS and named(kind, folded))
    return named(kind, folded)


def _patient_follows(tokens: list[Token], last: int) -> bool:
    """``pt`` is prothrombin time only where it does not introduce a patient."""
    after = tokens[last].text if last < len(tokens) else ""
    return after.isdigit() or after in {"#", "id", "with", "who", "is", "was", "had", "has"}


def _beside(tokens: list[Token], first: int, last: int, pattern: re.Pattern[str]) -> bool:
    near = tokens[max(0, first - 2) : first] + tokens[last : last + 2]
    return any(pattern.match(token.text) for token in near)


def _careunit(word: str, tokens: list[Token], first: int, last: int, folded: str) -> bool:
    before = tokens[first - 1].text if first else ""
    after = tokens[last].text if last < len(tokens) else ""
    if before in _UNIT or after in _UNIT:
        return True
    if word not in everyday_words():
        return True
    if before not in _INTO:
        return False
    # "patients (were) in (the) medicine"
    people = any(token.text in _PEOPLE for token in tokens[max(0, first - 3) : first])
    return people or named("careunit", folded)


def _route(tokens: list[Token], first: int, last: int) -> bool:
    before = [token.text for token in tokens[max(0, first - 2) : first]]
    after = [token.text for token in tokens[last : last + 2]]
    if "route" in after or "routes" in after:
        return True
    if before[-1:] and before[-1] in _GIVEN:
        return True
    return any(word in _ROUTE_BEFORE for word in before) and not (
        before[-1:] == ["by"] and after[:1] == ["of"]
    )
