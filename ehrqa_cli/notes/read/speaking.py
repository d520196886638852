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
from ehrqa_cli.notes.read.question import ask
from ehrqa_cli.notes.read.topic import Topic

Span = tuple[int, int]

# Of others than the patient: "her roommate had influenza", but not "his wife says that he fainted".
_OTHER = re.compile(
    r"\b(?:wife|husband|spouse|partner|room-?mate|flat-?mate|neighbou?r|co-?worker|colleague"
    r"|friend|(?:boy|girl)friend|"
    r"fianc[eé]e?|sons?|daughters?|child(?:ren)?|bab(?:y|ies)|infant|neonate|twin|newborn"
    r"|contacts?|passengers?|classmates?|lad(?:y|ies)|fellow patients?|next bed|another patient"
    r"|other patients?|"
    r"donor|driver|mother|father|mom|dad|sisters?|brothers?|aunts?|uncles?|grand\w+|[mp]g[mf]"
    r"|cousins?"
    r"|(?:him|her)self)\b",
    re.I,
)
_PATIENT = re.compile(
    r"\b(?:he|she|they|pt|patient|who|whom|which|i|we|admitted|denies|known|pmh|history)\b",
    re.I,
)
_PRONOUN = re.compile(
    r"^\W*(?:but |and |so |then |now |today )?(he|she|they|his|her|their)\b",
    re.I,
)
# What follows a thing and makes something else of it: "stroke unit", "DVT prophylaxis".
_COMPOUND = re.compile(
    r"^\W{0,3}(?:prophyla\w+|screen\w*|vaccin\w*|immuni[sz]\w*|precautions?|clinics?|unit|ward"
    r"|risk|protocol|specialist|"
    r"nurses?|team|service|society|education|counsel+ing|assessment|scores?|scales?"
    r"|questionnaire|test\w*|panel|serolog\w*|"
    r"titers?|antibod\w+|antigen|program(?:me)?|referral|consult\w*|follow[ -]?up|surveillance"
    r"|prevention|cessation)\b",
    re.I,
)
_AHEAD = re.compile(
    r"\b(?:risks?(?: factors?)?\s+(?:of|for)|(?:prevent\w*|prophyla\w+|screen\w*|vaccin\w*"
    r"|immuni[sz]\w*|test\w*|monitor\w*|"
    r"watch\w*|surveillance|precautions?|counsel+ed|educat\w+|warned|worr\w+|fear\w*|asked"
    r"|refer\w*|consider\w*|discuss\w*|"
    r"offered)\s+(?:of|for|against|about|on|regarding|with|to|as)?)\W*(?:\w+\W+){0,4}$",
    re.I,
)
# It was so and is no more: no answer to what is so.
_ENDED = re.compile(
    r"\b(?:stop+(?:ed|s)?|discontinu\w*|held|hold(?:ing)?|quit|ceased|former(?:ly)?|ex|d/c'?d"
    r"|off|resolved|previously|remote|"
    r"until|weaned|removed|no longer|gave up|given up)\b",
    re.I,
)
_NOT_TAKEN = re.compile(
    r"\b(?:allerg\w+|intoleran\w+|anaphyla\w+|hives|avoid\w*|adverse|hold(?:ing)?)\b",
    re.I,
)
# "echo was to be arranged, NOT yet done": what follows denies that it was done.
_NOT_DONE = re.compile(
    r"\b(?:not|never|n't)\s+(?:yet\s+|been\s+|actually\s+|then\s+|be\s+|to\s+be\s+|in fact\s+"
    r"|as yet\s+)*(?:done|placed|put in|needed|required|"
    r"performed|given|started|taken|issued|booked|used|inserted|carried out|pursued|necessary"
    r"|indicated|completed|had)\b",
    re.I,
)
# "Cysts, one of which did not fit": what follows denies something else.
_OTHERWISE = re.compile(
    r"^[^.;]{0,60}?\b(?:did|does|do|is|was|are|were|has|have|had)(?:\s+not|n't)\s+(?!(?:yet|been"
    r"|be|being|clearly|definitely|"
    r"seen|found|present|noted|identified|evident|detected|demonstrated|visuali[sz]ed"
    r"|appreciated|done|performed|given|taken|"
    r"started|needed|required|used|placed|indicated|confirmed|reported|recorded|felt|thought"
    r"|part)\b)\w+",
    re.I,
)
_DENIAL = re.compile(
    r"\b(?:no|not|never|denie[sd]|denying|without|neither|nor|negative|n't)\b",
    re.I,
)
# "She did not sleep and so surgery was ...": a verb's denial ends with its clause.
_TOO_FAR = re.compile(
    r"(?:\b(?:did|does|do|was|were|is|are|has|had|have|could|would|can)\s+not|n't)\b"
    r"(?:(?!\b(?:no|not|nor|never|without|denie[sd])\b).)*"
    r"(?:,\s+(?:and\s+|so\s+|but\s+)|\band so\b|\bwith\b|\bwhich\b|;)"
    r"(?:(?!\b(?:no|not|nor|never|without|denie[sd])\b).)*$",
    re.I,
)
# To be looked out for, and what was thought of or put off, right behind the thing.
_IF = re.compile(
    r"\b(?:if|in case|unless|whenever|contact|call (?:us|your|the|for|if)|return (?:to|for|if)"
    r"|come back|seek|look out for|signs? of|symptoms of|warn\w*)\b[^.;]*$",
    re.I,
)
_HELD = re.compile(
    r"^\W*(?:(?:was|were|is|has been|had been)\s+)?(?:held|withheld|considered|deferred|refused"
    r"|declined|offered|discussed|requested|talked|thought|discarded|dismissed|refuted|discounted"
    r"|to (?:be|give|start|follow)|later|plan\w*|start|only if|=|no\b|none\b|nil\b|never\b|\?)"
    r"|^[^.;]{0,40}\b(?:only if|to give|later|to follow)\b",
    re.I,
)
_AHEAD_SECTIONS = frozenset(
    {"follow-up", "discharge instructions", "transitional issues", "pending"}
)
_REACTION = re.compile(
    r"\b(?:allerg\w+|react\w*|rash\w*|hives|itch\w*|intoleran\w+|anaphyla\w+)", re.I
)
_BOX = re.compile(r"\[\s?[xX✓]?\s?\]|[☐☑□]")
_ALLERGY = re.compile(r"\b(?:allerg|intoleran|anaphyla|react)", re.I)
_NEAR = 45  # characters in which an end or a reaction goes with a thing
_NEVER_TESTED = re.compile(
    r"\b(?:not|never|n't)\s+(?:been\s+)?(?:tested|screened|checked|evaluated|assessed|examined"
    r"|asked)\b",
    re.I,
)
_UNTICKED = re.compile(
    r"\b(?:states|says|claims|labelled|listed)\b[^.;]{0,20}[\"“']$|(?:\[\s?\]|\(\s?\)|☐"
    r"|□)[^\[\](☐☑□]{0,30}$"
)
_PRESENT = re.compile(
    r"^\W*(?:does|do|is|are|any)\b|\b(?:still|current\w*|now|at present|today)\b",
    re.I,
)
_BEFORE = re.compile(
    r"\b(?:(?:prior to|before) (?:this|the|coming|admission|that|his|her)|previous(?:ly)?"
    r"|earlier|in the past|already)\b",
    re.I,
)
_DURING = re.compile(
    r"\b(?:during|while (?:in|he|she|an)|in (?:the )?hospital|(?:this|the|his|her) (?:stay"
    r"|admission))\b",
    re.I,
)
_YEAR = re.compile(r"\b(?:19|20|21)\d\d\b")
_PAST = re.compile(
    r"\b(?:history of|hx|h/o|ago|former\w*|known|chronic|aged?|in (?:19|20|21)\d\d|childhood|s/p"
    r"|status post)\b",
    re.I,
)
# "Ruled out": said so far from the thing that its reach is not sure.
_TAKEN_BACK = re.compile(
    r"\b(?:ruled out|exclud\w+|de-?label\w*|disprov\w+|wrong(?:ly)?|erroneous\w*|mistaken\w*"
    r"|in error|incorrect\w*|not confirmed|removed from|"
    r"not carried forward|unfounded|turned out (?:not )?to be)\b",
    re.I,
)
_SOMETIMES = re.compile(
    r"\b(?:since|now|today|currently|at discharge|on discharge|no longer|no further|no more"
    r"|no new|overnight|this morning|at present|"
    r"on arrival|on admission|at the moment|by then|afterwards?|before|again|recurren\w*|further"
    r"|yesterday|tonight|this (?:week|visit|time))\b",
    re.I,
)
_EVER = re.compile(r"\b(?:ever|histor\w+|previous\w*|prior|past|before)\b", re.I)
_PLANS = re.compile(
    r"\b(?:plan\w*|schedul\w*|recommend\w*|advis\w*|arrang\w*|book\w*|refer\w*|pending|due"
    r"|upcoming|going to|supposed|"
    r"will|should|must)\b",
    re.I,
)
_RELATIVE = re.compile(
    r"(?:grand)?(?:mother|father|parent)s?|mom|dad|(?:half-)?(?:sister|brother|sibling)s?|aunts?"
    r"|uncles?|cousins?|"
    r"nieces?|nephews?|[mp]g[mf]|maternal|paternal|relatives?|family|familial|fhx?|sons?"
    r"|daughters?",
    re.I,
)
_KIN = re.compile(r"^(?:family(?: history)?|familial|relatives?|kin|siblings?|parents?|runs? in)$")


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
        planned = _PLANS.search(about.text) is not None
        plans = [g for g in core if _PLANS.fullmatch(g.phrase)]
        kin = [g for g in core if _KIN.match(g.phrase)]
        left = tuple(g for g in core if g not in plans and g not in kin)
        return cls(
            about,
            left or core,
            ask(about.text).family,
            bool(kin and left),
            planned,
            bool(plans and left),
            _PRESENT.search(about.text) is not None,
            _EVER.search(about.text) is not None,
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
    if _NEVER_TESTED.search(text):
        return Stance.UNSURE
    if stance is Stance.NEGATED and _OTHERWISE.search(after) and not _DENIAL.search(before):
        return Stance.UNSURE
    if stance is Stance.NEGATED and (_TOO_FAR.search(before) or _bracketed(before, after)):
        return Stance.UNSURE
    if stance is not Stance.FAMILY and _NOT_DONE.search(after):
        return Stance.UNSURE if wanted.planned else Stance.NEGATED
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
    boxes = [0, *(found.start() for found in _BOX.finditer(text)), len(text)]
    if len(boxes) == 2:
        return text
    start = max(at for at in boxes if at <= span[0])
    end = min(at for at in boxes if at >= span[1])
    return f"{'~' * start}{text[start:end]}{'~' * (len(text) - end)}"


def _other_relative(wanted: Wanted, before: str) -> bool:
    """Is the last relative named before a thing another than the one asked about?"""
    named = [found for found in re.findall(r"[A-Za-z]+", before) if _RELATIVE.fullmatch(found)]
    asked = {word for group in wanted.core for word in group.names}
    return bool(named) and named[-1].lower().rstrip("s") not in {w.rstrip("s") for w in asked}


def _bracketed(before: str, after: str) -> bool:
    """Is it only behind a bracket that something is denied: "asthma (never intubated)"?"""
    denial = None if _DENIAL.search(before) else _DENIAL.search(after)
    return (
        denial is not None and "(" in after[: denial.start()] and after[denial.end() :][:1] != ")"
    )


def _limited(wanted: Wanted, text: str) -> bool:
    """Is it denied of a time only that the question does not name?"""
    asked = wanted.about.text.lower()
    return any(found.group().lower() not in asked for found in _SOMETIMES.finditer(text))


def _of_other(before: str, lead: str) -> bool:
    """Is somebody else than the patient the last one named before the thing?"""
    said = f"{lead} {before}" if _PRONOUN.search(before) else before
    for other in _OTHER.finditer(said):
        between = said[other.end() :]
        if not _PATIENT.search(
            between if said is before else between[: len(between) - len(before)]
        ):
            return True
    return False


def _without_family(text: str, span: Span, shift: int) -> Stance:
    """The stance of what is said of a relative, where a relative is asked about."""
    plain = re.sub(
        r"[A-Za-z]+",
        lambda m: "~" * len(m.group()) if _RELATIVE.fullmatch(m.group()) else m.group(),
        text,
    )
    stance = stance_of(plain, span[0] + shift, span[1] + shift)
    return Stance.STATED if stance is Stance.FAMILY else stance


def _only_named(wanted: Wanted, line: Line, before: str, after: str) -> bool:
    """Is a thing only named: as a part of another's name, to come or to be prevented, or past?"""
    around = ((_TAKEN_BACK, before), (_AHEAD, before), (_UNTICKED, before), (_IF, before))
    behind = ((_TAKEN_BACK, after), (_COMPOUND, after), (_HELD, after))
    if any(pattern.search(text) for pattern, text in (*around, *behind)):
        return True
    if line.section in _AHEAD_SECTIONS and not wanted.planned:
        return True
    said = f"{before[-_NEAR:]} {after[:_NEAR]}"
    reaction = _REACTION.search(wanted.about.text) is not None
    if line.section == "allergies" and not (
        (reaction and len(wanted.core) > 1) or _ALLERGY.search(wanted.about.text)
    ):
        return True
    if not reaction and _NOT_TAKEN.search(said):
        return True
    if _BEFORE.search(wanted.about.text) and not (
        _PAST.search(line.text) or "past" in line.section
    ):
        return True
    if _DURING.search(wanted.about.text) and (
        _PAST.search(line.text) or _YEAR.search(line.text) or "past" in line.section
    ):
        return True
    return wanted.present and not wanted.ever and _ENDED.search(said) is not None
