"""Does a question compare a note with the tables, and what does it ask of either?

Rules over words; what is compared (a drug, a test, a diagnosis) is what the linker found. A
question with a condition that neither side's question would carry, such as a date, is recognised
and refused: it is never answered with the condition left out.
"""

from __future__ import annotations

from dataclasses import replace

from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.engine.mixed import wording
from ehrqa_cli.engine.mixed.types import Aspect, ComparedKind, Mixed, Relation, Stage
from ehrqa_cli.logical_form import Event, Filter, Form, Items, Ref, Select
from ehrqa_cli.notes.find import terms

_TYPES = {
    ComparedKind.MEDICATION: ("drug",),
    ComparedKind.LAB: ("lab",),
    ComparedKind.DIAGNOSIS: ("dx",),
}
_KINDS = {ComparedKind.MEDICATION: "rx", ComparedKind.LAB: "lab", ComparedKind.DIAGNOSIS: "dx"}
_TIMES = frozenset(
    {"year", "ym", "ymd", "md", "mon", "stamp", "quarter", "dow", "dur", "agegrp", "careunit"}
)
_NOT_A_SUBJECT = frozenset({"icd", "discharge", "admission", "medication", "lab", "diagnosis"})
_DATED = (
    "I compare a note with the last, first, highest or lowest row, not with one of a given time."
)
_ONE = "I compare one drug, test or diagnosis at a time. Name one."
_NO_NAME = "I do not find the drug, test or diagnosis to compare. Name it as the tables do."
_NO_FREQUENCY = "The tables hold doses and routes of prescriptions, and no frequencies."


def split(text: str, linked: LinkedQuestion) -> Mixed | None:
    """The question as a comparison of a note with the tables; None for every other question."""
    note = wording.NOTE.search(text)
    if note is None:
        return None
    rest = text[: note.start()] + " " * (note.end() - note.start()) + text[note.end() :]
    relation = _relation(text, rest, note.start())
    if relation is None:
        return None
    kind, link = _subject(text, linked)
    subject = text[link.start : link.end] if link else _spoken(text, kind)
    several = wording.SEVERAL.search(text) is not None and link is None
    if kind is None:
        return None
    aspect = _aspect(text, kind, relation)
    if aspect is Aspect.PRESENT:
        relation = _presence(relation, text, rest, note.start())
    patient = _patient(linked)
    return Mixed(
        kind=kind,
        aspect=aspect,
        relation=relation,
        subject=subject,
        value=str(link.value) if link else None,
        patient_id=int(str(linked.links[patient.n - 1].value)) if patient else None,
        form=_form(kind, aspect, Ref(linked.links.index(link) + 1), rest, patient)
        if link and patient
        else None,
        titles=_of_patient("name", Event(_KINDS[kind]), patient) if patient else None,
        stage=_stage(text),
        refused=_refused(rest, linked, aspect, subject, several),
    )


def _relation(text: str, rest: str, note: int) -> Relation | None:
    """What is asked of the two sides; None where the question does not compare them.

    Words that a question about a note alone may have too count only beside surer ones.
    """
    table = wording.TABLE.search(rest)
    if table is None and wording.MAYBE_TABLE.search(rest) is None:
        return None
    swapped = wording.TABLE_FIRST.search(rest[:note]) is not None
    for more, less in ((wording.HIGHER, False), (wording.LOWER, True)):
        if more.search(rest) and wording.THAN.search(rest):
            return Relation.LOWER if less != swapped else Relation.HIGHER
    both = wording.ASKS_BOTH.search(text) is not None
    asks_values = wording.ASKS_VALUES.search(text) or (
        both and not wording.ASKS_YES_NO.search(text)
    )
    if wording.DIFFER.search(rest):
        return Relation.BOTH_VALUES if asks_values else Relation.DIFFERENT
    if asks_values and both:
        return Relation.BOTH_VALUES
    if wording.SAME.search(rest) or (table and wording.PERHAPS_SAME.search(rest)):
        return Relation.BOTH_VALUES if asks_values else Relation.SAME
    return Relation.ALSO_IN_TABLES if table and wording.ALSO.search(rest) else None


def _presence(relation: Relation, text: str, rest: str, note: int) -> Relation:
    """Of a thing that one side names: is the other side asked whether it names it too?

    The last clause asks; where it names both sides, words before the note's name tell.
    """
    if relation is not Relation.ALSO_IN_TABLES:
        return relation
    if wording.HELD.search(rest):
        return Relation.ALSO_IN_NOTE
    clauses = [m.end() for m in wording.CLAUSE.finditer(text) if text[m.end() :].strip()]
    last = text[clauses[-1] :] if clauses else text
    if clauses and (wording.NOTE.search(last) is None) != (wording.TABLE.search(last) is None):
        return Relation.ALSO_IN_NOTE if wording.NOTE.search(last) else Relation.ALSO_IN_TABLES
    before = rest[:note]
    table = wording.TABLE.search(before)
    asked = table is not None and wording.ASKED_OF_NOTE.search(before[table.start() :]) is not None
    return Relation.ALSO_IN_NOTE if asked else Relation.ALSO_IN_TABLES


def _subject(text: str, linked: LinkedQuestion) -> tuple[ComparedKind | None, Link | None]:
    """What is compared, and the kind that the words around it ask for."""
    cued = [kind for kind, cue in wording.CUES if cue.search(text)]
    if any(w.search(text) for w in (wording.DOSE, wording.ROUTE, wording.FREQUENCY)):
        cued.insert(0, ComparedKind.MEDICATION)
    for kind in (*cued, *ComparedKind):
        for link in linked.links:
            if link.end > link.start and set(link.types) & set(_TYPES[kind]):
                return kind, link
    return (cued[0] if cued else None), None


def _spoken(text: str, kind: ComparedKind | None) -> str:
    """The subject in words that the database does not know; "" where there is none to see."""
    for pattern in wording.SPOKEN[kind] if kind else ():
        if found := pattern.search(text):
            return found[1].strip()
    if kind is not ComparedKind.DIAGNOSIS:
        return ""
    told = terms.words(text)
    known = [told[a:b] for a, b in terms.phrases(told) if terms.known(told[a:b])]
    named = [" ".join(words) for words in known if not set(words) & _NOT_A_SUBJECT]
    return max(named, key=len, default="")


def _patient(linked: LinkedQuestion) -> Ref | None:
    """The one patient that is named."""
    named = {str(x.value): Ref(n) for n, x in enumerate(linked.links, 1) if "pat" in x.types}
    return named.popitem()[1] if len(named) == 1 else None


def _aspect(text: str, kind: ComparedKind, relation: Relation) -> Aspect:
    if kind is ComparedKind.DIAGNOSIS:
        return Aspect.PRESENT
    if kind is ComparedKind.LAB:
        return Aspect.VALUE
    if wording.FREQUENCY.search(text):
        return Aspect.FREQUENCY
    if wording.DOSE.search(text):
        return Aspect.DOSE
    if wording.ROUTE.search(text):
        return Aspect.ROUTE
    return Aspect.PRESENT if relation is Relation.ALSO_IN_TABLES else Aspect.DOSE


def _stage(text: str) -> Stage:
    if wording.ADMISSION.search(text):
        return Stage.ADMISSION
    return Stage.DISCHARGE if wording.DISCHARGE.search(text) else Stage.ANY


def _refused(rest: str, linked: LinkedQuestion, aspect: Aspect, subject: str, several: bool) -> str:
    if several:
        return _ONE
    if not subject:
        return _NO_NAME
    if aspect is Aspect.FREQUENCY:
        return _NO_FREQUENCY
    if wording.CONDITION.search(rest) or any(set(link.types) & _TIMES for link in linked.links):
        return _DATED
    return ""


def _form(kind: ComparedKind, aspect: Aspect, subject: Ref, rest: str, patient: Ref) -> Form:
    """What the tables are asked of the subject."""
    event = Event(_KINDS[kind], items=Items((subject,)))
    if aspect is Aspect.PRESENT:
        return _of_patient("exists", event, patient)
    if kind is ComparedKind.LAB and wording.HIGHEST.search(rest):
        return _of_patient("max", event, patient)
    if kind is ComparedKind.LAB and wording.LOWEST.search(rest):
        return _of_patient("min", event, patient)
    when = "first" if wording.FIRST.search(rest) else "last"
    return _of_patient("value", replace(event, order=when), patient)


def _of_patient(head: str, event: Event, patient: Ref) -> Select:
    return Select(head, replace(event, filters=(Filter("patient", (patient,)),)))
