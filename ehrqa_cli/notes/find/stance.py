"""Does a line say that it is so: stated, denied, a relative's, to come, or in doubt?

Rules with scope after NegEx (Chapman et al. 2001) and ConText (Harkema et al. 2009): a trigger
reaches forward or backward from where it stands to the end of its sentence or to a word that
ends its reach. The words are data, in ``stance_triggers.txt``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ehrqa_cli.contracts.notes import Stance
from ehrqa_cli.words.lists import sections

_FILE = Path(__file__).with_name("stance_triggers.txt")
# The first that holds is told: an absent thing of a relative is absent.
_ORDER = (Stance.NEGATED, Stance.FAMILY, Stance.PLANNED, Stance.UNSURE)
_SENTENCE_END = re.compile(
    r"(?<!\bDr)(?<!\bMr)(?<!\bvs)(?<!\bMrs)[.;!](?=\s+\S)|(?<=\w)\?(?=\s+\S)|\n"
)
_FAMILY_SECTION = "family history"
# A negation reaches over a list ("no fever, chills or cough"), but not into a new clause.
_NEW_CLAUSE = re.compile(
    r",\s+(?:and\s+|so\s+|then\s+)?(?:he|she|it|they|we|the|his|her|this|there|patient|pt)\b"
    r"|\b(?:is|was|were|are)\s\w+\s+and\b|\s[-–—]\s",
    re.I,
)
_COMMA = re.compile(r",(?!\s*(?:and|or)\b)")
_VERB = re.compile(
    r"\b(?:is|was|were|are|has|had|have|be|been|showed|shows|revealed|demonstrated|underwent|"
    r"received|will|should|improved|resolved|developed|who|which)\b",
    re.I,
)
# What is to be done is done for a reason, and the reason is there already.
_REASON = re.compile(
    r"\b(?:for (?:his|her|the|a history of|known)|regarding|re:|followed\b.*\bfor)\s", re.I
)
_FURTHEST = 60  # characters that a backward trigger reaches over
_LETTER = re.compile(r"\w")


@dataclass(frozen=True)
class _Rule:
    """The triggers of one stance in one direction, and what looks like them."""

    stance: Stance
    forward: bool
    pattern: re.Pattern[str]
    ignore: re.Pattern[str]


def stance_of(line_text: str, start: int, end: int, section: str = "") -> Stance:
    """How ``line_text`` speaks of the mention ``line_text[start:end]``.

    ``section`` is the canonical name of the section that the line stands in.
    """
    first, last = _sentence(line_text, start, end)
    before, after = line_text[first:start], line_text[end:last]
    mention = line_text[start:end]
    found = {rule.stance for rule in _rules() if _applies(rule, before, after, mention=mention)}
    if _FAMILY_SECTION in section.lower():
        found.add(Stance.FAMILY)
    for stance in _ORDER:
        if stance in found:
            return stance
    return Stance.STATED


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    first = max((at for at in ends if at <= start), default=0)
    last = min((at for at in ends if at > end), default=len(text))
    return first, last


def _applies(rule: _Rule, before: str, after: str, mention: str) -> bool:
    text = before if rule.forward else after
    ignored = [match.span() for match in rule.ignore.finditer(before + mention + after)]
    shift = 0 if rule.forward else len(before) + len(mention)
    for match in rule.pattern.finditer(text):
        a, b = match.start() + shift, match.end() + shift
        if any(first < b and a < last for first, last in ignored):
            continue
        between = text[match.end() :] if rule.forward else text[: match.start()]
        if _reaches(rule, between):
            return True
    return False


def _reaches(rule: _Rule, between: str) -> bool:
    """Does nothing between a trigger and the mention end the trigger's reach?"""
    if _stops(rule.stance is Stance.FAMILY).search(between) or _NEW_CLAUSE.search(between):
        return False
    if not rule.forward:
        return (
            len(between) <= _FURTHEST and not _COMMA.search(between) and not _VERB.search(between)
        )
    if rule.stance is Stance.PLANNED:
        return not _REASON.search(between)
    return True


@cache
def _rules() -> tuple[_Rule, ...]:
    lists = _lists()
    return tuple(
        _Rule(
            stance,
            direction == "forward",
            _any_of(lists[f"{stance.value} {direction}"]),
            _any_of(lists[f"{stance.value} ignore"]),
        )
        for stance in _ORDER
        for direction in ("forward", "backward")
    )


@cache
def _stops(family: bool) -> re.Pattern[str]:
    return _any_of(_lists()["stop family" if family else "stop"])


@cache
def _lists() -> dict[str, list[str]]:
    lists = sections(_FILE).items()
    return {head: [p for line in lines for p in line.split(" | ")] for head, lines in lists}


def _any_of(phrases: list[str]) -> re.Pattern[str]:
    """One pattern for all phrases, the longest first, as whole words."""
    ordered = sorted(phrases, key=len, reverse=True)
    return re.compile("|".join(_phrase(phrase) for phrase in ordered), re.I)


def _phrase(phrase: str) -> str:
    body = r"\s+".join(re.escape(word) for word in phrase.split()).replace(r"\#", r"\d+")
    left = r"(?<![\w/])" if _LETTER.match(phrase[0]) or phrase[0] == "#" else ""
    right = r"(?![\w/])" if _LETTER.match(phrase[-1]) else ""
    return left + body + right
