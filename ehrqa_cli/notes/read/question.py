"""What a question about notes wants: the sort of answer, what it is about, which part of the stay.

Rules over words, in the order in which they are tried; nothing here is fitted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from ehrqa_cli.notes.find.lexical import Group, groups
from ehrqa_cli.words.lists import stop_words
from ehrqa_cli.words.wordpieces import token_ids

_FRAME = 0.3  # how much a frame word tells, against a word that is not one
_FIRST_WORD, _LAST_WORD = 1995, 30522  # of the vocabulary, which goes from frequent to rare


class AnswerKind(StrEnum):
    """The sort of answer that is expected."""

    DOSE = "dose"
    FREQUENCY = "frequency"
    DATE = "date"
    DURATION = "duration"
    COUNT = "count"
    NUMBER = "number"  # a laboratory value, a vital sign, a size
    YES_NO = "yes/no"
    REASON = "reason"
    PLACE = "place"
    PERSON = "person"
    COMPARISON = "comparison"
    ARITHMETIC = "arithmetic"
    NAME = "name"  # of a drug, a procedure, an organism, a diagnosis
    OTHER = "other"


_LAB = (
    r"(?:hemoglobin|hematocrit|creatinine|potassium|sodium|glucose|sugar|platelets?"
    r"|white (?:blood )?"
    r"(?:cell )?count|wbc|inr|lipase|bilirubin|troponin|lactate|ck|a1c|ldl|hdl|cholesterol|tsh|bnp|"
    r"bun|calcium|magnesium|albumin|ammonia|crp|c-reactive protein|esr|level|ejection fraction|ef|"
    r"lvef|saturation|blood pressure|heart rate|pulse|temperature|weight|respiratory rate|height|"
    r"bmi|body mass index|pressures?|score|target|goal|ph)"
)
_RULES: tuple[tuple[AnswerKind, str], ...] = (
    (
        AnswerKind.REASON,
        r"^\s*why\b|\b(?:reason|what (?:\w+ ){0,2}?(?:caused?|made|triggered|led to"
        r"|explain(?:s|ed)?|brought on|brought about|set off|set up|provoked?"
        r"|precipitated|prompted)|culprit|put down to|from what|the cause of"
        r"|(?:responsible|to blame|blamed|indication) for|attributed to"
        r"|because of what)\b",
    ),
    (
        AnswerKind.ARITHMETIC,
        r"\bby how (?:much|many)\b|\bhow (?:much|many|far) (?!blood|fluid|urine)"
        r"(?:\w+ ){0,4}?(?:(?:light|heavi|high|low|tall|short|long|small|larg|few)er"
        r"|more|less|lost|lose|gain\w*|put on|fall\w*|fell|drop\w*|ris(?:e|en)|rose"
        r"|declin\w+|decreas\w+|increas\w+|shr[iu]nk|grown?|[cg]ome? (?:up|down)"
        r"|(?:came|gone|went|go) (?:up|down))\b",
    ),
    (
        AnswerKind.COMPARISON,
        r"\b(?:compared?|comparison|differ\w*|change[ds]? (?:from|between)"
        r"|between the"
        r" (?:two|first)|both (?:admissions|stays|visits)|than (?:at|in|on|the)"
        r"|which "
        r"(?:was|is|of)\b.*\b(?:\w+er|more|less)\b|(?:improve|rise|fall|increase|"
        r"decrease|worsen)\w* (?:between|from)|how (?:did|has|have|was|were) .*"
        r"\b(?:changed?|move|develop|evolve|progress|altered))\b",
    ),
    (
        AnswerKind.ARITHMETIC,
        r"\bby how (?:much|many)\b|\bhow (?:much|far|many \w+) (?:\w+ ){0,4}(?:more"
        r"|less|"
        r"higher|lower|lost|gained?|did .* (?:fall|rise|drop|go up|go down|increase|"
        r"decrease))\b|\b(?:total|combined|altogether|in all|sum|difference|net)\b"
        r"|\bper day\b.*\bhow many\b|\bhow many \w+ .*\b(?:per|a|each) day\b"
        r"|\bhow many days (?:was|did|were|after|before|between|passed|elapsed)\b",
    ),
    (
        AnswerKind.DURATION,
        r"\bhow long\b|\bfor how (?:long|many (?:days|weeks|months|years|hours))\b"
        r"|\bhow many (?:minutes|hours|days|weeks|months|years)\b|\bduration\b"
        r"|\bsince when\b|\blength of\b",
    ),
    (
        AnswerKind.FREQUENCY,
        r"\bhow (?:often|frequent\w*)\b|\bhow many times (?:a|per|each)\b"
        r"|\bfrequency\b",
    ),
    (
        AnswerKind.DATE,
        r"^\s*when\b|\b(?:what|which|on what|until what) (?:date|day|month|year|time)\b"
        r"|\buntil when\b|\bhow soon\b|\bby when\b|\bat what (?:\w+ )?age\b",
    ),
    (
        AnswerKind.DOSE,
        r"\b(?:dose|dosage|dosing|strength|how many (?:mg|milligrams|mcg|micrograms"
        r"|units of "
        r"(?:insulin|glargine|lantus|nph))|infusion rate|at what rate)\b"
        r"|\bhow much \w+(?: \w+)? (?:did|does|is|was|should|will) (?:he|she|the patient)"
        r" (?:take|taking|go home|get|given|on|use)\b",
    ),
    (
        AnswerKind.YES_NO,
        r"^\s*(?:did|does|do|was|were|is|are|has|have|had|can|could|will|would|should"
        r"|may)\b"
        r"|[,;] (?:did|does|was|were|is|are|has|have) (?:he|she|the|there)\b",
    ),
    (
        AnswerKind.PLACE,
        r"^\s*(?:to )?where\b|\b(?:dispos\w+|discharged to|which (?:facility|place|site"
        r"|side"
        r"|level|lobe|artery|vessel|joint|leg|arm))\b",
    ),
    (
        AnswerKind.PERSON,
        r"^\s*(?:who|whose|whom|by whom)\b|\bwhich (?:doctor|physician|surgeon|relative|"
        r"specialist)\b",
    ),
    (AnswerKind.COUNT, r"\bhow many\b|\bnumber of\b"),
    (
        AnswerKind.NUMBER,
        rf"\bhow (?:high|low|much|big|large|tall|heavy|fast|slow|wide|deep|old|far)\b"
        rf"|\bwhat (?:was|is|were|are)\b.*\b{_LAB}\b|\b(?:size|volume|percent\w*|value)\b"
        rf"|\b(?:what|which) {_LAB}\b",
    ),
    (AnswerKind.NAME, r"\b(?:which|what|name)\b"),
)
_COMPILED = tuple((kind, re.compile(pattern, re.I)) for kind, pattern in _RULES)
_NEGATIVE = re.compile(
    r"\b(?:not|never|no|without|avoid\w*|declin\w*|refus\w*|with?held|hold|stopp\w*|off|denie[sd]|"
    r"deny|discontinu\w*|held|\w+n't)\b",
    re.I,
)
_PLANNED = re.compile(
    r"\b(?:plan\w*|follow.?up|will|should|recommend\w*|schedul\w*|next|advis\w*|instruct\w*|goal|"
    r"target|must|may|to be|pending|referr\w*|until)\b",
    re.I,
)
_FAMILY = re.compile(
    r"\b(?:family|relatives?|mother|father|brother|sister|aunt|uncle|grand\w+|parents?"
    r"|siblings?)\b",
    re.I,
)
# A part of the stay that a question names, and the sections that speak of it.
_PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"\b(?:at|on|upon|after) (?:\w+ )?discharge|discharged? (?:on|with|home|dose)|go(?:es"
        r"|ing)? home|"
        r"went home|sent home|leaves?|left on|takes? at home after",
        (
            "discharge",
            "follow-up",
            "disposition",
            "medications",
            "transitional",
            "activity",
            "diet",
        ),
    ),
    (
        r"\b(?:on|at|upon) (?:\w+ )?(?:admission|arrival|presentation)|when (?:he|she) (?:came"
        r"|arrived|was "
        r"admitted|presented)|emergency|brought (?:him|her)|initial|presented|complain",
        ("history of present", "chief", "admission", "physical exam", "vital", "labs", "results"),
    ),
    (
        r"\bbefore (?:admission|coming)|home (?:dose|medic\w+)|prior to|used to",
        ("medications on admission", "past", "history of present"),
    ),
    (
        r"\bhistory of|past (?:medical|surgical)|previous(?:ly)?|in the past",
        ("past", "history", "social"),
    ),
    (r"\ballerg|react", ("allerg",)),
    (
        r"\b(?:smok|alcohol|drink|drug use|liv(?:e|es|ing) with|job|work|occupation|married"
        r"|tobacco)",
        ("social", "history"),
    ),
    (r"\b(?:family|relative|mother|father|brother|sister|aunt)\b", ("family",)),
    (
        r"\bfollow.?up|return|next|appointment|when should|scheduled|after discharge|instruct"
        r"|allowed|may (?:he|she)|restrict",
        ("follow-up", "discharge", "instructions", "transitional", "activity", "assessment"),
    ),
    (
        r"\b(?:during|in) (?:the|his|her|this) (?:hospital|stay|admission|course)|complication"
        r"|treated",
        ("hospital course", "assessment"),
    ),
)
_COMPILED_PARTS = tuple((re.compile(pattern, re.I), sections) for pattern, sections in _PARTS)


@dataclass(frozen=True)
class NoteQuestion:
    """A question taken apart. ``weights`` go with ``groups``: how much each tells, 0 to 1."""

    text: str
    kind: AnswerKind
    groups: tuple[Group, ...]
    weights: tuple[float, ...]
    sections: tuple[str, ...]
    negative: bool
    planned: bool
    family: bool


@lru_cache(maxsize=64)
def ask(question: str) -> NoteQuestion:
    """Take ``question`` apart."""
    found = tuple(groups(question))
    sections = [s for pattern, names in _COMPILED_PARTS if pattern.search(question) for s in names]
    return NoteQuestion(
        question,
        kind_of(question),
        found,
        tuple(telling(group.phrase) for group in found),
        tuple(dict.fromkeys(sections)),
        _NEGATIVE.search(question) is not None,
        _PLANNED.search(question) is not None,
        _FAMILY.search(question) is not None,
    )


def kind_of(question: str) -> AnswerKind:
    """The sort of answer that ``question`` wants."""
    return next((kind for kind, pattern in _COMPILED if pattern.search(question)), AnswerKind.OTHER)


@lru_cache(maxsize=8192)
def telling(phrase: str) -> float:
    """How much a word or phrase tells, 0 to 1: rare words of English more, frame words little."""
    words = phrase.split()
    rarity = max(_rarity(word) for word in words)
    return rarity * (_FRAME if stop_words("frame").issuperset(words) else 1.0)


def _rarity(word: str) -> float:
    """From where the word stands in the sentence model's vocabulary; 1 if it is not in it whole."""
    import math

    ids = token_ids(word)[1:-1]
    if len(ids) != 1:
        return 1.0
    place = max(0, ids[0] - _FIRST_WORD) / 20
    return min(1.0, math.log1p(place) / math.log1p((_LAST_WORD - _FIRST_WORD) / 20))
