"""Does a question compare a note with the tables, and what does it ask of either?

Rules over words; what is compared (a drug, a test, a diagnosis) is what the linker found. A
question with a condition that neither side's question would carry, such as a date, is recognised
and refused: it is never answered with the condition left out.
"""

from __future__ import annotations

import re

from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.engine.mixed.types import Aspect, Kind, Mixed, Relation, Stage

_NOTE = re.compile(
    r"\b(?:(?:discharge|clinic|progress|admission|written|d/?c|hospital)\s+)?"
    r"(?:summary|summaries|notes?|letter|narrative|free[- ]text|dictation|write-?up)(?:'s|s')?\b"
    r"|\bdischarge (?:medications?|meds?|diagnos[ei]s|med(?:ication)? list|dose|paperwork)\b",
    re.I,
)
_TABLE = re.compile(
    r"\b(?:order(?:ed|s)?|prescri(?:bed|ptions?|bing)|measur(?:ed|ements?)|coded|codes?|coding|"
    r"icd(?:-?\d+)?|billed|billing|tables?|database|structured|charted|emr|ehr|mar|record(?:ed|s)?|"
    r"lab(?:oratory)? (?:results?|values?|system|data|records?|table)|labs|results? table|"
    r"diagnos[ei]s (?:table|list|codes?)|problem list|order (?:entry|system)|drawn|resulted|given|"
    r"administered)\b"
    r"|\b(?:last|latest|first|most recent|highest|lowest|peak)\s+(?:lab\s+)?(?:one|value|result|"
    r"level|dose|draw|test|\w+\s+(?:value|result|level))\b",
    re.I,
)
_DIFFER = re.compile(
    r"\b(?:differ(?:s|ent|ence|ences|ing)?|discrepan\w+|disagree\w*|mismatch\w*|conflict\w*|"
    r"contradict\w*|inconsistent|deviat\w+|at odds|other than|not (?:the same|match|agree))\b",
    re.I,
)
_SAME = re.compile(
    r"\b(?:same|match(?:es|ed|ing)?|agree(?:s|d|ment)?|consistent|equal(?:s|led)?|identical|"
    r"correspond(?:s|ing)?|in line|tall(?:y|ies)|confirm(?:s|ed)?|concord\w*|square[sd]?|accord"
    r"|reconcile\w*|line[sd]? up|compare[sd]?|comparison|versus|vs|against|as)\b",
    re.I,
)
_ALSO = re.compile(
    r"\b(?:also|too|as well|in both|both in|missing from|absent from|show(?:s|n)? up|appear(?:s|ed)?"
    r"|found in|present in|listed in|in the|captured|included|reflected|documented|mentioned|ever|"
    r"backed|supported|borne out)\b",
    re.I,
)
_HIGHER = re.compile(r"\b(?:higher|more|greater|larger|bigger|above|exceeds?|over)\b", re.I)
_LOWER = re.compile(r"\b(?:lower|less|smaller|below|under)\b", re.I)
_VALUES = re.compile(
    r"^\s*(?:how|what|by how much|compare|show|list|tell|contrast|give)\b|\bversus\b|\bvs\b", re.I
)
_YES_NO = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|can|could|would|any)\b.*\?|^\s*(?:is|are|was|were|do"
    r"|does|did|has|have|check (?:if|whether)|tell me (?:if|whether))\b",
    re.I,
)
_DOSE = re.compile(
    r"\b(?:dos(?:e|es|age|ing)|strength|amount|how (?:much|many (?:mg|units)))\b", re.I
)
_ROUTE = re.compile(
    r"\b(?:route|by mouth|orally|intravenously|how .{1,40} (?:given|taken))\b", re.I
)
_FREQUENCY = re.compile(r"\b(?:frequency|how often|how many times (?:a|per) day|schedule)\b", re.I)
_DRUG = re.compile(
    r"\b(?:dos(?:e|es|age)|route|frequency|order(?:ed|s)?|prescri\w+|medicat\w+|meds?|drugs?|"
    r"tablets?|mar)\b",
    re.I,
)
_LAB = re.compile(
    r"\b(?:measur\w+|labs?|laboratory|value|level|result\w*|drawn|count|reading|figure)\b", re.I
)
_DIAGNOSIS = re.compile(
    r"\b(?:diagnos\w+|cod(?:e|es|ed|ing)|icd\S*|billed|billing|problem list|conditions?)\b", re.I
)
_ADMISSION = re.compile(
    r"\b(?:(?:on|at|upon) (?:admission|arrival|presentation)|(?:home|admission|initial) "
    r"(?:dose|meds?|medications?|labs?|value|\w+ (?:level|value))|before admission)\b",
    re.I,
)
_DISCHARGE = re.compile(
    r"\b(?:(?:on|at|upon) discharge|discharge (?:dose|meds?|medications?|labs?|value|med list))\b",
    re.I,
)
_FIRST = re.compile(r"\b(?:first|earliest|initial)\b", re.I)
_HIGHEST = re.compile(r"\b(?:highest|maximum|peak|max)\b", re.I)
_LOWEST = re.compile(r"\b(?:lowest|minimum|nadir|min)\b", re.I)
# Reading the note first, or the tables first: "is X in the note also coded?"
_ASKED_OF_NOTE = re.compile(
    r"\b(?:also|too|as well|mentioned|named|appear\w*|show\w*|found|documented|listed|included|"
    r"reflected|present|missing|absent|supported|confirmed|borne out|backed)\b[^,;?]{0,40}$",
    re.I,
)
_LEFT_OUT = re.compile(
    r"\b(?:yesterday|today|this (?:year|month|week)|last (?:year|month|week)|days? ago|"
    r"first (?:hospital )?(?:visit|stay|admission)|(?:second|third) \w+|icu|average|mean|median|"
    r"total|sum|how many times)\b",
    re.I,
)
_ANYTHING = re.compile(
    r"\b(?:anything|any (?:drugs?|medications?|medicines?|meds|diagnos[ei]s|conditions?)|"
    r"which (?:drugs?|medications?|medicines?|diagnos[ei]s)|all (?:of )?(?:the|his|her)|everything)\b",
    re.I,
)
_TYPES = {Kind.MEDICATION: ("drug",), Kind.LAB: ("lab",), Kind.DIAGNOSIS: ("dx",)}
_CUES = ((Kind.DIAGNOSIS, _DIAGNOSIS), (Kind.LAB, _LAB), (Kind.MEDICATION, _DRUG))
_TIMES = frozenset({"year", "ym", "ymd", "md", "mon", "stamp", "dur", "agegrp", "careunit"})
_SPOKEN = {
    Kind.MEDICATION: (
        re.compile(r"\bdose of ((?:[\w-]+\s?){1,3}?)(?=\s+(?:in|on|at|from|according|per|the)\b)", re.I),
        re.compile(r"\b(?:the|his|her|is|was|does)\s+([\w-]+)\s+(?:dos(?:e|age)|route|frequency)\b", re.I),
    ),
    Kind.DIAGNOSIS: (
        re.compile(r"\bdiagnos[ei]s of ((?:[\w'-]+\s?){1,6}?)(?=\s+(?:in|on|from|that|which|also|named|mentioned|listed|according|coded|is|per)\b)", re.I),
        re.compile(r"^\s*(?:is|was|are|were)\s+(?:the\s+)?((?:[\w'-]+\s?){1,6}?)\s+(?:in|from|of|named|mentioned|listed|on|also)\b", re.I),
    ),
    Kind.LAB: (),
}  # fmt: skip
_DATED = (
    "I compare a note with the last, first, highest or lowest row, not with one of a given time."
)
_ONE = "I compare one drug, test or diagnosis at a time. Name one."
_NO_NAME = "I do not find the drug, test or diagnosis to compare. Name it as the tables do."
_NO_FREQUENCY = "The tables hold doses and routes of prescriptions, and no frequencies."


def split(text: str, linked: LinkedQuestion) -> Mixed | None:
    """The question as a comparison of a note with the tables; None for every other question."""
    note = _NOTE.search(text)
    if note is None:
        return None
    rest = text[: note.start()] + " " * (note.end() - note.start()) + text[note.end() :]
    table = _TABLE.search(rest)
    relation = _relation(text, rest, note.start(), table.start() if table else -1)
    if table is None or relation is None:
        return None
    kind, link = _subject(text, linked)
    spoken = None if link else _spoken(text, kind)
    several = _ANYTHING.search(text) is not None and link is None
    if kind is None or (
        link is None and spoken is None and not several and not _CHECK.search(rest)
    ):
        return None
    subject = text[link.start : link.end] if link else spoken or ""
    aspect = _aspect(text, kind, relation)
    patient = _patient(linked)
    return Mixed(
        text=text,
        kind=kind,
        aspect=aspect,
        relation=relation
        if aspect is not Aspect.PRESENT
        else _presence(relation, rest, note.start()),
        subject=subject,
        value=str(link.value) if link else None,
        patient_id=patient,
        note_question=_note_question(kind, aspect, subject),
        table_questions=_table_questions(kind, aspect, subject, rest, patient),
        stage=_stage(text),
        refused=_refused(rest, linked, aspect, subject, several),
    )


_CHECK = re.compile(r"\b(?:same|agree\w*|match\w*|differ\w*|discrepan\w*|consistent)\b", re.I)


def _relation(text: str, rest: str, note: int, table: int) -> Relation | None:
    swapped = 0 <= table < note and _TABLE_FIRST.search(rest[:note]) is not None
    if _HIGHER.search(rest) and re.search(r"\bthan\b|\bexceed|\babove\b|\bbelow\b", rest, re.I):
        return Relation.LOWER if swapped else Relation.HIGHER
    if _LOWER.search(rest) and re.search(r"\bthan\b|\bbelow\b", rest, re.I):
        return Relation.HIGHER if swapped else Relation.LOWER
    asks_values = _VALUES.search(text) is not None and _YES_NO.match(text) is None
    if _DIFFER.search(rest):
        return Relation.BOTH_VALUES if asks_values else Relation.DIFFERENT
    if _SAME.search(rest):
        return Relation.BOTH_VALUES if asks_values else Relation.SAME
    return Relation.ALSO_IN_TABLES if _ALSO.search(rest) else None


_TABLE_FIRST = re.compile(
    r"\b(?:last|latest|first|most recent|highest|lowest|peak|ordered|prescribed|measured|order(?:s)?|"
    r"prescription)\b.*\b(?:higher|lower|more|less|greater|smaller|above|below|exceeds?)\b",
    re.I,
)


def _presence(relation: Relation, rest: str, note: int) -> Relation:
    """Of a thing that one side names: is the other side asked whether it names it too?"""
    if relation in (Relation.SAME, Relation.DIFFERENT, Relation.BOTH_VALUES):
        return relation
    before = rest[:note]
    table = _TABLE.search(before)
    asked = table is not None and _ASKED_OF_NOTE.search(before[table.start() :]) is not None
    return Relation.ALSO_IN_NOTE if asked else Relation.ALSO_IN_TABLES


def _subject(text: str, linked: LinkedQuestion) -> tuple[Kind | None, Link | None]:
    """What is compared, and the kind that the words around it ask for."""
    cued = [kind for kind, cue in _CUES if cue.search(text)]
    if _DOSE.search(text) or _ROUTE.search(text) or _FREQUENCY.search(text):
        cued.insert(0, Kind.MEDICATION)
    for kind in (*cued, *Kind):
        for link in linked.links:
            if link.end > link.start and set(link.types) & set(_TYPES[kind]):
                return kind, link
    return (cued[0] if cued else None), None


def _spoken(text: str, kind: Kind | None) -> str | None:
    """The subject in words that the database does not know."""
    for pattern in _SPOKEN[kind] if kind else ():
        if found := pattern.search(text):
            return found[1].strip()
    return None


def _patient(linked: LinkedQuestion) -> int | None:
    named = {int(str(link.value)) for link in linked.links if "pat" in link.types}
    return named.pop() if len(named) == 1 else None


def _aspect(text: str, kind: Kind, relation: Relation) -> Aspect:
    if kind is Kind.DIAGNOSIS:
        return Aspect.PRESENT
    if kind is Kind.LAB:
        return Aspect.VALUE
    if _FREQUENCY.search(text):
        return Aspect.FREQUENCY
    if _DOSE.search(text):
        return Aspect.DOSE
    if _ROUTE.search(text):
        return Aspect.ROUTE
    return Aspect.PRESENT if relation is Relation.ALSO_IN_TABLES else Aspect.DOSE


def _stage(text: str) -> Stage:
    if _ADMISSION.search(text):
        return Stage.ADMISSION
    return Stage.DISCHARGE if _DISCHARGE.search(text) else Stage.ANY


def _refused(rest: str, linked: LinkedQuestion, aspect: Aspect, subject: str, several: bool) -> str:
    if several:
        return _ONE
    if not subject:
        return _NO_NAME
    if aspect is Aspect.FREQUENCY:
        return _NO_FREQUENCY
    if _LEFT_OUT.search(rest) or any(set(link.types) & _TIMES for link in linked.links):
        return _DATED
    return ""


def _note_question(kind: Kind, aspect: Aspect, subject: str) -> str:
    if kind is Kind.MEDICATION:
        what = {"dose": "dose", "route": "route"}.get(aspect.value, "dose")
        return f"What {what} of {subject} does the discharge summary give?"
    if kind is Kind.LAB:
        return f"What was the {subject} according to the discharge summary?"
    return f"Is {subject} among the diagnoses of the discharge summary?"


def _table_questions(
    kind: Kind, aspect: Aspect, subject: str, rest: str, patient: int | None
) -> tuple[str, ...]:
    if not subject or patient is None:
        return ()
    if kind is Kind.DIAGNOSIS:
        return (f"was patient {patient} diagnosed with {subject}?",)
    if kind is Kind.MEDICATION and aspect is Aspect.PRESENT:
        return (f"was patient {patient} prescribed {subject}?",)
    if kind is Kind.MEDICATION:
        when = "first" if _FIRST.search(rest) else "last"
        return (
            f"what was the dose of {subject} prescribed {when} time to patient {patient}?",
            f"what was the dose of {subject} that patient {patient} was prescribed {when} time?",
        )
    if _HIGHEST.search(rest):
        return (f"what was the maximum {subject} value of patient {patient}?",)
    if _LOWEST.search(rest):
        return (f"what was the minimum {subject} value of patient {patient}?",)
    when = "first" if _FIRST.search(rest) else "last"
    return (
        f"what was the {when} measured {subject} value of patient {patient}?",
        f"what was the {when} {subject} of patient {patient}?",
    )
