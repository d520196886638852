"""How a line speaks of the things that a yes/no question asks about: as a fact of this patient,
denied, of somebody else, to come, or in doubt.

NegEx and ConText (`find.stance`) tell it for one mention, with the question's own other words
hidden, so that "Was it ruled out?" is borne out by "ruled out". What they do not know is here, on
the safe side: a thing that is only named (the "stroke unit"), taken back later in its sentence,
said of somebody else than the patient, or so no more, is neither affirmed nor denied.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.notes import Line, Stance
from ehrqa_cli.notes.find.lexical import Group
from ehrqa_cli.notes.find.stance import stance_of
from ehrqa_cli.notes.read import phrases
from ehrqa_cli.notes.read.question import ask
from ehrqa_cli.notes.read.topic import Topic

Span = tuple[int, int]


@dataclass(frozen=True)
class Wanted:
    """What a line must name, and which stances answer the question."""

    about: Topic
    core: tuple[Group, ...]
    family: bool
    kin: bool  # of the family as a whole: any relative will do
    planned: bool
    plan: bool  # planned, in a word that a plan of any wording answers
    present: bool
    ever: bool

    @classmethod
    def of(cls, about: Topic) -> Wanted:
        core = about.core
        planned = phrases.PLANS.search(about.text) is not None
        plans = [g for g in core if phrases.PLANS.fullmatch(g.phrase)]
        kin = [g for g in core if phrases.KIN.match(g.phrase)]
        left = tuple(g for g in core if g not in plans and g not in kin)
        return cls(
            about,
            left or core,
            ask(about.text).family,
            bool(kin and left),
            planned,
            bool(plans and left),
            phrases.PRESENT.search(about.text) is not None,
            phrases.EVER.search(about.text) is not None,
        )


def stance_in(wanted: Wanted, line: Line, head: str, spans: Sequence[Span], earlier: str) -> Stance:
    """How the line speaks of the things at ``spans`` together: as of the least of them."""
    found = [_of_one(wanted, line, head, span, spans, earlier) for span in spans]
    for stance in (Stance.FAMILY, Stance.NEGATED, Stance.PLANNED, Stance.UNSURE):
        if stance in found:
            return stance
    return Stance.STATED


def _of_one(
    wanted: Wanted, line: Line, head: str, span: Span, spans: Sequence[Span], earlier: str
) -> Stance:
    text = _ticked(line.text, span)
    for a, b in spans:  # the question's own words say nothing about one another
        if (a, b) != span:
            text = f"{text[:a]}{'~' * (b - a)}{text[b:]}"
    lead = head.rsplit(" | ", 1)[1]
    shift = len(lead) + 1 if lead else 0
    joined = f"{lead} {text}" if lead else text
    section = "" if wanted.family else line.section
    stance = stance_of(joined, span[0] + shift, span[1] + shift, section=section)
    before, after = text[: span[0]], text[span[1] :]
    if phrases.NEVER_TESTED.search(text):
        return Stance.UNSURE
    if (
        stance is Stance.NEGATED
        and phrases.OTHERWISE.search(after)
        and not phrases.DENIAL.search(before)
    ):
        return Stance.UNSURE
    if stance is Stance.NEGATED and (phrases.TOO_FAR.search(before) or _bracketed(before, after)):
        return Stance.UNSURE
    if stance is not Stance.FAMILY and phrases.UNDONE.search(after):
        plain = phrases.NOT_DONE.search(after) is not None and not wanted.planned
        return Stance.NEGATED if plain else Stance.UNSURE
    if wanted.family and not wanted.kin and _other_relative(wanted, before):
        return Stance.UNSURE
    if wanted.family:
        kin = stance is Stance.FAMILY or "family" in head.lower()
        if wanted.kin and not kin:
            return Stance.UNSURE
        if stance is Stance.FAMILY:
            stance = _without_family(joined, span, shift)
    elif stance in (Stance.STATED, Stance.NEGATED) and _of_other(before, earlier):
        return Stance.FAMILY
    if wanted.planned and stance is Stance.PLANNED:
        return Stance.STATED
    if wanted.plan and stance is Stance.STATED:
        return Stance.UNSURE
    if stance is Stance.STATED and _only_named(wanted, line, before, after):
        return Stance.UNSURE
    if stance is Stance.NEGATED and not wanted.present and _limited(wanted, text):
        return Stance.UNSURE
    return stance


def _ticked(text: str, span: Span) -> str:
    """``text`` with all but the box that ``span`` stands in hidden, where there are boxes."""
    boxes = [0, *(found.start() for found in phrases.BOX.finditer(text)), len(text)]
    if len(boxes) == 2:
        return text
    start = max(at for at in boxes if at <= span[0])
    end = min(at for at in boxes if at >= span[1])
    return f"{'~' * start}{text[start:end]}{'~' * (len(text) - end)}"


def _other_relative(wanted: Wanted, before: str) -> bool:
    """Is the last relative named before a thing another than the one asked about?"""
    named = [
        found for found in re.findall(r"[A-Za-z]+", before) if phrases.RELATIVE.fullmatch(found)
    ]
    asked = {word for group in wanted.core for word in group.names}
    return bool(named) and named[-1].lower().rstrip("s") not in {w.rstrip("s") for w in asked}


def _bracketed(before: str, after: str) -> bool:
    """Is it only behind a bracket that something is denied: "asthma (never intubated)"?"""
    denial = None if phrases.DENIAL.search(before) else phrases.DENIAL.search(after)
    return (
        denial is not None and "(" in after[: denial.start()] and after[denial.end() :][:1] != ")"
    )


def _limited(wanted: Wanted, text: str) -> bool:
    """Is it denied of a time only that the question does not name?"""
    asked = wanted.about.text.lower()
    return any(found.group().lower() not in asked for found in phrases.SOMETIMES.finditer(text))


def _of_other(before: str, lead: str) -> bool:
    """Is somebody else than the patient the last one named before the thing?"""
    said = f"{lead} {before}" if phrases.PRONOUN.search(before) else before
    for other in phrases.OTHER.finditer(said):
        between = said[other.end() :]
        if not phrases.PATIENT.search(
            between if said is before else between[: len(between) - len(before)]
        ):
            return True
    return False


def _without_family(text: str, span: Span, shift: int) -> Stance:
    """The stance of what is said of a relative, where a relative is asked about."""
    plain = re.sub(
        r"[A-Za-z]+",
        lambda m: "~" * len(m.group()) if phrases.RELATIVE.fullmatch(m.group()) else m.group(),
        text,
    )
    stance = stance_of(plain, span[0] + shift, span[1] + shift)
    return Stance.STATED if stance is Stance.FAMILY else stance


def _only_named(wanted: Wanted, line: Line, before: str, after: str) -> bool:
    """Is a thing only named: as a part of another's name, to come or to be prevented, or past?"""
    around = (
        (phrases.TAKEN_BACK, before),
        (phrases.AHEAD, before),
        (phrases.UNTICKED, before),
        (phrases.IF, before),
    )
    behind = ((phrases.TAKEN_BACK, after), (phrases.COMPOUND, after), (phrases.HELD, after))
    if any(pattern.search(text) for pattern, text in (*around, *behind)):
        return True
    if line.section in phrases.AHEAD_SECTIONS and not wanted.planned:
        return True
    said = f"{before[-phrases.NEAR :]} {after[: phrases.NEAR]}"
    reaction = phrases.REACTION.search(wanted.about.text) is not None
    if line.section == "allergies" and not (
        (reaction and len(wanted.core) > 1) or phrases.ALLERGY.search(wanted.about.text)
    ):
        return True
    if not reaction and phrases.NOT_TAKEN.search(said):
        return True
    if phrases.BEFORE.search(wanted.about.text) and not (
        phrases.PAST.search(line.text) or "past" in line.section
    ):
        return True
    if phrases.DURING.search(wanted.about.text) and (
        phrases.PAST.search(line.text) or phrases.YEAR.search(line.text) or "past" in line.section
    ):
        return True
    return wanted.present and not wanted.ever and phrases.ENDED.search(said) is not None
