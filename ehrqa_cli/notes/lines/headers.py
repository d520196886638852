"""Which lines of a note head a section, and the section's canonical name (``sections.toml``)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

_LONGEST = 64  # characters of a heading
_WORDS = 9

# Marks and numbers before a heading: "# ", "== ", "**", "1. ", "II) ".
_LEAD = re.compile(r"(?:[#=*_~<\[]+\s*|\(?(?:\d{1,2}|[IVX]{1,4})[.)]\s+)+")
_TRAIL = re.compile(r"[\s#=*_~>\]\-.:]+$")
_SPACE = re.compile(r"\s+")
_PARENTHESES = re.compile(r"\s*\([^()]*\)")
_WHEN = re.compile(r"\s+(?:on\s+|of\s+|from\s+)?[\d_][\d_/.:\- ]*$")
_FOLLOW = re.compile(r"\bfollow[ -]?up\b")
_POSSESSIVE = re.compile(r"['’]s\b")
_NAME_LIKE = re.compile(r"[A-Za-z][^;!?\"|]*$")
_SENTENCE = re.compile(r"[a-z]{3}[.] ")
_DASHED = re.compile(r"([A-Z][A-Za-z/& ]{1,40}?)\s+(?:--?|–|—)\s+(?=\S)")
# A heading in the middle of a line: flattened text has them after a sentence's end or wide gaps.
_MIDDLE = re.compile(r"(?<=[.;,!?)\]\d])\s{0,4}(?=[A-Z])|(?<!\s)\s{2,}(?=[A-Z])")
_MIDDLE_LABEL = re.compile(r"([A-Z][A-Za-z'’/&() -]{1,48}):(?![\d/])")
# Vital signs are a part of an examination; where they come before one, its first label ends them.
_VITALS = "vital signs"
_EXAM = "physical exam"
_EXAMS = frozenset({_EXAM, "discharge physical exam"})
# Plain "Medications:" among these are the ones to go home with.
_AT_DISCHARGE = frozenset(
    {"discharge instructions", "discharge condition", "disposition", "diet", "activity"}
)


@dataclass(frozen=True)
class Header:
    """A heading found: it ends at ``end``, the text on its line begins at ``body``.

    ``section`` is the canonical name; None for a heading that only begins a part of its section.
    """

    end: int
    body: int
    section: str | None


@dataclass(frozen=True)
class _Tables:
    sections: dict[str, str]
    labels: frozenset[str]
    subdivided: frozenset[str]
    reports: frozenset[str]
    inside: frozenset[str]
    before: tuple[str, ...]
    after: tuple[str, ...]


@cache
def _tables() -> _Tables:
    with (Path(__file__).parent / "sections.toml").open("rb") as file:
        data = tomllib.load(file)
    sections = {_plain(name): name for name in data["sections"]}
    for name, others in data["sections"].items():
        sections.update({_plain(other): name for other in others})
    return _Tables(
        sections,
        frozenset(_plain(name) for name in data["labels"]["names"]),
        frozenset(data["subdivided"]["names"]),
        frozenset(data["inside"]["sections"]),
        frozenset(data["inside"]["names"]),
        tuple(word + " " for word in data["qualifiers"]["before"]),
        tuple(" " + word for word in data["qualifiers"]["after"]),
    )


def canonical_sections() -> tuple[str, ...]:
    """The names of all sections, sorted."""
    return tuple(sorted(set(_tables().sections.values())))


def _plain(heading: str) -> str:
    """A heading as the table spells it: lower case, without numbers, dates and possessives."""
    text = _POSSESSIVE.sub("", heading.lower()).replace("&", " and ")
    text = _SPACE.sub(" ", _TRAIL.sub("", text)).strip()
    return _FOLLOW.sub("follow-up", text)


@lru_cache(maxsize=8192)
def canonical(heading: str) -> str | None:
    """The canonical name of the section with this heading; None when it is not in the table."""
    tables = _tables()
    text = _plain(heading)
    if text in tables.sections:
        return tables.sections[text]
    text = _WHEN.sub("", _PARENTHESES.sub("", text))
    if text in tables.sections:
        return tables.sections[text]
    for word in tables.after:
        if text.endswith(word):
            return canonical(text[: -len(word)])
    for word in tables.before:
        if text.startswith(word):
            return canonical(text[len(word) :])
    for joint in (" and ", ", ", "/"):
        first = text.partition(joint)[0]
        if first != text and len(first) > 3 and first in tables.sections:
            return tables.sections[first]
    return None


@lru_cache(maxsize=8192)
def _is_label(heading: str) -> bool:
    return _plain(heading) in _tables().labels


def _section_after(heading: str, current: str) -> str | None:
    """The section that a heading begins, None where it begins a part of ``current``."""
    tables = _tables()
    if current in tables.reports and _plain(heading) in tables.inside:
        return None
    if _is_label(heading):
        return _EXAM if current == _VITALS else None
    section = canonical(heading)
    if section == "medications" and current in _AT_DISCHARGE:
        return "discharge medications"
    return None if section == _VITALS and current in _EXAMS else section


def find_header(line: str, current: str, fresh: bool, above: str, wrapped: bool) -> Header | None:
    """The heading that the stripped ``line`` begins with or is, None when it has none.

    ``current`` is the section so far; ``fresh`` says that a blank line or the end of a sentence
    came before, ``above`` is the heading with a colon on the line before ("" when there is none),
    ``wrapped`` says that the line before runs on into this one.
    """
    lead = _LEAD.match(line)
    start = lead.end() if lead else 0
    colon = line.find(":", start, start + _LONGEST)
    if colon > start:
        return _with_colon(line, start, colon, current, wrapped)
    if wrapped or not line[start : start + 1].isalpha():
        return None
    dashed = _DASHED.match(line, start)
    if dashed is not None:
        section = _section_after(dashed[1], current)
        if section is not None:
            return Header(dashed.end(1), dashed.end(), section)
    # Under "Procedures:", "Cardiac catheterization" is one; under "Results:", "LABS" is a heading.
    if len(line) - start <= _LONGEST and (not above or (line.isupper() and not above.isupper())):
        return _alone(line, start, current, fresh)
    return None


def _with_colon(line: str, start: int, colon: int, current: str, wrapped: bool) -> Header | None:
    heading = line[start:colon]
    if not _NAME_LIKE.match(heading) or _SENTENCE.search(heading):
        return None
    if wrapped and not heading[0].isupper():
        return None
    end = colon + 1
    while end < len(line) and line[end] in ":*_=]>":
        end += 1
    body = end
    while body < len(line) and line[body].isspace():
        body += 1
    section = _section_after(heading, current)
    if section is not None and _starts_item(line) and body < len(line):
        section = None if not heading.isupper() else section
    if section is None:
        if body < len(line):
            return None  # "HEENT: clear": a line like others
        if heading.count(" ") >= _WORDS or (wrapped and not heading.isupper()):
            return None
        section = _own_section(heading, current)
    return Header(end, body, section)


def _own_section(heading: str, current: str) -> str | None:
    """Where parts are not usual, an unknown heading in capitals begins a section of its name."""
    unknown = canonical(heading) is None and not _is_label(heading)
    if unknown and heading.isupper() and current not in _tables().subdivided:
        name = _plain(heading)
        return name if any(char.isalpha() for char in name) and "#" not in name else None
    return None


def _starts_item(line: str) -> bool:
    return line[0].isdigit() or line[0] == "("


def _alone(line: str, start: int, current: str, fresh: bool) -> Header | None:
    """A heading without a colon: a line of its own that is in the table."""
    heading = _TRAIL.sub("", line[start:])
    if line.endswith(".") or heading.count(" ") >= _WORDS:
        return None
    section = _section_after(heading, current)
    if section is None:
        return None
    marked = start > 0 and line[0] in "#=*_~<["
    titled = heading[0].isupper() and len(heading) > 3
    if heading.isupper() or marked or (titled and fresh):
        return Header(len(line), len(line), section)
    return None


def headers_within(line: str, start: int = 0) -> list[int]:
    """Where known headings with a colon stand in the middle of a line (flattened text)."""
    found = []
    for gap in _MIDDLE.finditer(line, start):
        label = _MIDDLE_LABEL.match(line, gap.end())
        if label is None or gap.end() <= start:
            continue
        heading = label[1]
        titled = all(word[0].isupper() or word in _SMALL for word in heading.split())
        if (heading.isupper() or (titled and " " in heading)) and canonical(heading) is not None:
            found.append(gap.end())
    return found


_SMALL = frozenset({"of", "and", "on", "at", "the", "in", "for", "to", "or", "&", "/"})
