"""Names that only the words beside them tell apart: a race, a service, what an organism was tested
with. And being outside of any visit, which no model reads: it leaves the text, and becomes a filter
of the form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.contracts.types import Link

_PEOPLE = (
    r"(?:patients?|pts?|people|persons?|men|women|man|woman|males?|females?|adults?|folks|"
    r"(?:of|by|in|as) race|race(?: is| was)?)"
)
# By the words right before and right after a name: is it a restriction of this kind?
_RESTRICTING = {
    "race": (
        re.compile(rf"\b{_PEOPLE}(?: (?:who|that))?(?: (?:is|are|were|was|identif\w+ as))? $"),
        re.compile(rf"(?:,? (?:or|and) \w+)? {_PEOPLE}\b"),
    ),
    "service": (
        re.compile(r"\b(?:on|under|by|to|for|in)(?: the)? $"),
        re.compile(r" (?:service|team)\b"),
    ),
    "resistant": (
        re.compile(r"\bresistan(?:t|ce) to(?: the)? $"),
        re.compile(r"[- ]resistant\b|(?: was| were| is| are)? ?(?:=|:) ?r\b"),
    ),
    "susceptible": (
        re.compile(r"\b(?:sensitive|susceptible|sensitivity|susceptibility) to(?: the)? $"),
        re.compile(r"[- ](?:sensitive|susceptible)\b"),
    ),
}
TESTED = ("resistant", "susceptible")
_OUTSIDE = re.compile(
    r",? ?\b(?:outside(?: of)?|not during|without)(?: any| an?| the)?(?: hospital)?"
    r" (?:admissions?|visits?|stays?|encounters?|hospitali[sz]ations?|hospital)\b"
)
# The same, where the record has no visits of outpatients.
_OUTPATIENT = re.compile(
    r" (?:as|when) an outpatient\b| as outpatients\b| in (?:the )?clinic\b"
    r"|\boutpatient (?!visits?\b|appointments?\b|encounters?\b)"
)


@dataclass(frozen=True)
class Restriction:
    """``link`` is what it says; ``said`` is its span, and what the model reads there instead."""

    link: Link
    said: tuple[int, int, str]


def by_words(
    options: Mapping[str, Sequence[Concept]], text: str, start: int, end: int
) -> tuple[str, Concept] | None:
    """What the words around ``[start, end)`` make of a name: (race, service, resistant or
    susceptible; the concept), if they do."""
    for kind, (before, after) in _RESTRICTING.items():
        known = options.get("antibiotic" if kind in TESTED else kind)
        if known and (before.search(text[:start]) or after.match(text[end:])):
            return kind, known[0]
    return None


def outside(text: str, outpatients: bool) -> list[Restriction]:
    """A text's words for being outside of any visit; with ``outpatients`` the record has visits of
    such."""
    return [
        Restriction(Link(*match.span(), ("outside",), "any visit", "concept"), (*match.span(), " "))
        for pattern in ((_OUTSIDE,) if outpatients else (_OUTSIDE, _OUTPATIENT))
        for match in pattern.finditer(text)
    ]
