"""The parts of a question that a follow-up can change, as spans of its text.

Times, visits and order words have no link of their own: they are found here, in the wording of
EHRSQL's templates and of the text-to-SQL model's training (docs/logical-form.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.types import Link

DATES = frozenset({"year", "ym", "ymd", "md", "mon", "stamp", "quarter"})
NOT_VALUES = DATES | {"pat", "study", "adm", "stay", "num", "dur", "agegrp", "dow"}

# Links stand in the masked text as runs of these, so that a pattern can speak of them.
_DATE, _SPAN, _NUMBER, _VALUE, _TAKEN = "\x01", "\x02", "\x03", "\x04", "\x05"
_D, _U, _N = rf"{_DATE}+", rf"{_SPAN}+", rf"(?:{_NUMBER}+|\d{{1,2}})"

_PREPOSITION = (
    r"(?:\b(?:in|on|during|throughout|since|before|after|until|till|within|over|at|from|of|by|for"
    r"|back in)\s+)?(?:the\s+)?"
)
_RELATIVE = r"(?:this|last|previous|past|current|preceding|same|present)\s+(?:year|month|week)\b"
_TIME = re.compile(
    rf"{_PREPOSITION}(?:"
    rf"(?:{_D}|{_N}(?:/{_N})?)/{_RELATIVE}"
    rf"|{_RELATIVE}(?:/{_N}|\s+(?:in|on)\s+(?:the\s+)?{_D}|,?\s+{_D})?"
    rf"|(?:year\s+|month\s+)?(?:of\s+)?{_D}(?:\s*(?:and|to|through|-)\s*{_D})?"
    rf"(?:,?\s+(?:of\s+|in\s+)?{_RELATIVE})?"
    rf"|\b(?:last|past|preceding|previous)\s+{_U}"
    rf"|{_U}\s+ago\b"
    rf"|\b(?:today|yesterday)\b"
    rf")"
)
_ORDINAL = (
    r"second[ -]to[ -](?:the[ -])?last|next to last|penultimate|last|latest|most recent|final|first"
    r"|second|third|current|ongoing"
)
_STAY = (
    r"(?:(?P<{0}>hospital|icu|intensive care(?: unit)?)\s+)?"
    r"(?:visit|stay|encounter|admission|hospitali[sz]ation|icu)\b"
)
_VISIT = re.compile(
    r"(?:\b(?:on|during|in|of|for|at|from|throughout|within)\s+)?"
    r"(?:(?:her|his|their|the|this|that|my|patient's|its)\s+)?"
    rf"\b(?:(?P<order>{_ORDINAL})\s+{_STAY.format('where')}"
    rf"|this\s+{_STAY.format('here')})"
)
_ORDER = re.compile(
    r"\b(?:second[ -]to[ -](?:the[ -])?last|next to last|penultimate|most recent(?:ly)?|latest|last"
    r"|final|first|earliest|initial|second|third|highest|lowest|maximum|minimum|max|min|peak"
    r"|largest|smallest|average|mean|median)\b"
)
_SEX = re.compile(r"\b(?P<f>females?|women|woman)\b|\b(?P<m>males?|men|man)\b")
_ATTRIBUTE = re.compile(
    r"\b(?:gender|sex|age|marital status|insurance(?: plan| type)?|language|date of birth"
    r"|birth ?date|birthday|date of death)\b"
)
_LIST = re.compile(
    r"\b(?:diagnos[ei]s|procedures?|drugs|medications|meds|prescriptions|lab tests|labs"
    r"|microbiology tests|organisms|vital signs)\b"
)

BEFORE, AFTER = -1, 1
_STEPS = {
    ("last", BEFORE): "second to last",
    ("second to last", AFTER): "last",
    ("first", AFTER): "second",
    ("second", BEFORE): "first",
    ("second", AFTER): "third",
    ("third", BEFORE): "second",
}
_SAME_ORDER = {
    "latest": "last", "most recent": "last", "most recently": "last", "final": "last",
    "earliest": "first", "initial": "first", "penultimate": "second to last",
    "next to last": "second to last", "second to the last": "second to last",
    "current": "last", "ongoing": "last",
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A piece ``[start, end)`` of a folded question."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Visit(Part):
    """A hospital or ICU stay by its order; ``order`` lies at ``[order_start, order_end)``."""

    order: str
    order_start: int
    order_end: int
    where: str


@dataclass(frozen=True)
class Parts:
    """What was found in one question."""

    times: tuple[Part, ...]
    visits: tuple[Visit, ...]
    orders: tuple[Part, ...]
    sexes: tuple[Part, ...]
    attributes: tuple[Part, ...]
    lists: tuple[Part, ...]

    def spans(self) -> Iterator[Part]:
        """All of them."""
        for found in (self.times, self.visits, self.orders, self.sexes, self.attributes):
            yield from found
        yield from self.lists


def find(folded: str, links: Sequence[Link]) -> Parts:
    """The parts of a folded question with these links, none overlapping."""
    text = _masked(folded, links)
    times = tuple(_trimmed(m.start(), m.end(), folded) for m in _TIME.finditer(text))
    text = cover(text, times)
    visits = tuple(_visit(m, folded) for m in _VISIT.finditer(text))
    text = cover(text, visits)
    orders, text = _all(_ORDER, text)
    sexes, text = _all(_SEX, text)
    attributes, text = _all(_ATTRIBUTE, text)
    lists, _ = _all(_LIST, text)
    return Parts(times, visits, orders, sexes, attributes, lists)


def cover(text: str, parts: Iterable[Part]) -> str:
    """``text`` with these spans made unreadable, of the same length."""
    for part in parts:
        text = text[: part.start] + _TAKEN * (part.end - part.start) + text[part.end :]
    return text


def uncovered(text: str) -> str:
    """The words that no span covers."""
    return " ".join(text.replace(_TAKEN, " ").split())


def stepped(order: str, step: int) -> str | None:
    """The order word one before or after this one; None where no question can say it."""
    plain = " ".join(order.replace("-", " ").split())
    return _STEPS.get((_SAME_ORDER.get(plain, plain), step))


def sex_like(word: str, female: bool) -> str:
    """The other word of the same kind: ``men`` for ``women``, ``females`` for ``males``."""
    if word in ("men", "women"):
        return "women" if female else "men"
    if word in ("man", "woman"):
        return "woman" if female else "man"
    return ("female" if female else "male") + ("s" if word.endswith("s") else "")


def _masked(folded: str, links: Sequence[Link]) -> str:
    text = folded
    for link in links:
        if link.how == "option":
            continue
        kinds = set(link.types)
        mark = (
            _DATE if kinds & DATES else _SPAN if "dur" in kinds else _NUMBER
            if kinds == {"num"} else _VALUE
        )  # fmt: skip
        text = text[: link.start] + mark * (link.end - link.start) + text[link.end :]
    return text


def _trimmed(start: int, end: int, folded: str) -> Part:
    while start < end and folded[start].isspace():
        start += 1
    while end > start and folded[end - 1].isspace():
        end -= 1
    return Part(start, end, folded[start:end])


def _visit(match: re.Match[str], folded: str) -> Visit:
    where = match["where"] or match["here"] or ""
    if not where and match.group().endswith("icu"):
        where = "icu"
    if where.startswith("intensive"):
        where = "icu"
    start, end = match.span()
    order_start, order_end = match.span("order")
    order = match["order"] or ""
    return Visit(start, end, folded[start:end], order, order_start, order_end, where)


def _all(pattern: re.Pattern[str], text: str) -> tuple[tuple[Part, ...], str]:
    found = tuple(Part(m.start(), m.end(), m.group()) for m in pattern.finditer(text))
    return found, cover(text, found)


def is_ordinal(word: str) -> bool:
    """Whether an order word counts (last), and does not compare (highest)."""
    plain = " ".join(word.replace("-", " ").split())
    return _SAME_ORDER.get(plain, plain) in ("first", "second", "third", "last", "second to last")
