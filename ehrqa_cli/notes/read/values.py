"""Values as clinical text writes them: doses, frequencies, dates, durations, measurements."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from ehrqa_cli.notes.read.question import AnswerKind

_WORDS = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "once": 1,
    "twice": 2,
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
}
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
SPELT = r"(?:" + "|".join(k for k in _WORDS if k not in ("first", "second")) + r")"
_ANY = rf"(?:{NUMBER}|{SPELT})"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_UNIT = (
    r"(?:mg/kg|mg|milligrams?|mcg|micrograms?|µg|ug|g|grams?|gm|kg|units?|u|iu|meq|mmol|ml|cc|l|"
    r"liters?|puffs?|tablets?|tabs?|capsules?|drops?|patch(?:es)?|sprays?|million units)"
)
_PERIOD = r"(?:minutes?|mins?|hours?|hrs?|h|days?|d|weeks?|wks?|months?|mos?|years?|yrs?|nights?)"
_FREQ = (
    r"(?:once|twice|three times|four times|five times|\d+ times) (?:a|per|each|every)?\s?"
    r"(?:day|daily|week|weekly|night|month)"
    r"|(?:daily|nightly|weekly|monthly|every other day|q\.?\s?\d+(?:-\d+)?\s?h(?:rs?|ours?)?"
    r"|q\.?d\b\.?|"
    r"b\.?i\.?d\b\.?|t\.?i\.?d\b\.?|q\.?i\.?d\b\.?|q\.?h\.?s\b\.?|qod|qam|qpm|"
    r"(?:at|every|each) (?:bedtime|night|morning|evening)|"
    r"every (?:\d+|two|three|four|six|eight|twelve)?\s?(?:hours?|days?|weeks?|months?)|"
    r"(?:before|after|with) (?:each |every )?(?:meals?|dialysis)|"
    r"\w+ (?:times|a) (?:a|per|each) (?:day|week|night|month)|as needed|prn)"
)
_DATE = (
    rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}|\d{{1,2}}/\d{{1,2}}(?![\d/%])"
    rf"|\d{{1,2}}/\d{{4}}"
    rf"|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?|{_MONTH}\s+(?:of\s+)?\d{{4}}"
    rf"|(?:in|until|since|on|due in)\s+{_MONTH}(?!\w)|\b(?:19|20|21|22)\d\d\b"
)
_RELATIVE = (
    rf"(?:in|after|within|at|for)\s+(?:about |approximately |another )?{_ANY}(?:\s?(?:-"
    rf"|to)\s?{_ANY})?"
    rf"[\s-]?{_PERIOD}(?!\w)|{_ANY}[\s-]?{_PERIOD}\s(?:ago|later|earlier|before|after)"
    r"|(?:POD|postoperative day|hospital day|day|HD)\s?#?\d+|\b(?:tomorrow|today|yesterday|monday|"
    r"tuesday|wednesday|thursday|friday|saturday|sunday)\b"
)
_DOSE = (
    rf"{_ANY}(?:\s?(?:-|to|/)\s?{NUMBER})*\s?{_UNIT}(?![\w])"
    r"(?:(?:/|\sper\s|\san?\s)(?:h(?:r|our)?|min(?:ute)?|day|kg)\b)?"
)
_MEASURE = (
    rf"{NUMBER}(?:\s?(?:x|by)\s?{NUMBER})+(?:\s?(?:cm|mm))?|{NUMBER}\s?/\s?{NUMBER}|"
    rf"{NUMBER}(?:\s?(?:-|to)\s?{NUMBER})?\s?(?:%|percent|[a-z]{{1,5}}(?:/[a-z]{{1,4}})?\b)?"
)
_PATTERNS: dict[AnswerKind, str] = {
    AnswerKind.DOSE: _DOSE,
    AnswerKind.FREQUENCY: _FREQ,
    AnswerKind.DATE: rf"{_DATE}|{_RELATIVE}",
    AnswerKind.DURATION: rf"(?:{_ANY}|a|an|several|few)(?:\s?(?:-"
    rf"|to)\s?{_ANY})?[\s-]?(?:more )?{_PERIOD}(?!\w)",
    AnswerKind.COUNT: rf"{_ANY}(?!\w)|(?<=x)\d+\b",
    AnswerKind.NUMBER: _MEASURE,
    AnswerKind.PERSON: r"Dr\.?\s(?:\w\.\s)?[A-Z][\w'-]+(?:\s[A-Z][\w'-]+)?"
    r"|\b(?:his|her|the patient's)\s"
    r"(?:wife|husband|mother|father|son|daughter|sister|brother|aunt|uncle|\w+mother|"
    r"\w+father|partner|niece|nephew|friend|neighbou?r|guardian)\b|\b(?:daughter|son|"
    r"mother|father|sister|brother|aunt|uncle|wife|husband)\b",
}
_REASON = re.compile(
    r"\b(?:because(?: of)?|due to|owing to|secondary to|given|as a result of|attributed to"
    r"|ascribed to|"
    r"put down to|felt to be (?:from|due to|secondary to)?|thought (?:to be|responsible)|likely|"
    r"since|on account of|in view of|so as|so that|caused by|triggered by|from|for|as|after)\s+",
    re.I,
)
_REASON_CUE = re.compile(
    r"\b(?:because|due to|owing to|secondary to|given (?!\d)|attributed|ascribed|put down to"
    r"|felt to be|"
    r"thought (?:to|responsible)|since|on account of|in view of|so as|caused?|triggered?|2/2"
    r"|in the "
    r"setting of|trigger|responsible|reason|source|precipitated|made (?:him|her)|caused|likely)\b",
    re.I,
)
_PLACE_CUE = re.compile(
    r"\b(?:home|facility|rehab\w*|nursing|hospice|floor|unit|hospital|clinic|left|right|upper"
    r"|lower|"
    r"lobe|artery|branch|level|segment|mid|distal|proximal|[LTC]\d)\b",
    re.I,
)
_NUMBERS = re.compile(rf"(?<![\w.,/]){NUMBER}(?!\d)|(?<=[\sx(<>=/-]){NUMBER}(?!\d)", re.I)


@lru_cache(maxsize=16)
def _compiled(kind: AnswerKind) -> re.Pattern[str]:
    flags = 0 if kind is AnswerKind.PERSON else re.I
    return re.compile(rf"(?<![\w.])(?:{_PATTERNS[kind]})", flags)


def spans_of(kind: AnswerKind, text: str) -> list[tuple[int, int]]:
    """Where ``text`` has a value of the sort ``kind``; none for sorts that are not values."""
    if kind in (AnswerKind.COMPARISON, AnswerKind.ARITHMETIC):
        kind = AnswerKind.NUMBER
    if kind not in _PATTERNS:
        return []
    return [match.span() for match in _compiled(kind).finditer(text) if match.group().strip()]


def fits(kind: AnswerKind, text: str) -> bool:
    """Could an answer of the sort ``kind`` stand in ``text``?"""
    if kind is AnswerKind.REASON:
        return _REASON_CUE.search(text) is not None
    if kind is AnswerKind.PLACE:
        return _PLACE_CUE.search(text) is not None
    if kind in (AnswerKind.YES_NO, AnswerKind.NAME, AnswerKind.OTHER):
        return True
    return bool(spans_of(kind, text))


def reason_clause(text: str) -> str | None:
    """What follows the first word of reason in ``text``; None where there is none."""
    cue = _REASON_CUE.search(text)
    if cue is None:
        return None
    match = _REASON.match(text, cue.start()) or _REASON.search(text, cue.start())
    rest = text[match.end() if match else cue.start() :]
    return rest.strip(" .;,") or None


def numbers(text: str) -> list[float]:
    """The numbers of ``text`` in their order, those in words too; "1,600" is one number."""
    found = [(m.start(), float(m.group().replace(",", ""))) for m in _NUMBERS.finditer(text)]
    found += [
        (m.start(), float(_WORDS[m.group().lower()]))
        for m in re.finditer(rf"\b(?:{'|'.join(_WORDS)})\b", text, re.I)
    ]
    return [value for _, value in sorted(found)]


def spelt(word: str) -> float | None:
    """The number that ``word``, in lower case, spells; None if it is none."""
    number = _WORDS.get(word)
    return None if number is None else float(number)


def full_dates(text: str) -> list[date]:
    """The dates with a year in ``text`` that exist, in their order."""
    found: list[date] = []
    for m in re.finditer(r"(\d{4})-(\d\d?)-(\d\d?)|(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b", text):
        a = m.groups()
        year, month, day = (a[0], a[1], a[2]) if a[0] else (a[5], a[3], a[4])
        try:
            found.append(date(int(year) + (2000 if len(year) == 2 else 0), int(month), int(day)))
        except ValueError:
            continue
    return found
