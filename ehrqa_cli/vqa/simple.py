"""Questions without findings: the view, the sex of the patient, and the two widths."""

from __future__ import annotations

import re

from ehrqa_cli.vqa import lexicon
from ehrqa_cli.vqa.lexicon import FINDING, PLACE, Mention
from ehrqa_cli.vqa.program import CTR, HEART, MEDIASTINUM, MTR, SEX, VIEW, Program
from ehrqa_cli.words.lists import word_list

_VIEWS = {"ap": "AP", "anteroposterior": "AP", "pa": "PA", "posteroanterior": "PA"}
_SEXES = {
    **dict.fromkeys(("male", "man", "men", "boy", "gentleman", "males"), "male"),
    **dict.fromkeys(("female", "woman", "women", "girl", "lady", "females"), "female"),
}
_VIEW_NOUNS = frozenset({"view", "views", "projection", "position", "orientation"})
_SEX_NOUNS = frozenset({"gender", "sex"})
# Words that only these questions use.
WORDS = word_list(lexicon.WORDS, "view and sex").union(_VIEWS, _SEXES, _VIEW_NOUNS, _SEX_NOUNS)

_PART = r"(?P<mediastinum>mediastin\w*|\bmtr\b)|(?P<heart>cardi\w*|\bheart\b|\bctr\b|\bct ratio\b)"
_MORE = r"wider|broader|greater|larger|bigger|higher|more|above|over|exceed\w*|beyond|>|wide"
_LESS = r"narrower|less|smaller|lower|below|under|within|at most|<"
_SHARE = (
    r"(?P<top>\d+)\s*/\s*(?P<bottom>\d+)|(?P<decimal>0?\.\d+)|(?P<percent>\d+(?:\.\d+)?)\s*"
    r"(?:%|percent|per cent)|(?P<third>two[ -]thirds|third|1 third)|(?P<half>half|1 half)"
)
_THORAX = r"thora\w*|\bchest\b|\bratio\b|\bctr\b|\bmtr\b|\bribs?\b"

_RATIO = re.compile(
    r"(?:what(?: is| was|'s)|give|state|report)(?: me)?(?: the)? "
    r"(?:(?P<heart>cardio-?\s?thoracic ratio|ctr)|mediastin\w*(?:[- ]to)?[- ]thora\w* ratio|mtr)"
    r"(?: (?:of|in|on) (?:this|the|that) (?:chest )?(?:image|film|study|x-?ray|radiograph))?\W*"
)


def ratio(question: str) -> Program | None:
    """What is the width of the heart (or the mediastinum) over that of the thorax?"""
    found = _RATIO.fullmatch(" ".join(question.lower().split()))
    return Program(CTR if found["heart"] else MTR) if found else None


def width(question: str) -> Program | None:
    """Is the heart (or the mediastinum) wider than a share of the thorax?"""
    text = re.sub(r"chest (x.?ray|film|radiograph|image)|cxr", " ", question.lower())
    part, share = re.search(_PART, text), re.search(_SHARE, text)
    more, less = re.search(rf"\b(?:{_MORE})|>", text), re.search(rf"\b(?:{_LESS})\b|<", text)
    if not part or not share or not (more or less) or not re.search(_THORAX, text):
        return None
    mediastinum = re.search(r"mediastin|\bmtr\b", text) is not None
    negated = re.search(r"\bnot\b|n't\b", text) is not None
    below = (more is None) != negated
    return Program(MEDIASTINUM if mediastinum else HEART, limit=_limit(share), below=below)


def _limit(share: re.Match[str]) -> float:
    if share["top"]:
        return int(share["top"]) / max(1, int(share["bottom"]))
    if share["decimal"]:
        return float(share["decimal"])
    if share["percent"]:
        return float(share["percent"]) / 100
    if share["third"]:
        return 2 / 3 if share["third"].startswith("two") else 1 / 3
    return 0.5


def view(tokens: list[str], found: list[Mention]) -> Program | None:
    """Which view, or is it the one named?"""
    if any(m.kind in (FINDING, PLACE) for m in found):
        return None
    text = " ".join(tokens)
    text = text.replace("antero posterior", "ap").replace("postero anterior", "pa")
    words = text.split(" ")
    named = list(dict.fromkeys(_VIEWS[w] for w in words if w in _VIEWS))
    nouns = _VIEW_NOUNS.intersection(words)
    if not named and (not nouns or _of_patient(words, nouns)):
        return None
    return _one_of(VIEW, named, tokens, {"AP": "PA", "PA": "AP"})


def _of_patient(words: list[str], nouns: frozenset[str]) -> bool:
    """ "What position is the patient in": how somebody sits or lies, which no view tells."""
    return nouns == {"position"} and bool({"patient", "person", "individual"}.intersection(words))


def sex(tokens: list[str], found: list[Mention]) -> Program | None:
    """Which sex, or is it the one named?"""
    named = list(dict.fromkeys(_SEXES[w] for w in tokens if w in _SEXES))
    if any(m.kind in (FINDING, PLACE) for m in found):
        return None
    if not named and not _SEX_NOUNS.intersection(tokens):
        return None
    return _one_of(SEX, named, tokens, {"male": "female", "female": "male"})


def _one_of(ask: str, named: list[str], tokens: list[str], other: dict[str, str]) -> Program | None:
    if len(named) != 1:
        return Program(ask, choose=len(named) > 1)
    option = other[named[0]] if "not" in tokens else named[0]
    return Program(ask, option=option)
