"""Reading a follow-up: "and the time before that?", "the same for 10014729", "and potassium?".

A text is a follow-up only if a closed set of patterns accounts for every word of it but one
value. Whatever else is said makes it a question of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.engine.chat import phrases
from ehrqa_cli.engine.chat.phrases import AFTER, BEFORE, Part, Visit
from ehrqa_cli.text2sql.linking.tokens import fold

NONE, AND, ABOUT = "", "and", "about"

_AND = re.compile(
    r"\W*(?:(?:and|but|ok|okay|so|then|now|also|well|or|alright|right|great|thanks|thank you|hm+"
    r"|yes|no)\b[\s,.:;!-]*)+"
)
_ABOUT = re.compile(
    r"\W*(?:(?:what|how)\s+about|what\s+of|what\s+if\s+(?:it\s+is|it's|we\s+take)"
    r"|(?:(?:can|could|would)\s+you\s+)?(?:please\s+)?(?:(?:do|ask|try|repeat|run|show|give|tell|get)\s+)?"
    r"(?:me\s+)?(?:the\s+)?same(?:\s+(?:thing|question|again|one|query|value|values|numbers?))?"
    r"(?:\s+but)?"
    r"|(?:(?:do|try|repeat|run)\s+)(?:it|that|this)(?:\s+again)?"
    r"|ditto|likewise|again|instead"
    r"|(?:what|how|when)(?:'s|\s+(?:is|was|were|are|would))\s+(?:it|that|this|they|those)"
    r"(?:\s+be)?"
    r"|and)\b[\s,.:;!-]*"
)
_WHAT = re.compile(r"(?:(?:what|which)(?:'s|\s+(?:is|was|were|are))|when\s+was)\b\s*")
_PRONOUN = re.compile(
    r"\b(?:he|she|him|her|hers|his|them|their|the\s+same\s+patient|(?:this|that|the)\s+patient)\b"
)
_FILLERS = re.compile(
    r"\b(?:in\s+total|altogether|in\s+all|so\s+far|the|a|an|of|for|to|on|in|at|with|by|about"
    r"|among|please|instead|too|as\s+well|also|only|just"
    r"|now|then|patients?|people|those|ones|one|only|aged|value|values|level|levels|test"
    r"|tests|result|results|reading|lab|drug|measurement|number|me|again|there|it|that|this)\b|'s?\b"
)
_KEPT_INSIDE = re.compile(r"\w(?:.*\w)?")
_SENTENCE = re.compile(
    r"\b(?:what|which|when|where|why|who|whose|how|is|are|was|were|did|does|do|has|have|had"
    r"|can|could|would|should|will|any|compared?|prescribed|given|diagnosed|admitted)\b"
    r"|^\W*(?:list|show|count|give|tell|find|calculate|compute|explain|name|get|return)\b"
)
# What an order word may be of without saying anything new: "the second time", "last measured".
_ORDERED = re.compile(
    r"\x05+\s+(?:times?|occasions?|prescribed|measured|given|recorded|taken|received|tested|done"
    r"|performed|admitted|observed)\b"
)
_PATIENT = re.compile(
    r"(?:\b(?:for|of|in|with|to|on|about|and)\s+)?(?:\b(?:the\s+)?(?:patient|pt|subject)s?\s*"
    r"(?:id\s*)?#?)?\s*$"
)
_AGED = re.compile(r"(?:\b(?:in|of|aged?)\s+)?(?:\b(?:their|the)\s+)?$")
_UNIT = r"(?P<unit>year|month|day|visit|stay|admission|encounter|hospitali[sz]ation)"
_THING = (
    r"(?P<thing>time|one|value|measurement|result|reading|test|dose|occasion|prescription|episode)"
)
_AGO = r"(?:\s+(?:that|this|it|then|the\s+last(?:\s+one)?))?"
_PRIOR = r"(?:right\s+|just\s+|immediately\s+)?(?:before|prior(?:\s+to)?|preceding|earlier\s+than)"
_LATER = r"(?:right\s+|just\s+|immediately\s+)?(?:after|following)"
_AT = r"\b(?:in\s+|on\s+|during\s+)?"
_STEPS = [
    (re.compile(rf"{_AT}the\s+{_UNIT}\s+{_PRIOR}{_AGO}"), BEFORE),
    (re.compile(rf"{_AT}the\s+{_UNIT}\s+{_LATER}{_AGO}"), AFTER),
    (re.compile(rf"{_AT}the\s+(?:previous|prior|preceding)\s+{_UNIT}"), BEFORE),
    (re.compile(rf"{_AT}the\s+(?:next|following|subsequent)\s+{_UNIT}"), AFTER),
    (re.compile(rf"\bthe\s+{_THING}\s+{_PRIOR}{_AGO}|\b{_PRIOR}\s+(?:that|this|then)\b"), BEFORE),
    (re.compile(rf"\bthe\s+{_THING}\s+{_LATER}{_AGO}|\b{_LATER}\s+(?:that|this)\b"), AFTER),
    (re.compile(rf"\b(?:the\s+)?(?:previous|prior|preceding)(?:\s+{_THING})?\b"), BEFORE),
    (re.compile(rf"\bthe\s+(?:next|following|subsequent)(?:\s+{_THING})?\b"), AFTER),
]  # fmt: skip
_HEADS = [
    ("count", re.compile(
        r"(?:how\s+many(?:\s+times)?|how\s+often)(?:\s+(?:was|were|are|is|did|has)\s+"
        r"(?:it|that|there|they)(?:\s+been)?)?\b|\bthe\s+(?:count|number\s+of\s+them)\b")),
    ("when", re.compile(
        r"(?:when|at\s+what\s+time|what\s+time|on\s+what\s+date)"
        r"(?:\s+(?:was|is|did|exactly)\s*(?:it|that|this)?(?:\s+(?:happen|measured|taken|done"
        r"|given|prescribed|recorded|drawn|tested|performed))?)?\b")),
]  # fmt: skip
_STAYING = re.compile(
    r"\b(?:on|in|during)\s+(?:the|her|his|their)\s+(?:[a-z]+)(?:\s+to\s+last)?(?:\s+one)?\W*$"
)
_TOP = re.compile(r"\b(?:the\s+)?top\s+\x03+|\b(?:the\s+)?\x03+\s+most\s+\w+")


@dataclass(frozen=True)
class Follow:
    """What a follow-up says; empty fields say nothing. Texts are as typed.

    ``step`` is one before or after, of ``unit`` ("" where it does not say of what). ``staying``:
    the order word may be that of a stay ("on the last one"). ``asking``: it begins with "what is",
    so that it may as well be whole; ``sentence``: it has a verb that makes it so.
    """

    lead: str = NONE
    patient: str = ""
    pronoun: bool = False
    time: str = ""
    bare_date: bool = False
    visit: Visit | None = None
    order: str = ""
    staying: bool = False
    step: int = 0
    unit: str = ""
    head: str = ""
    female: bool | None = None
    age: str = ""
    top: str = ""
    attribute: str = ""
    listed: str = ""
    value: str = ""
    asking: bool = False
    sentence: bool = False

    @property
    def said(self) -> int:
        """How many different things it says."""
        texts = (self.patient, self.time, self.order, self.head, self.age, self.top)
        words = (self.attribute, self.listed, self.value)
        others = (self.visit, self.step, self.female is not None)
        return sum(map(bool, (*texts, *words, *others)))


class _Reader:
    """The words of one follow-up that are not accounted for yet."""

    def __init__(self, typed: str, linked: LinkedQuestion) -> None:
        self.typed, self.linked = typed, linked
        self.folded = fold(typed)
        self.left = self.folded

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Account for the first match."""
        match = pattern.search(self.left)
        if match is not None:
            self.cover(match.start(), match.end())
        return match

    def begin(self, pattern: re.Pattern[str]) -> bool:
        """Account for a match at the beginning of what is left."""
        start = len(self.left) - len(self.left.lstrip(" \x05"))
        match = pattern.match(self.left, start)
        if match is None or match.end() == start:
            return False
        self.cover(start, match.end())
        return True

    def cover(self, start: int, end: int) -> None:
        """Account for ``[start, end)``."""
        self.left = phrases.cover(self.left, [Part(start, end, "")])


def read(typed: str, linked: LinkedQuestion) -> Follow:
    """``typed`` (cleaned, linked on its own) as a follow-up."""
    text = _Reader(typed, linked)
    lead = AND if text.begin(_AND) else NONE
    said: dict[str, object] = {}
    if head := next((name for name, p in _HEADS if text.begin(p)), ""):
        said["head"] = head
    elif text.begin(_ABOUT):
        lead = ABOUT
    said["patient"] = _patient(text)
    _links(text, said)
    for pattern, step in _STEPS:
        if match := text.take(pattern):
            groups = match.groupdict()
            said.update(step=step, unit=groups.get("unit") or "")
            break
    _parts(text, said)
    said["pronoun"] = text.take(_PRONOUN) is not None
    said["staying"] = _STAYING.search(text.folded) is not None
    if lead != NONE or (not said["patient"] and (said.get("step") or said.get("order"))):
        said["asking"] = text.begin(_WHAT)
    rest = text.left
    sentence = _SENTENCE.search(rest) is not None
    return Follow(lead=lead, value=_value(text, rest), sentence=sentence, **said)  # type: ignore[arg-type]


def _patient(text: _Reader) -> str:
    """The one id that is named, known here or not; "" for none or several."""
    spans = [
        (link.start, link.end) for link in text.linked.links
        if "pat" in link.types and link.how != "option"
    ]  # fmt: skip
    for kind, name in text.linked.unknown:
        if kind == "pat" and name.isdigit() and (at := text.folded.find(name)) >= 0:
            spans.append((at, at + len(name)))
    if len(spans) != 1:
        return ""
    start, end = spans[0]
    before = _PATIENT.search(text.folded[:start])
    text.cover(before.start() if before else start, end)
    if text.folded[end : end + 2] == "'s":
        text.cover(end, end + 2)
    return text.typed[start:end].strip("# ")


def _links(text: _Reader, said: dict[str, object]) -> None:
    """The number of a top list, and an age group."""
    masked = text.left
    for link in text.linked.links:
        if link.types == ("num",) and link.how != "option":
            masked = masked[: link.start] + "\x03" * (link.end - link.start) + masked[link.end :]
    if match := _TOP.search(masked):
        number = re.search("\x03+", match.group())
        assert number is not None
        start = match.start() + number.start()
        said["top"] = text.typed[start : start + len(number.group())]
        text.cover(match.start(), match.end())
    for link in text.linked.links:
        if link.types == ("agegrp",):
            said["age"] = text.typed[link.start : link.end]
            before = _AGED.search(text.folded[: link.start])
            text.cover(before.start() if before else link.start, link.end)


def _parts(text: _Reader, said: dict[str, object]) -> None:
    """Times, visits, order words and the like; of several of a kind the text stays unread."""
    wanted = [x for x in text.linked.links if set(x.types) & (phrases.DATES | {"dur", "num"})]
    open_links = [x for x in wanted if phrases.uncovered(text.left[x.start : x.end])]
    parts = phrases.find(text.left, open_links)
    for name, found in (("time", parts.times), ("order", parts.orders),
                        ("attribute", parts.attributes), ("listed", parts.lists)):  # fmt: skip
        if len(found) == 1:
            part = found[0]
            said[name] = text.typed[part.start : part.end]
            text.cover(part.start, part.end)
            if name == "order":
                text.take(_ORDERED)
            if name == "time":
                said["bare_date"] = any(
                    (x.start, x.end) == (part.start, part.end) for x in open_links
                )
    if len(parts.visits) == 1:
        said["visit"] = parts.visits[0]
        text.cover(parts.visits[0].start, parts.visits[0].end)
    if len(parts.sexes) == 1:
        part = parts.sexes[0]
        said["female"] = re.match(r"f|w", part.text) is not None
        text.cover(part.start, part.end)


def _value(text: _Reader, rest: str) -> str:
    """What is left but for words that say nothing; inside it they stay: "count of red cells"."""
    bare = _FILLERS.sub(lambda m: "\x05" * len(m.group()), rest)
    found = _KEPT_INSIDE.search(re.sub(r"[^\w]", " ", bare))
    if found is None:
        return ""
    start, end = found.span()
    # Brackets and signs belong to a value ("calcium, total", "sodium chloride 0.9%").
    while end < len(bare) and bare[end] in "%)]+":
        end += 1
    while start and bare[start - 1] in "([#":
        start -= 1
    return text.typed[start:end]
