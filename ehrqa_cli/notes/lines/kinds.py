"""What kind of line it is: an item of a list, a medication with its dose, laboratory values."""

from __future__ import annotations

import re

MEDICATION_SECTIONS = frozenset(
    {"medications", "medications on admission", "discharge medications"}
)
_VALUE_SECTIONS = frozenset({"labs", "results"})
_DIGIT = re.compile(r"\d")
_LONG = 200  # characters; a longer line is prose

# "1. ", "2) ", "(3) ", "a. ", "- ", "• ", "# ", "#3 ", "[ ] "
MARKER = re.compile(
    r"(?:\(?\d{1,3}[.)](?=\s|[A-Za-z])|\(?[A-Za-z][.)]\s|[-–—*+•·▪●◦‣○■□>~]+\s*(?=\S)|#+\s*\d*[.):]?\s*(?=\S)"
    r"|o\s(?=[A-Z])|\[[ xX]?\]\s)"
)
_DOSE = re.compile(
    r"\d[\d,./-]*\s?(?:mg|mcg|µg|μg|ug|g|gm|grams?|grains?|meq|mmol|units?|iu|ml|cc|%|tab(?:let)?s?"
    r"|cap(?:sule)?s?|puffs?|drops?|gtts?|patch(?:es)?|sprays?|tsp|tbsp|teaspoons?|packets?|l)\b",
    re.I,
)
_TAKEN = re.compile(
    r"\b(?:p\.?o\.?|by mouth|oral(?:ly)?|i\.?v\.?|s\.?c\.?|s\.?q\.?|subcut\w*|i\.?m\.?|inhal\w*"
    r"|topical\w*|s\.?l\.?"
    r"|(?:once|twice|three times)?\s?(?:a day|daily)|b\.?i\.?d\.?|t\.?i\.?d\.?|q\.?i\.?d\.?"
    r"|q\.?\s?\d+|q\.?(?:hs|am|pm|a\.m|p\.m|h|d|wk|week|o\.?d|day|night|other)|every|p\.?r\.?n\.?"
    r"|as needed|at bedtime|nightly|weekly|monthly|tablets?|capsules?|disp|refills?)(?:\b|(?<=\.))",
    re.I,
)
_DRUG_FIRST = re.compile(
    r"(?!(?:he|she|they|the|patient|pt|we|i|on|in|at|this|his|her|there|it|was|given|\w+(?:ed|ing))\b)"
    r"[A-Za-z][\w'/-]*(?:[ ,](?!(?:on|to|for|of|at|from|in|received|started)\b)[\w().%/'*-]+){0,5}?"
    r"[ ,(*]+(?=\d)",
    re.I,
)
_PROSE = re.compile(r"\b(?:was|were|is|are|has|had|he|she|will|which|that)\b", re.I)
# "WBC-7.2", "Na    135", "creatinine of 0.8", but not "a 77-year-old"
_PAIR = re.compile(r"[A-Za-z%)](?:[-:=]|\s)\s{0,15}(?:of\s|was\s)?[*<>]{0,2}\d(?!\d*-year)")
_VALUE = re.compile(r"[\s-][<>*]?\d[\d.,]*")
_ANALYTES = re.compile(
    r"\b(?:na|sodium|k|potassium|cl|chloride|co2|hco3|bicarb(?:onate)?|bun|urea n|cr"
    r"|creat(?:inine)?"
    r"|glu(?:cose)?|wbc|white (?:blood )?(?:cell )?count|hgb|hb|hemoglobin|hct|hematocrit|plt"
    r"|platelets?(?: count)?|inr|ptt?|mcv|rbc|ast|alt|alk phos|t ?bili"
    r"|bilirubin|albumin|calcium|magnesium|mg"
    r"|phos(?:phate)?|troponin(?:-?[it])?|lactate|a1c|tsh|bnp|ldh|ck|lipase|amylase)"
    r"[^A-Za-z\d]{1,3}(?:(?:of|was|is|level|at)\s)?[<>]?\d",
    re.I,
)


def kind_of(text: str, section: str, item: bool) -> str:
    """``medication``, ``lab``, ``item`` (of a list) or ``text``, for a line without its marker."""
    if len(text) <= _LONG and _DIGIT.search(text):
        if is_medication(text, section):
            return "medication"
        if is_lab(text, section):
            return "lab"
    return "item" if item else "text"


def is_medication(text: str, section: str) -> bool:
    """Does the line name a drug with a dose, and say how it is taken?"""
    dose = _DOSE.search(text)
    if section in MEDICATION_SECTIONS:
        return (dose is not None or _TAKEN.search(text) is not None) and not _PROSE.search(text)
    if dose is None or dose.start() > 80 or _DRUG_FIRST.match(text) is None:
        return False
    return _TAKEN.search(text, dose.end()) is not None and not _PROSE.search(text)


def is_lab(text: str, section: str) -> bool:
    """Is the line made of names with values?"""
    if section in _VALUE_SECTIONS:
        pairs = len(_PAIR.findall(text))
        return pairs > 2 or (pairs > 0 and len(text) <= 100 and not _PROSE.search(text))
    return len(_VALUE.findall(text)) > 1 and len(_ANALYTES.findall(text)) > 1


def begins_medication(text: str) -> bool:
    """Does a line begin with the name of a drug and its dose?"""
    dose = _DOSE.search(text, 0, 80)
    return dose is not None and _DRUG_FIRST.match(text) is not None
