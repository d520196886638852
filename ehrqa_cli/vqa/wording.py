"""What a question asks: yes or no, which findings, or which places; decided by its plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from ehrqa_cli.vqa.lexicon import FINDING, PLACE, WORDS, Mention
from ehrqa_cli.vqa.ontology import ABNORMALITY
from ehrqa_cli.vqa.program import EXISTS, NAME
from ehrqa_cli.vqa.program import PLACE as WHERE
from ehrqa_cli.words.lists import word_list

NEGATIVE = word_list(WORDS, "negative")
TOGETHER = word_list(WORDS, "together")
NORMAL = word_list(WORDS, "normal")
_LOCATIVE = word_list(WORDS, "where")
_LISTS = word_list(WORDS, "lists")
_ASKS = word_list(WORDS, "asks yes or no")
_GENERAL = word_list(WORDS, "general")
_COUNTS = frozenset({"many", "much"})
_COMMON = frozenset({"common", "commonly"})
_KINDS = frozenset({"type", "types", "kind", "kinds"})
_POLITE = re.compile(
    r"\b(can|could|would|will) (you )?(please )?(list|name|tell|give|find|enumerate|describe)\b"
)


def is_general(tokens: list[str], found: list[Mention]) -> bool:
    """Is it about findings in general (what makes or tells them, what is common, what is a kind of
    what), or about times that no image shows, rather than about one image?"""
    first = next((k for k, t in enumerate(tokens) if t not in (",", "and", "so")), 0)
    if tokens[first : first + 1] and tokens[first] in _GENERAL:
        return not _COUNTS.intersection(tokens[first + 1 : first + 2])
    if len(found) == 1 and _COMMON.intersection(tokens) and found[0].kind == FINDING:
        return True
    findings = [m for m in found if m.kind == FINDING]
    return any(
        _KINDS.intersection(tokens[one.end : two.start]) and "of" in tokens[one.end : two.start]
        for one, two in pairwise(findings)
    )


@dataclass(frozen=True)
class Wording:
    """The tokens of a question and its mentions, in order."""

    tokens: list[str]
    found: list[Mention]

    @classmethod
    def of(cls, tokens: list[str], found: list[Mention]) -> Wording:
        """With a finding where plain words stand for one: "normal", "any findings"."""
        if not any(m.kind == FINDING for m in found):
            plain = NORMAL | {"finding", "findings"}
            at = next((k for k, t in enumerate(tokens) if t in plain), None)
            if at is not None:
                made = Mention(FINDING, at, at + 1, name=ABNORMALITY)
                found = sorted([*found, made], key=lambda m: m.start)
        return cls(tokens, found)

    @property
    def findings(self) -> list[Mention]:
        """The mentions of findings."""
        return [m for m in self.found if m.kind == FINDING]

    @property
    def attributes(self) -> list[Mention]:
        """The mentions of single findings, no classes."""
        return [m for m in self.findings if not m.is_category]

    @property
    def places(self) -> list[str]:
        """Every place that is named."""
        return [place for m in self.found if m.kind == PLACE for place in m.places]

    def words(self, start: int = 0, end: int | None = None) -> list[str]:
        """The tokens of a stretch that belong to no mention."""
        inside = {k for m in self.found for k in range(m.start, m.end)}
        stop = len(self.tokens) if end is None else end
        return [self.tokens[k] for k in range(start, stop) if k not in inside]

    @property
    def all_normal(self) -> bool:
        """Is it asked whether something is normal?"""
        found = all(m.name == ABNORMALITY for m in self.findings)
        return found and bool(NORMAL.intersection(self.tokens))


def asked(wording: Wording) -> tuple[str, bool]:
    """EXISTS, NAME or PLACE, and whether the question lets one choose."""
    several = len(wording.places) > 1
    if not _is_list(wording):
        if _class_then_two(wording):
            return NAME, True
        after = set(wording.words(wording.found[-1].end))
        if after & {"which", "where"} and several and len(wording.findings) == 1:
            return WHERE, True
        return EXISTS, False
    if _asks_place(wording):
        return WHERE, several
    return NAME, len(wording.attributes) > 1


def _is_list(wording: Wording) -> bool:
    """Is it a list that is asked for? The first word that decides."""
    outside = wording.words()
    if _POLITE.search(" ".join(outside)):
        return True
    inside = {k for m in wording.found for k in range(m.start, m.end)}
    for k, token in enumerate(wording.tokens):
        if k in inside:
            continue
        following = wording.tokens[k + 1 : k + 3]
        if token in ("show", "tell", "find") and {"me", "all"}.intersection(following):
            return True
        if token in _LISTS:
            return True
        if token in _ASKS and not (token == "any" and _any_of_list(wording, k)):
            return False
    return _is_heading(wording)


def _any_of_list(wording: Wording, at: int) -> bool:
    """ "Locations of any device": the word ``any`` does not make it yes or no."""
    later = {"where", "which", "what"}.intersection(wording.tokens[at:])
    return bool(later or _LOCATIVE.intersection(wording.tokens[:at]))


def _is_heading(wording: Wording) -> bool:
    """ "Abnormalities of the left lung": a list; "abnormal left lung?" is yes or no."""
    words = set(wording.words())
    if "all" in words and "at all" not in " ".join(wording.tokens):
        return True
    if words & {"common", "share", "shared", *_LOCATIVE}:
        return True
    if wording.attributes or words & {"or", "both", "any"}:
        return False
    plural = all(wording.tokens[m.end - 1].endswith("s") for m in wording.findings)
    return plural or "but" in words


def _class_then_two(wording: Wording) -> bool:
    """ "Is the disease in the left lung pneumonia or aspiration?": one of the two is asked."""
    findings, attributes = wording.findings, wording.attributes
    if len(attributes) < 2 or not findings[0].is_category:
        return False
    before = wording.tokens[: findings[0].start]
    return before[-1:] == ["the"] and len(findings) == len(attributes) + 1


def _asks_place(wording: Wording) -> bool:
    tokens, first = wording.tokens, wording.findings[0].start
    if {"where", "everywhere"}.intersection(wording.words()):
        return True
    at = next((k for k, t in enumerate(tokens) if t in _LISTS), 0)
    if _LOCATIVE.intersection(wording.words(at)):
        near = _LOCATIVE.intersection(tokens[at + 1 : at + 6])
        if near or _LOCATIVE.intersection(wording.words(0, first)):
            return True
    # "Which is abnormal, the left lung or the right lung?", "which of the two lungs has ..."
    if tokens[at] != "which" or at + 1 == first or len(wording.findings) != 1:
        return False
    return len(wording.places) > 1 and _says_abnormal(wording, first) and _or_of(wording, at)


def _says_abnormal(wording: Wording, at: int) -> bool:
    """ "abnormal" of a place, or "an abnormality" that it has: no list of abnormalities."""
    if not wording.findings[0].is_category or wording.tokens[at] == "abnormal":
        return True
    return wording.tokens[at - 1] in ("an", "any", "the")


def _or_of(wording: Wording, at: int) -> bool:
    groups = [m for m in wording.found if m.kind == PLACE]
    if any(len(m.places) > 1 and m.op != "and" for m in groups):
        return True
    between = wording.words(groups[0].end, groups[-1].start)
    return "or" in between or "of" in wording.tokens[at : at + 4]
