"""How days, months, quarters and years are written: the patterns of ``dates.py``.

Groups: ``y`` year, ``yy`` its last two digits, ``q``, ``qw`` quarter, ``m`` month, ``mn`` its
name, ``d`` day, ``dw`` in words, ``h``, ``mi``, ``s``, ``half`` time of day. ``span`` is what is
linked, if not the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FIRST = "first second third fourth fifth sixth seventh eighth ninth tenth"
_TEENS = "eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth"
_ORDINALS = [*_FIRST.split(), *_TEENS.split(), "nineteenth", "twentieth"]
_ORDINALS += [f"twenty-{name}" for name in _ORDINALS[:9]] + ["thirtieth", "thirty-first"]
DAY_NUMBER = {name: number for number, name in enumerate(_ORDINALS, 1)}
QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "final": 4, "last": 4}
_M = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_Y = r"(?:19|2[0-2])\d\d"
_D = r"(?:0?[1-9]|[12]\d|3[01])"
_ABOVE_12 = r"(?:1[3-9]|2\d|3[01])"
_N = r"(?:0?[1-9]|1[0-2])"
_TH = r"(?:st|nd|rd|th)?"
_WORD = "(?:" + "|".join(sorted(_ORDINALS, key=len, reverse=True)).replace("-", r"[\s-]") + ")"
CLOCK = (
    r"(?=\d{1,2}(?::|\s*[ap]\.?m\b))(?P<h>[01]?\d|2[0-3])"
    r"(?::(?P<mi>[0-5]\d)(?::(?P<s>[0-5]\d)(?:\.\d{1,6})?)?)?(?:\s*(?P<half>[ap])\.?m\b)?"
)
_TIME = rf"(?:(?:t|,?\s+(?:at\s+|@\s*)?){CLOCK}z?)?"
_L = r"(?<![\w./-])"
_R = r"(?![\w%]|[./-]\d)"
_RELATIVE = r"(?:this|last|current|previous|the same|the current|the last)"
_JOIN = r"\s*(?:-|/|,|&|to|through|until|and|or|than|vs\.?|versus)\s*(?:in\s+|the\s+|since\s+)*"
_Q = rf"(?:q(?P<q>[1-4])|(?P<qw>{'|'.join(QUARTERS)}|[1-4](?:st|nd|rd|th))\s+quarter)"
_ANY_Q = re.sub(r"\?P<\w+>", "?:", _Q)
_IN_YEAR = r"(?:\s*,?\s*(?:of\s+|in\s+)?(?:the\s+year\s+)?|[/-])"

MONTH, YEAR, LEFT = _M, _Y, _L

# Of several that share their year: "July through September 2141", "3-5 May 2140", "Q1 and Q2 2140"
_SHARED = [
    (rf"\b{_Q}(?={_JOIN}(?:{_ANY_Q}{_JOIN})*{_ANY_Q}{_IN_YEAR}(?P<y>{_Y}){_R})", "quarter"),
    (
        rf"\b(?P<mn>{_M})\.?(?={_JOIN}(?:{_M}\.?{_JOIN})*{_M}\.?,?\s+(?:of\s+)?(?P<y>{_Y}){_R})",
        "ym",
    ),
    (
        rf"\b(?P<mn>{_M})\.?\s+(?P<d>{_D}){_TH}"
        rf"(?={_JOIN}(?:{_M}\.?\s+)?{_D}{_TH},?\s+(?P<y>{_Y}){_R})",
        "ymd",
    ),
    (
        rf"\b(?P<mn>{_M})\.?\s+{_D}{_TH}{_JOIN}(?P<span>(?P<d>{_D}){_TH},?\s+(?P<y>{_Y})){_R}",
        "ymd",
    ),
    (
        rf"{_L}(?P<d>{_D}){_TH}"
        rf"(?={_JOIN}{_D}{_TH}\s+(?:of\s+)?(?P<mn>{_M})\.?,?\s+(?P<y>{_Y}){_R})",
        "ymd",
    ),
    (
        rf"{_L}(?P<d>{_D}){_TH}\s+(?:of\s+)?(?P<mn>{_M})\.?"
        rf"(?={_JOIN}{_D}{_TH}\s+(?:of\s+)?{_M}\.?,?\s+(?P<y>{_Y}){_R})",
        "ymd",
    ),
]

# (pattern, what it gives)
_ONE = [
    (rf"\b{_Q}{_IN_YEAR}(?P<y>{_Y}){_R}", "quarter"),
    (rf"\b{_Q}{_IN_YEAR}'(?P<yy>\d\d){_R}", "quarter"),
    (rf"{_L}(?P<y>{_Y})(?:'s\s+|[\s,/-]*){_Q}\b", "quarter"),
    (rf"\b(?P<dw>{_WORD})\s+of\s+(?P<mn>{_M})\.?,?\s+(?:of\s+)?(?P<y>{_Y}){_R}", "ymd"),
    (rf"{_L}(?P<y>{_Y})[-/.](?P<m>{_N})[-/.](?P<d>{_D}){_TIME}{_R}", "ymd"),
    (rf"{_L}(?P<m>{_N})[-/.](?P<d>{_D})[-/.](?P<y>{_Y}){_TIME}{_R}", "ymd"),
    (
        rf"\b(?P<mn>{_M})\.?\s+(?:the\s+)?(?P<d>{_D}){_TH},?"
        rf"\s+(?:of\s+|in\s+)?(?P<y>{_Y}){_TIME}{_R}",
        "ymd",
    ),
    (
        rf"{_L}(?P<d>{_D}){_TH}\s+(?:of\s+)?(?P<mn>{_M})\.?,?"
        rf"\s+(?:of\s+)?(?P<y>{_Y}){_TIME}{_R}",
        "ymd",
    ),
    (rf"{_L}(?P<d>{_D})[-/.](?P<mn>{_M})[-/.](?P<y>{_Y}){_TIME}{_R}", "ymd"),
    (rf"{_L}(?P<d>{_ABOVE_12})[-/.](?P<m>{_N})[-/.](?P<y>{_Y}){_TIME}{_R}", "ymd"),
    (rf"{_L}(?P<m>{_N})/(?P<d>{_D})/(?P<yy>\d\d){_R}", "ymd"),
    (rf"{_L}(?P<d>{_ABOVE_12})/(?P<m>{_N})/(?P<yy>\d\d){_R}", "ymd"),
    (rf"\b(?P<mn>{_M})\.?\s+(?:the\s+)?(?P<d>{_D}){_TH},?\s+'(?P<yy>\d\d){_R}", "ymd"),
    (rf"{_L}(?P<d>{_D}){_TH}\s+(?:of\s+)?(?P<mn>{_M})\.?,?\s+'(?P<yy>\d\d){_R}", "ymd"),
    (rf"\b(?P<mn>{_M})\.?,?\s+'(?P<yy>\d\d){_R}", "ym"),
    (rf"{_L}(?P<y>{_Y})[-/](?P<m>0[1-9]|1[0-2]){_R}", "ym"),
    (rf"{_L}(?P<m>{_N})[-/](?P<y>{_Y}){_R}", "ym"),
    (rf"\b(?P<mn>{_M})\.?,?\s+(?:of\s+(?:the\s+year\s+)?|in\s+)?(?P<y>{_Y}){_R}", "ym"),
    (rf"{_L}(?P<m>{_N})/(?P<d>{_D})(?=/(?:this|last) year)", "md"),
    (rf"{_L}(?P<m>{_N})(?=/(?:this|last) year)", "month"),
    (rf"(?<=(?:this|last) month/)(?P<d>{_D}){_R}", "day"),
    (rf"\b(?P<mn>{_M})\.?\s+(?:the\s+)?(?P<d>{_D}){_TH}{_R}", "md"),
    (rf"{_L}(?P<d>{_D}){_TH}\s+(?:of\s+)?(?P<mn>{_M})\b{_R}", "md"),
    (rf"\b(?P<dw>{_WORD})\s+of\s+(?P<mn>{_M})\b{_R}", "md"),
    (rf"{_L}(?P<m>0[1-9]|1[0-2])/(?P<d>0[1-9]|[12]\d|3[01]){_R}", "md"),
    (
        rf"\b(?:on|since|from|before|after|until|by|till|between)\s+(?:the\s+)?"
        rf"(?P<span>(?P<m>{_N})/(?P<d>{_D})){_R}",
        "md",
    ),
    (
        rf"\b{_N}/{_D}\s+(?:and|to|through)\s+(?P<span>(?P<m>{_N})/(?P<d>{_D})){_R}",
        "md",
    ),
    (rf"\b(?P<mn>{_M})\.?(?=,?\s+(?:of\s+|in\s+)?{_RELATIVE}\s+year\b)", "month"),
    (
        rf"\b{_RELATIVE}\s+year(?:'s)?,?\s+(?:in\s+|since\s+|(?!may\b))(?P<span>(?P<mn>{_M}))\b",
        "month",
    ),
    (
        rf"\b(?:in|since|during|until|till|before|after|throughout|last|this|of|between|from|by)"
        rf"\s+(?:(?:early|late|mid)[\s-])?"
        rf"(?:the\s+month\s+of\s+)?(?P<span>(?P<mn>{_M}))\b(?!['-])",
        "mon",
    ),
    (
        rf"\b(?:between|from)\s+{_M}\s+(?:and|to|through)\s+(?:(?:early|late|mid)[\s-])?"
        rf"(?P<span>(?P<mn>{_M}))\b(?!['-])",
        "mon",
    ),
    (
        rf"{_L}(?P<d>{_D})(?:st|nd|rd|th)\b(?=\s+(?:day\s+)?(?:of\s+|in\s+)?{_RELATIVE}\s+month\b)",
        "day",
    ),
    (
        rf"\b{_RELATIVE}\s+month,?\s+on\s+(?:the\s+)?(?P<span>(?P<d>{_D}))(?:st|nd|rd|th)\b",
        "day",
    ),
]

# What a text must have for a pattern with this group; looked for once a text.
_NEEDED = {
    "mn": re.compile(rf"\b{_M}\b"),
    "y": re.compile(_Y),
    "yy": re.compile(r"['/]\d\d"),
    "q": re.compile(r"\bq[1-4]|\bquarter\b"),
    "d": re.compile(r"\d"),
    "m": re.compile(r"\d[-/.]"),
    "dw": re.compile(rf"\b{_WORD}\s+of\b"),
}
# The most telling first: a later one takes only what is left.
_PATTERNS = [
    (compiled, kind, frozenset(compiled.groupindex) & frozenset(_NEEDED))
    for compiled, kind in ((re.compile(pattern), kind) for pattern, kind in [*_SHARED, *_ONE])
]


def dated(folded: str) -> Iterator[tuple[re.Match[str], str]]:
    """What may be dates in folded text, each with what it would give."""
    here = frozenset(name for name, needed in _NEEDED.items() if needed.search(folded))
    if here:
        for pattern, kind, needed in _PATTERNS:
            if needed <= here:
                yield from ((match, kind) for match in pattern.finditer(folded))
