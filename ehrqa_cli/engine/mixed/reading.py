"""What the notes say of a drug, a test or a diagnosis, by the lines that name it.

Only lines that name the subject count, and of them only those that state it: not what is denied, a
relative's, planned or doubted (`notes.find.stance`). Where the lines that count disagree, all their
values are given, and nothing is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.notes import Line, NoteSpan, Stance
from ehrqa_cli.engine.mixed.names import find_name, names_of
from ehrqa_cli.engine.mixed.types import Aspect, ComparedKind, Measure, Mixed, NoteFound, Stage
from ehrqa_cli.engine.mixed.units import find_route, unit_of
from ehrqa_cli.notes.find.stance import stance_of

if TYPE_CHECKING:
    from ehrqa_cli.notes.store import NoteStore

LONGEST = 300  # characters of an excerpt
_NEAR = 70  # characters after its name within which a dose stands
_STOPPED = re.compile(
    r"\b(?:stop(?:ped)?|discontinu\w+|d/c'?d|held|hold|withheld|avoid\w*|allerg\w+|intoleran\w+)\b",
    re.I,
)
_DOSE = re.compile(
    r"(?<![\d.,/-])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)\s?-?\s?"
    r"(mg|milligrams?|mcg|micrograms?|µg|μg|ug|g|gm|grams?|units?|iu|u|meq|mmol|ml|cc|puffs?|drops?|"
    r"sprays?|patch(?:es)?|nebs?|tab(?:let)?s?|cap(?:sule)?s?)(?![\w/])",
    re.I,
)
_SIG = re.compile(
    r"\b(?:sig:?|take)\s*:?\s*(?:(?P<word>one|two|three|four|half|one-half)\b\s*)?"
    r"(?:\(?(?P<n>\d+(?:\.\d+)?)\)?\s*)?(?:tab(?:let)?|cap(?:sule)?)s?\b",
    re.I,
)
_COUNTS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "half": 0.5, "one-half": 0.5}
_PIECES = frozenset({"tab"})
_VALUE = re.compile(
    r"\s{0,15}(?:\([^)]{0,20}\)\s?)?(?:level|value|count|today|again|repeat|on (?:admission"
    r"|discharge|arrival)|at (?:discharge|admission))?[\s:=,-]{0,12}"
    r"(?:(?:was|of|is|at|came back|measured|stable at|normal at|low at|high at|elevated (?:at|to)|"
    r"up to|down to|rose to|fell to|risen to|fallen to|improved to|remained|noted at|peaked at)\s+)"
    r"{0,2}[*<>~]{0,2}(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\d/-]|\.\d|:\d)\*?"
    r"(?:\s?(%|[a-zµμ]{1,5}\s?/\s?[a-z]{1,3}|meq|mmol|mm\s?hg|sec(?:onds)?|k)(?![\w/]))?",
    re.I,
)
_FROM_TO = re.compile(
    r"\s{0,3}(?:\w+\s){0,3}from\s+(\d+(?:\.\d+)?)\s*[a-z/%]{0,7}\s+to\s+(\d+(?:\.\d+)?)", re.I
)
_AT_DISCHARGE = re.compile(r"\b(?:at|on|upon|before|prior to) discharge\b", re.I)
_AT_ADMISSION = re.compile(r"\b(?:on|at|upon) (?:admission|arrival|presentation)\b", re.I)
# Sections in the order in which they say what a patient takes, or has.
_TIERS: dict[ComparedKind, tuple[tuple[str, ...], ...]] = {
    ComparedKind.MEDICATION: (("discharge medications",), ("medications", "medication list"), ()),
    ComparedKind.LAB: ((),),
    ComparedKind.DIAGNOSIS: ((),),
}
_ADMISSION_SECTIONS = ("admission", "home med", "history of present", "presenting")
_NEVER = ("allerg", "family")


@dataclass(frozen=True)
class _Hit:
    """A line that counts, with what it gives; ``last`` of the values it goes through."""

    line: Line
    measure: Measure | None
    stance: Stance
    span: tuple[int, int]


def read_note(mixed: Mixed, patient_id: int, notes: NoteStore) -> NoteFound:
    """What the notes of the patient say of the subject of ``mixed``, but for lines that address a
    reader. Of several notes the last one that says something is taken."""
    from ehrqa_cli.notes.read import injection

    names = names_of(mixed)
    lines = injection.without_addressed(notes.lines(patient_id))
    hits = [hit for line in lines for hit in _hits(mixed, line, names)]
    for note_id in reversed(dict.fromkeys(hit.line.note_id for hit in hits)):
        found = _of_note(mixed, [hit for hit in hits if hit.line.note_id == note_id])
        if found is not None:
            note = notes.note(note_id)
            return replace(found, when=note.charttime, stay=note.hadm_id) if note else found
    return NoteFound()


def _hits(mixed: Mixed, line: Line, names: tuple[str, ...]) -> Iterable[_Hit]:
    if line.kind == "header" or any(part in line.section for part in _NEVER):
        return
    for start, end in find_name(line.text, names):
        stance = stance_of(line.text, start, end, section=line.section)
        if mixed.kind is ComparedKind.MEDICATION and _STOPPED.search(line.text):
            stance = Stance.NEGATED if stance is Stance.STATED else stance
        if mixed.aspect is Aspect.PRESENT:
            yield _Hit(line, None, stance, (start, end))
            continue
        for measure in _measures(mixed, line.text, start, end):
            yield _Hit(line, measure, stance, (start, end))


def _measures(mixed: Mixed, text: str, start: int, end: int) -> list[Measure]:
    if mixed.kind is ComparedKind.LAB:
        return _lab_values(mixed, text, end)
    if mixed.aspect is Aspect.ROUTE:
        found = find_route(text[end:])
        return [Measure(text[end + found[0] : end + found[1]])] if found else []
    return _doses(text, start, end)


def _doses(text: str, start: int, end: int) -> list[Measure]:
    """The dose after the name, up to the next clause; else the one right before it."""
    after = re.split(r";|\.\s+(?=[A-Z])", text[end : end + 160])[0]
    near = [m for m in _DOSE.finditer(after) if m.start() <= _NEAR]
    if not near:
        before = [m for m in _DOSE.finditer(text[:start]) if start - m.end() <= 4]
        return [_dose(before[-1])] if before else []
    if re.search(r"\bfrom\s*$", after[: near[0].start()]) and len(near) > 1:
        return [_dose(near[1])]  # "increased from 20 mg to 40 mg"
    strengths = [m for m in near if unit_of(m[2]) not in _PIECES] or near
    first = _dose(strengths[0])
    sig = _SIG.search(after)
    count = (_COUNTS.get((sig["word"] or "").lower()) or float(sig["n"] or 1.0)) if sig else 1.0
    if sig and unit_of(first.unit) not in _PIECES and first.number is not None and count != 1.0:
        total = first.number * count
        return [Measure(f"{total:g} {first.unit} ({count:g} of {first.text})", total, first.unit)]
    others = {(m.number, m.unit) for m in map(_dose, strengths[1:]) if m.unit == first.unit}
    if others - {(first.number, first.unit)} and not sig:
        return [first, *(_dose(m) for m in strengths[1:])]
    return [first]


def _dose(match: re.Match[str]) -> Measure:
    return Measure(match[0], float(match[1].replace(",", "")), unit_of(match[2]))


def _lab_values(mixed: Mixed, text: str, end: int) -> list[Measure]:
    changed = _FROM_TO.match(text, end)
    if changed:
        pair = [Measure(value, float(value)) for value in changed.groups()]
        if mixed.stage is Stage.ADMISSION:
            return pair[:1]
        return pair[1:] if mixed.stage is Stage.DISCHARGE else pair
    found = _VALUE.match(text, end)
    if found is None:
        return []
    number = found[1].replace(",", "")
    unit = unit_of(re.sub(r"\s", "", found[2] or ""))
    return [Measure(f"{found[1]} {unit}".strip(), float(number), unit)]


def _of_note(mixed: Mixed, hits: list[_Hit]) -> NoteFound | None:
    """What the lines of one note say together; None where they say nothing."""
    stated = [hit for hit in hits if hit.stance is Stance.STATED]
    if mixed.aspect is Aspect.PRESENT:
        denied = [hit for hit in hits if hit.stance is Stance.NEGATED]
        unsure = [h for h in hits if h.stance in (Stance.UNSURE, Stance.PLANNED)]
        for some, present in ((stated, True), (unsure, None), (denied, False)):
            if some:
                return NoteFound(present=present, spans=_spans(_staged(mixed, some)[:3]))
        return None
    kept = _staged(mixed, stated)
    if not kept:
        return None
    different: dict[tuple[float | None, str], _Hit] = {}
    for hit in kept:
        assert hit.measure is not None
        key = (hit.measure.number, hit.measure.unit if hit.measure.number else hit.measure.text)
        different.setdefault(key, hit)
    chosen = list(different.values())
    measures = tuple(hit.measure for hit in chosen if hit.measure is not None)
    return NoteFound(measures, True, _spans(chosen))


def _staged(mixed: Mixed, hits: list[_Hit]) -> list[_Hit]:
    """The hits of the part of the stay that is asked about; of drugs, the best section's."""
    if mixed.stage is Stage.ADMISSION:
        return [hit for hit in hits if _of_admission(hit)]
    later = [hit for hit in hits if not _of_admission(hit)]
    if mixed.stage is Stage.DISCHARGE and mixed.kind is ComparedKind.LAB:
        return [hit for hit in later if _of_discharge(hit)] or later
    if mixed.kind is not ComparedKind.MEDICATION:
        return later or hits
    for tier in _TIERS[mixed.kind]:
        some = [hit for hit in later if not tier or hit.line.section in tier]
        if some:
            return some
    return [] if mixed.stage is Stage.DISCHARGE else hits


def _of_admission(hit: _Hit) -> bool:
    here = hit.line.text
    if _AT_ADMISSION.search(here) and not _AT_DISCHARGE.search(here):
        return True
    return any(part in hit.line.section for part in _ADMISSION_SECTIONS)


def _of_discharge(hit: _Hit) -> bool:
    return _AT_DISCHARGE.search(hit.line.text) is not None or "discharge" in hit.line.section


def _spans(hits: list[_Hit]) -> tuple[NoteSpan, ...]:
    lines = {(hit.line.start, hit.line.end): hit.line for hit in hits}
    return tuple(_span(line) for line in lines.values())


def _span(line: Line) -> NoteSpan:
    end = min(line.end, line.start + LONGEST)
    return NoteSpan(line.note_id, line.start, end, line.text[: end - line.start])
