"""What a question about one patient's notes is about, without whose notes they are.

The patient's id, "the patient", "history", "have" and the like say whose record is asked about and
how; they are not the thing asked about, and no line is compared with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ehrqa_cli.notes.find import lexical, terms
from ehrqa_cli.notes.find.lexical import Group
from ehrqa_cli.notes.read.question import AnswerKind, kind_of, telling
from ehrqa_cli.words.lists import stop_words

_WHO = re.compile(
    r"\b(?:the\s+)?(?:patient|pt|subject|case|record|chart|mrn)(?:'s)?\s*(?:id|number|no\.?"
    r"|with id)?"
    r"\s*[:#]?\s*\d[\w-]*(?:'s)?|#?\b\d{5,}(?:'s)?(?![\w%/.-])",
    re.I,
)
_NAME = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Mx|Master)\b\.?\s+[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)?")
_CLAUSE = re.compile(r"[,;:.!?]\s+|\s+[-–—]+\s+")
_TELL_ME = re.compile(
    r"^\W*(?:(?:can|could|would|will) (?:you|u|someone|anyone) (?:please |kindly )?"
    r"(?:tell (?:me|us)|say|check|confirm|see|find out|look up|let me know)|(?:please )?"
    r"(?:tell me|check|confirm|let me know)|(?:i (?:want|need|would like|'d like) to know)"
    r"|(?:do|does|did) (?:the|his|her|their|any|these|those) (?:notes?|records?|charts?|summary|"
    r"summaries|documentation|discharge summary) (?:say|mention|state|show|document|indicate"
    r"|note|record|tell)s?"
    r"|(?:do|does) (?:we|you|anyone) know|is it (?:known|documented|noted|recorded|true|mentioned)"
    r"|is there (?:any )?(?:mention|documentation|record|note|indication|evidence) (?:of|for"
    r"|that|in the notes? (?:of|that)))"
    r"\s*(?:if|whether|that|of|any|anything about|for|or not)*\s*",
    re.I,
)
_AUXILIARY = re.compile(
    r"^\W*(?:did|does|do|was|were|is|are|has|have|had|can|could|will|would|should|may|any|ever"
    r"|been)"
    r"(?:n't)?\b",
    re.I,
)
_ASKS_WHICH = re.compile(
    r"^\W*(?:(?:and|so|on|at|in|to|from|by|for|of|with|under|since|until)\s+)?"
    r"(?:what|which|who|whom|whose|when|where|why|how|list|name|describe|explain|summari[sz]e"
    r"|give|show|tell|compare)\b"
    r"|\b(?:what|which|who|whose|why|how (?:much|many|long|often|old|high|low))\b",
    re.I,
)
_LETTERED = re.compile(
    r"\b[a-z]/[a-z][\s-]+[a-z]{3,}|\b[a-z]{3,}[\s-]+(?!a\b|i\b|s\b|x\b)[a-z](?=[\s?.,;:)]|$)",
)
_RARE = 0.9  # how much a word tells (`question.telling`) that is taken for one of medicine
_FRAGMENT = 8  # words of a question that is no sentence and asks whether something is so
_FLIPS = re.compile(r"\b(?:(?<!or )not|never|no|without|free of|un(?:able|aware))\b", re.I)
_NUMBERS = re.compile(
    r"\b(?:more|less|higher|lower|greater|fewer|above|below|over|under|at least|at most"
    r"|exceed\w*)\b",
    re.I,
)


# When, and in which test: what is denied without it is denied.
_SCOPE = re.compile(
    r"\b(?:(?:after|before|when|while|during|since|following|prior to|upon|given|until)\b"
    r"|(?:on|by|per|from|in|at) (?:the |a |an |his |her |their |that "
    r"|this )?(?:[\w-]+ ){0,2}?(?:ct\w*|mri|mra|films?|scans?|x-?rays?|cxr|exam\w*|echo\w*|"
    r"tap|ultrasound|imaging|screen|swabs?|angiogra\w+|e[ck]gs?|eeg|biops\w+|endoscop\w+|labs?"
    r"|bloods?|cultures?|workup|work-up|"
    r"admission|arrival|presentation|discharge|d/c|triage|ed|er|icu|hospital|house|follow-?up"
    r"|clinic)\b"
    r"|(?:in|at|of|from) (?:the )?(?:early |late |mid |end of )?(?:january|february|march|april"
    r"|may|june|july|august|september|october|november|"
    r"december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|(?:19|20|21)\d\d|'\d\d)\b)",
    re.I,
)
_YEAR = re.compile(r"^(?:19|20|21)\d\d$")


@dataclass(frozen=True)
class Topic:
    """A question without its patient. ``core`` are the things that a line must name to bear on it,
    ``scope`` those that say when or in which test, which a denial need not name.

    ``yes_no``: it wants yes or no. ``flipped``: it asks whether something was not so.
    ``compares``: it compares with a number, which naming a thing does not answer.
    """

    text: str
    yes_no: bool
    flipped: bool
    compares: bool
    core: tuple[Group, ...]
    scope: tuple[Group, ...]


@lru_cache(maxsize=64)
def topic(question: str) -> Topic:
    """Take the patient and the lead-in out of ``question``, and tell what is left."""
    lead, told, inside = _asking(without_patient(question))
    core, scope = _parts(told)
    # "The father - did he have gout?", but not "Before I hang anything: ...".
    core = (*(group for group in _core(lead) if not core or _clinical(group)), *core)
    core = core or tuple(lexical.groups(told))
    return Topic(
        text=told,
        yes_no=_yes_no(told, inside),
        flipped=_FLIPS.search(told) is not None,
        compares=_NUMBERS.search(told) is not None,
        core=core,
        scope=scope,
    )


def without_patient(question: str) -> str:
    """``question`` without the id or the name of its patient: no line answers by naming those."""
    return re.sub(r"\s{2,}", " ", _NAME.sub(" ", _WHO.sub(" ", question))).strip()


def _asking(text: str) -> tuple[str, str, bool]:
    """What leads ``text`` in, the part of it that asks, and whether it was asked after in "do the
    notes say whether ...", which is answered with yes or no."""
    parts = [part for part in _CLAUSE.split(text) if part.strip(" ?.,:;-")]
    starts = [k for k, part in enumerate(parts) if _AUXILIARY.search(_TELL_ME.sub("", part))]
    lead = " ".join(parts[: starts[0]]) if starts else ""
    asking = " ".join(parts[starts[0] :]) if starts else text
    told = _TELL_ME.sub("", asking)
    return lead, told.strip(" ,;:-"), told != asking


def _yes_no(text: str, inside: bool) -> bool:
    if _AUXILIARY.search(text):
        return True
    if _ASKS_WHICH.search(text):
        return False
    value = kind_of(text) not in (
        AnswerKind.YES_NO,
        AnswerKind.OTHER,
    )  # "discharge dose of metoprolol?"
    return not value and (inside or text.rstrip().endswith("?") or len(text.split()) <= _FRAGMENT)


def _parts(text: str) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    at = _SCOPE.search(text)
    core = _core(text[: at.start()]) if at else ()
    if at is None or not core:
        return _core(text), ()
    return core, tuple(group for group in _core(text[at.start() :]) if group not in core)


def _core(text: str) -> tuple[Group, ...]:
    found = [g for g in lexical.groups(text) if _tells(g) and not _YEAR.match(g.phrase)]
    for match in _LETTERED.finditer(text.lower()):  # "vitamin K", "factor V Leiden", "V/Q scan"
        lettered = " ".join(terms.words(match.group()))
        for k, group in enumerate(found):
            if f" {group.phrase} " in f" {lettered} " and lettered != group.phrase:
                found[k] = Group(lettered, {lettered: 1.0})
    return tuple(found)


def _clinical(group: Group) -> bool:
    """A name of terms.txt, or a word that is rare in English."""
    words = group.phrase.split()
    return terms.known(words) or max(map(telling, words)) >= _RARE


def _tells(group: Group) -> bool:
    return any(
        word not in stop_words("find") and word not in stop_words("light")
        for word in group.phrase.split()
    )
