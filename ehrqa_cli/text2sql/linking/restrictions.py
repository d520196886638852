"""What limits a question beside what it asks: whose race, which service, resistant to what, outside
of any visit. No model reads it: it leaves the text, and becomes a filter of the form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.contracts.types import Link
from ehrqa_cli.logical_form.grammar import RESTRICTIONS

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
# "Which patients are black?": the model is given words that it knows.
_IS = re.compile(r"\b(?:who |that )?(?:is|are|was|were)(?: an?)? ?$")
_ADMITTED = "were admitted"
_CARED_FOR = re.compile(
    r"(?:\b(?:cared for|seen|treated|looked after|managed|followed) )?"
    r"(?:by|on|under|in)(?: the)? ?$"
)


@dataclass(frozen=True)
class Restriction:
    """``link`` is what it says; ``said`` is its span, and what the model reads there instead."""

    link: Link
    said: tuple[int, int, str]

    @property
    def tests(self) -> bool:
        """Is it what an organism was tested with?"""
        return self.link.types[0] in TESTED


def restriction(
    options: Mapping[str, Sequence[Concept]], text: str, start: int, end: int
) -> Link | None:
    """The name at ``[start, end)`` of the text as a restriction, if it is one."""
    for kind, (before, after) in _RESTRICTING.items():
        known = options.get("antibiotic" if kind in TESTED else kind)
        said = before.search(text[:start]), after.match(text[end:])
        if not known or not any(said):
            continue
        if kind in TESTED:  # the words that say so go with it
            start = said[0].start() if said[0] else start
            end = end + said[1].end() if said[1] and not said[0] else end
        return Link(start, end, (kind,), known[0].name, "concept", 1.0, (known[0],))
    return None


def restrictions(text: str, links: Iterable[Link], outpatients: bool) -> list[Restriction]:
    """All restrictions of a text: those among its links, and its words for being outside of any
    visit; with ``outpatients`` the record has visits of such."""
    found = [
        Restriction(Link(*match.span(), ("outside",), "any visit", "concept"), (*match.span(), " "))
        for pattern in ((_OUTSIDE,) if outpatients else (_OUTSIDE, _OUTPATIENT))
        for match in pattern.finditer(text)
    ]
    return found + [_found(text, link) for link in links if link.types[0] in RESTRICTIONS]


def _found(text: str, link: Link) -> Restriction:
    before, start, end, instead = text[: link.start], link.start, link.end, ""
    if link.types == ("race",) and (is_so := _IS.search(before)):
        start, instead = is_so.start(), _ADMITTED
    if link.types == ("service",) and (by := _CARED_FOR.search(before)):
        start, end, instead = by.start(), _after_service(text, end), "admitted"
    return Restriction(replace(link, start=start, end=end), (start, end, instead))


def _after_service(text: str, end: int) -> int:
    noun = re.match(r" (?:service|team)\b", text[end:])
    return end + noun.end() if noun else end
