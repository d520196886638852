"""Numbers as they are written: digits, words, and both: "1.5 million", "two and a half"."""

from __future__ import annotations

import re

_NAMES = "one two three four five six seven eight nine"
_ONES = {word: number for number, word in enumerate(_NAMES.split(), 1)}
_NAMES = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TEENS = {word: number for number, word in enumerate(_NAMES.split(), 10)}
_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * number for number, word in enumerate(_NAMES.split(), 2)}
_ALL = {**_ONES, **_TEENS, **_TENS}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_PARTS = {"half": 0.5, "quarter": 0.25}

_ONE, _TEN, _TENTH = ("|".join(names) for names in (_ONES, _TEENS, _TENS))
_SCALE = rf"(?:{'|'.join(_SCALES)})"
_TENTHS = rf"(?:{_TENTH})(?:[\s-](?:{_ONE}))?"
_SMALL = rf"(?:{_TENTHS}|{_TEN}|{_ONE})"
_REST = rf"(?:(?:\s+and)?\s+{_SMALL}\b(?!\s+hundred\b))?"
_FRACTION = r"(?:\s+and\s+an?\s+(?:half|quarter)\b)"
_POINT = rf"(?:\s+point(?:\s+(?:zero|oh|{_ONE}))+)"

# 1,000; 20 000; 3.5; 3,5; .5
DIGITS = (
    r"(?:\d{1,3}(?:,\d{3}){1,4}(?![\d,])(?:\.\d{1,9})?|\d{1,3}(?:\s000){1,3}(?!\d)"
    r"|\d{1,3},\d{1,2}(?![\d,])|\d{1,15}(?:\.\d{1,15})?|(?<!\w)\.\d{1,9})"
)
# "One forty" is 140; "two seventy-year-old women" are two
_SPOKEN = rf"(?:(?:one|two|three)\s+{_TENTHS}\b(?![\s-]+(?:years?|yrs?)\b))"
_UNDER = rf"(?:(?:(?:{_SMALL}|{DIGITS}|an?)\s+)?hundred\b{_REST}|{_SPOKEN}|{_SMALL})"
# What has words in it; it begins at the beginning of a word.
WORDS = (
    rf"(?:half\s+an?\s+{_SCALE}\b|(?:{_UNDER}|{DIGITS}|an?){_FRACTION}?\s+(?:thousand|[mb]illion)\b"
    rf"(?:(?:\s+and)?\s+{_UNDER}\b(?!\s+(?:thousand|[mb]illion)\b))?"
    rf"|(?:{_SMALL}|{DIGITS}|an?){_FRACTION}?\s+dozen\b"
    rf"|{_UNDER}(?:{_POINT}|{_FRACTION})?|{DIGITS}{_FRACTION}|dozen)"
)
# A word that every one of them has, for a quick look.
SOME = rf"{_ONE}|{_TEN}|{_TENTH}|{_SCALE}|half|quarter"
_TOKEN = re.compile(rf"{DIGITS}|[a-z]+")


def number(text: str) -> int | float:
    """The value of what DIGITS or WORDS found: "a hundred and twenty" is 120, "38.0" stays so."""
    if not any(c.isalpha() for c in text):
        return _digits(text)
    total: float = 0
    group: float = 0
    decimals = ""
    for token in _TOKEN.findall(text):
        if token == "point":
            decimals = "."
        elif decimals:
            decimals += str(_ONES.get(token, 0))
        elif token in _PARTS:
            group += _PARTS[token]
        elif token == "hundred":
            group = (group or 1) * 100
        elif token in _SCALES:
            total += (group or 1) * _SCALES[token]
            group = 0
        elif token in _ALL:
            spoken = token in _TENS and 0 < group < 10
            group = group * 100 + _ALL[token] if spoken else group + _ALL[token]
        elif token[-1].isdigit():
            group += _digits(token)
    return whole(total + group + float(f"0{decimals}" if decimals else 0))


def whole(value: int | float) -> int | float:
    """Without ".0"."""
    return int(value) if value == int(value) else value


def _digits(text: str) -> int | float:
    plain = re.sub(r"\s", "", text)
    if re.fullmatch(r"\d+,\d{1,2}", plain):
        plain = plain.replace(",", ".")
    plain = plain.replace(",", "")
    return float("0" + plain) if "." in plain else int(plain)
