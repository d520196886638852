"""What a model wrote, taken apart. Small models keep to a format only roughly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

LETTERS = "ABCDE"
_LABEL = re.compile(
    r"^[\s\-*#>]*(question|answer choices|choices|correct answer|answer|evidence|reason)"
    r"[\s*]*:[\s*]*",
    re.I | re.M,
)
_CHOICE = re.compile(r"(?:^|(?<=\s))[-*\s]*\(?([A-E])\s*[:.)]\s+", re.M)
_LISTED = re.compile(r"^[-*\s]*\(?[A-H]\s*[:.)][ \t]+(\S.*)$", re.M)
_NAMED = re.compile(r"^\W*(?:option|choice|answer)?\W*([A-E])\b(?![a-z'])")
# Models name their source in the question, which no clinician does.
_SOURCE = re.compile(
    r",?\s*\b(?:as )?(?:based on|according to|as per|per|described in|noted in|mentioned in"
    r"|stated in|documented in|from|in)\s+(?:(?:the|these|his|her|their|provided|patient's)\s+)*"
    r"(?:discharge summar(?:y|ies)|notes?)(?: provided)?(?=\s*\?)",
    re.I,
)
# The paper's prompt has the answer name the note by its date.
_AS_PER = re.compile(r"^(?:as per|according to|based on|per)\b[^,]{0,80},\s*", re.I)
_MARKS = ' \t\n"“”*`[]'


@dataclass(frozen=True)
class Draft:
    """The first step: a question, its answer, and the sentence that is said to bear it out."""

    question: str
    answer: str
    evidence: str


@dataclass(frozen=True)
class Options:
    """The second step: the text of each choice by letter, and the letter said to be right."""

    choices: Mapping[str, str]
    correct: str


def read_draft(text: str) -> Draft | None:
    """The first step's parts; None where one lacks."""
    parts = _parts(text)
    found = [_flat(parts.get(name, "")) for name in ("question", "answer")]
    evidence = parts.get("evidence", "").strip()
    if not all(found) or not evidence:
        return None
    answer = _AS_PER.sub("", found[1])
    return Draft(_SOURCE.sub("", found[0]), answer[:1].upper() + answer[1:], evidence)


def read_options(text: str) -> Options | None:
    """The second step's parts; None where there are not five choices, or none is said to be
    right."""
    parts = _parts(text)
    listed = parts.get("answer choices") or parts.get("choices") or text
    found = _choices(listed)
    said = parts.get("correct answer") or parts.get("answer") or ""
    named = _NAMED.match(said)
    if set(found) != set(LETTERS):
        return None
    if named is None:
        same = [k for k, v in found.items() if v and v.lower() == _flat(said).lower()]
        return Options(found, same[0]) if len(same) == 1 else None
    return Options(found, named[1])


def read_listed(text: str) -> list[str]:
    """The choices that stand one to a line, in their order, each different one once."""
    out: dict[str, str] = {}
    for mark in _LISTED.finditer(text):
        words = _flat(mark[1])
        alike = " ".join(re.findall(r"\w+", words.lower()))
        if alike:
            out.setdefault(alike, words)
    return list(out.values())


def _parts(text: str) -> dict[str, str]:
    """What stands behind each label, the first time that it stands there."""
    marks = list(_LABEL.finditer(text))
    out: dict[str, str] = {}
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=False):
        out.setdefault(mark[1].lower(), text[mark.end() : end])
    return out


def _choices(listed: str) -> dict[str, str]:
    """The five in their order: what follows a letter up to the next letter in turn."""
    out: dict[str, str] = {}
    places: list[tuple[str, int, int]] = []
    for mark in _CHOICE.finditer(listed):
        if len(places) < len(LETTERS) and mark[1] == LETTERS[len(places)]:
            places.append((mark[1], mark.start(), mark.end()))
    ends = [start for _, start, _ in places[1:]] + [len(listed)]
    for (letter, _, start), end in zip(places, ends, strict=True):
        lines = [line for line in listed[start:end].strip().split("\n\n") if line.strip()]
        out[letter] = _flat(lines[0]) if lines else ""
    return out


def _flat(text: str) -> str:
    """On one line, without the marks that models put around what they quote."""
    return " ".join(text.split()).strip(_MARKS)
