"""What the model is shown of the notes: lines with numbers between two marks, all of it data."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.notes import FoundLine
from ehrqa_openai.plain import plain

LONGEST = 300  # characters of a line that are shown: what a citation can quote
MOST = 12_000  # characters of lines, of the best first

# Wording that speaks to who answers questions, not to who treats the patient. Such a line is no
# evidence of anything. Only the plain cases: what is worded as a clinical statement passes.
_ADDRESSED = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,60}\b(?:instructions?|prompts?|rules?|"
    r"above|previous|questions?|everything|lines?)\b"
    r"|\b(?:answer|respond|reply|say|output|write|return|choose)\b.{0,60}"
    r"\b(?:every|any|all|this|the|each|these)\s+(?:\w+\s+)?(?:questions?|quer(?:y|ies))\b"
    r"|\b(?:every|any|all|each)\s+questions?\b.{0,60}\b(?:answer|is|with|say)\b"
    r"|\b(?:correct|right|only|final|expected) (?:answer|option|choice|letter)\b"
    r"|^\W*(?:system|assistant|user|developer)\s*[:>\]]"
    r"|\b(?:you are|act as|as) (?:now )?an? (?:ai|assistant|chat ?bot|language model|llm)\b"
    r"|\b(?:language model|ai assistant|chat ?bot|llm)s?\b.{0,40}\b(?:must|should|will|please)\b"
    r"|\b(?:system|new|hidden) (?:prompt|instructions?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Page:
    """The text, and the lines in it by their numbers, which begin at 1."""

    text: str
    lines: Mapping[int, FoundLine]


def page(found: Sequence[FoundLine]) -> Page:
    """The best of ``found``, in the order of their notes; headings answer nothing by themselves and
    are left out, as are lines addressed to the reader."""
    kept: list[FoundLine] = []
    used = 0
    for each in found:
        text = plain(each.line.text, LONGEST)
        if not text or each.line.kind == "header" or _ADDRESSED.search(text):
            continue
        used += len(text)
        if used > MOST and kept:
            break
        kept.append(each)
    kept.sort(key=lambda each: (each.charttime or "", each.line.note_id, each.line.number))
    return _numbered(kept)


def _numbered(kept: Sequence[FoundLine]) -> Page:
    pieces: list[str] = []
    lines: dict[int, FoundLine] = {}
    note, section = "", ""
    for number, each in enumerate(kept, 1):
        if each.line.note_id != note:
            note, section = each.line.note_id, ""
            pieces.append(f"[note of {plain(each.charttime or 'unknown time', 40)}]")
        if each.line.section != section:
            section = each.line.section
            pieces.append(f"[{plain(section, 80)}]")
        lines[number] = each
        pieces.append(f"{number}| {plain(each.line.text, LONGEST)}")
    body = "\n".join(pieces)
    # A mark that no line can hold, since it is made of all of them; the same every time.
    mark = hashlib.sha256(body.encode()).hexdigest()[:12]
    return Page(f"<record-{mark}>\n{body}\n</record-{mark}>", lines)
