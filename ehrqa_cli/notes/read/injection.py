"""Lines of a note that are addressed to whoever answers questions, not to who treats the patient.

A note is data: nothing in it is obeyed, and such a line is no evidence of anything either, so it
is left out before lines are compared with a question, unless the question asks about it. Told by
its wording; the list is general and names no note. What is worded as an ordinary clinical
statement cannot be told from one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ehrqa_cli.contracts.notes import Line

_READER = (
    r"(?:(?:large )?language model|llms?|chat ?bots?|chatgpt|gpt(?:-\d)?|claude|copilot|gemini"
    r"|llama|"
    r"a\.?i\.?(?: (?:assistant|model|system|reader|tool|agent))?|artificial intelligence|"
    r"(?:virtual |digital )?assistant|(?:automated|automatic|computer|software|machine|question[- ]"
    r"answering|qa|nlp|extraction) (?:system|reader|tool|model|program|agent|pipeline)s?"
    r"|reader model|"
    r"ehrqa|bots?|parsers?|summari[sz]ers?)"
)
_CHOICE = r"(?:option|choice|answer|letter|response|alternative)"
_OBEY = (
    r"(?:ignore|disregard|forget|override|overrule|bypass|discard|skip|"
    r"do not (?:use|read|trust|follow))"
)
_SAY = (
    r"(?:answer|respond|reply|say|state|output|print|return|write|report|choose|select|pick|mark|"
    r"give|use|cite|quote|conclude|tell)"
)
_PATTERNS = (
    rf"\b{_OBEY}\b.{{0,60}}\b(?:above|below|everything|the rest|(?:previous|prior|earlier|other"
    rf"|all|"
    r"any|these|those|your|the)\s(?:\w+\s)?(?:instructions?|prompts?|rules?|text|context|evidence"
    r"|lines?|"
    r"notes?|questions?|guidelines|documentation|record))\b",
    r"\b(?:correct|right|true|expected|only|final|valid|proper|gold|desired)\s(?:\w+\s)?"
    rf"{_CHOICE}\b.{{0,60}}(?:\bis\b|\bare\b|:|=|\bmust\b|\bshould\b|\bwill be\b)",
    r"\bbest (?:answer|response|letter)\b.{0,60}(?:\bis\b|:|=|\bmust\b|\bshould\b)",
    rf"^\W*(?:please )?(?:select|choose|pick|mark|answer)\s(?:with |only "
    rf"|just )*{_CHOICE}?\s*[\"'(\[]?"
    r"[A-E]\b(?!\.?\w)",
    r"^\W*(?:dear |note to )?(?:the )?reader\b\s*[:,]",
    rf"\b{_CHOICE}\s*[\"'(\[]?[A-Ea-e][\"')\]]?\s*(?:is|are|was|must|should|:|=|\(|$|[.!,])",
    rf"\b{_SAY}\s+(?:with |only |just |exactly |always )*{_CHOICE}?\s*[\"'(\[][A-E][\"')\]]",
    rf"\b(?:always|must|should|only|please|simply|just|instead|then|and|to|shall)\s+{_SAY}\s+"
    rf"(?:with\s|that\s|only\s)*(?:{_CHOICE}s?\b\s*)?(?:[A-E]\b(?!\.?\w)|[\"'“‘]|yes\b|no\b"
    rf"|unknown\b|"
    r"i don't know)",
    r"\b(?:the|your|this|any|every|each|all|following|a)\s+(?:(?:user|clinician|examiner|exam|quiz|"
    r"multiple[- ]choice|next|above|following)'?s?\s+)*(?:questions?|quer(?:y|ies))\b.{0,80}"
    rf"\b(?:{_SAY}|{_CHOICE}|is|are|must)\b.{{0,60}}",
    rf"\b(?:if|when|whenever|once)\s+(?:you are |you're |it is |anyone |someone |ever |the user |"
    rf"the clinician )*(?:asked|queried|questioned|asks|prompted)\b.{{0,100}}\b(?:{_SAY}"
    rf"|{_CHOICE}|is|was)\b",
    r"\b(?:in (?:answer|reply|response) to|for|to) (?:any|all|every|each|this|the) (?:questions?"
    r"|quer)",
    rf"\b(?:to|for|attention|note to|message (?:to|for)|dear|hey|notice to|instructions? (?:to"
    rf"|for)|"
    rf"reminder (?:to|for)|as an?|you are (?:now )?an?)[\s:,]+(?:the |any |all |our "
    rf"|helpful )*{_READER}\b",
    rf"\b{_READER}\b.{{0,50}}\b(?:must|should|shall|please|will|needs? to|has to|have to|{_OBEY}|"
    r"instructions?|answer|directive|override)\b",
    r"^\W*(?:system|assistant|user|human|developer|ai|llm)(?:\s(?:message|prompt|instruction|note|"
    r"override|notice|directive))?\s*[:>\]|]",
    r"\b(?:system|hidden|secret|new|updated|developer|special|important) (?:prompt|instructions?|"
    r"directive|override|message)\b\s*[:\-–—]",
    r"<\s*/?\s*(?:system|instructions?|inst|prompt|user|assistant|answer|im_start|im_end|\|)",
    r"\[/?(?:inst|system|assistant|user)\]|<\|\w+\|>|<<\s?sys",
    r"\b(?:prompt injection|jailbreak|system prompt)\b",
    r"\b(?:answers?|options?|choices?)\s*(?:key)?\s*[:=]\s*[\"'(]?[A-E]\b(?![\w/+-])",
    r"\bdo not (?:abstain|decline|cite|quote|refuse to answer|answer (?:the|any|this))\b",
    rf"\byou (?:must|should|will|shall|are (?:required|instructed|ordered)|have) (?:now |always "
    rf"|only |to )*"
    rf"(?:{_SAY}|{_OBEY})\s(?:with|that|only|the (?:answer|following|option|choice|question)|as"
    rf"|[\"'“]|{_OBEY}|[A-E]\b)",
)
_ADDRESSED = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.I)
# What notes say in earnest that looks like it.
_EARNEST = re.compile(
    r"\b(?:(?:all|any|her|his|their|the|patient's|family's|and) questions? (?:were|was|have been"
    r"|and "
    r"concerns (?:were|have been)) (?:all )?(?:answered|addressed)|answer(?:s|ed|ing) (?:all "
    r"|simple |"
    r"questions? |to |yes|no)+\w*(?: appropriately)?|(?:call|contact|phone) .{0,60}\bquestions?|"
    r"questions? (?:or|and) concerns?|no further questions|discharge instructions|"
    r"treatment (?:option|choice)s?)\b",
    re.I,
)
_STRONG = re.compile(
    rf"\b(?:{_OBEY}\b.{{0,40}}\b(?:above|previous|instructions?|prompt|note)|"
    rf"(?:correct|right) {_CHOICE}|{_CHOICE} [A-E]\b)",
    re.I,
)
_ASKS_ABOUT = re.compile(
    rf"\b(?:prompts?|injection|ignore|disregard|addressed to (?:the|an?|any) (?:\w+ )?(?:reader"
    rf"|model|ai|"
    rf"assistant|computer)|{_READER}|instruct\w* .{{0,30}}\b(?:reader|answer|questions?))\b",
    re.I,
)
_WHOLE = re.compile(r"[.!?…\"')\]]\s*$")


def asks_about(question: str) -> bool:
    """Does the question ask about what a note says to its reader?"""
    return _ASKS_ABOUT.search(question) is not None


def is_addressed(text: str) -> bool:
    """Does ``text`` tell whoever answers questions what to do or say?"""
    if _ADDRESSED.search(text) is None:
        return False
    return _EARNEST.search(text) is None or _STRONG.search(text) is not None


def without_addressed(lines: Sequence[Line]) -> list[Line]:
    """``lines`` without those that are `addressed` to whoever answers questions."""
    out = addressed(lines)
    return [line for line in lines if (line.note_id, line.number) not in out]


def addressed(lines: Sequence[Line]) -> frozenset[tuple[str, int]]:
    """The lines, as (note_id, number), that are addressed to whoever answers questions.

    A line goes with the one before it when that is such a line and breaks off, after a colon or
    without the end of its sentence.
    """
    found: set[tuple[str, int]] = set()
    before: Line | None = None
    for line in sorted(lines, key=lambda line: (line.note_id, line.number)):
        goes_on = (
            before is not None
            and (before.note_id, before.number) in found
            and (before.note_id, before.number + 1) == (line.note_id, line.number)
            and not _WHOLE.search(before.text)
            and line.start - before.end <= 1
        )
        if goes_on or is_addressed(line.text):
            found.add((line.note_id, line.number))
        before = line
    return frozenset(found)
