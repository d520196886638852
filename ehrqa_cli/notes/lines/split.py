"""A note's text as lines with sections: physical lines joined to paragraphs, cut into sentences.

What hospitals write is taken as it comes: headings in any style, paragraphs on one line or wrapped
at 72 characters, lists with and without marks, tables of values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ehrqa_cli.contracts.notes import Line
from ehrqa_cli.notes.lines import headers, kinds
from ehrqa_cli.notes.lines.sentences import LONGEST, fit, sentences

_BLANKS = " \t\r\n\v\f\x00\x1c\x1d\x1e\x85\xa0\ufeff\u2028\u2029"
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_STAMP = re.compile(r"(?:_+\s+)?\d{1,2}:\d{2}\s?(?:[AaPp][Mm])?\b")
_UNFINISHED = re.compile(
    r"(?:[,(/]|\b(?:and|or|of|with|the|a|an|to|for|in|on|at|by|from|was|were|is|his|her|no))$"
)
_PROBLEM = re.compile(r"[^.:;,!?]{2,80}:?$")  # "# Heart failure"
_MAY_WRAP = (40, 132)  # characters of a line that was wrapped
_LONG_ITEM = 55  # characters of a medication from which it may go on without a mark
_MANY_WORDS = 25  # characters from which a line that ends in "and" is prose and not a list
_FLATTENED = 80  # characters from which headings are looked for inside a line


class Cut(NamedTuple):
    """One line as a place in the text: ``text[start:end]``."""

    start: int
    end: int
    section: str
    kind: str


@dataclass(slots=True)
class _Unit:
    """What belongs together: a paragraph, an item of a list, a row of values.

    The text after the heading or the mark begins at ``body``; ``last`` is where its last physical
    line begins.
    """

    start: int
    body: int
    end: int
    last: int
    item: bool = False
    headed: bool = False


def split(text: str, note_id: str = "") -> list[Line]:
    """The lines of a note in order; each at most 300 characters, all of them together its words."""
    return [
        Line(note_id, number, cut.start, cut.end, text[cut.start : cut.end], cut.section, cut.kind)
        for number, cut in enumerate(cuts(text))
    ]


def cuts(text: str) -> list[Cut]:
    """The lines of `split` as places only."""
    return _Splitter(text).run()


class _Splitter:
    def __init__(self, text: str) -> None:
        self.text = text
        self.section = ""
        self.out: list[Cut] = []
        self.unit: _Unit | None = None
        self.fresh = True
        self.above = ""
        self.width: int | None = None

    def run(self) -> list[Cut]:
        lines = list(_physical(self.text))
        self.width = _wrap_width(self.text, lines)
        for start, end in lines:
            if start == end:
                self.flush()
                self.fresh, self.above = True, ""
            else:
                self.take(start, end, self.text[start:end])
                self.fresh = self.text[end - 1] in ".!?"
        self.flush()
        return self.out

    def take(self, start: int, end: int, line: str) -> None:
        """One physical line that is not blank."""
        unit = self.unit
        wrapped = unit is not None and self.runs_on(unit, line)
        if self.head(start, end, line, wrapped):
            return
        self.above = ""
        if wrapped and unit is not None:
            unit.last, unit.end = start, end
            return
        self.flush()
        marker = kinds.MARKER.match(line)
        body = start + marker.end() if marker else start
        self.unit = _Unit(start, body, end, start, item=marker is not None)

    def head(self, start: int, end: int, line: str, wrapped: bool) -> bool:
        """Take ``line`` if it begins with a heading."""
        found = headers.find_header(line, self.section, self.fresh, self.above, wrapped)
        if found is None:
            return False
        self.flush()
        self.section = self.section if found.section is None else found.section
        if found.body >= len(line):
            self.put(start, end, "header")
            self.above = line if ":" in line else ""
        else:
            self.unit = _Unit(start, start + found.body, end, start, headed=True)
            self.above = ""
        return True

    def runs_on(self, unit: _Unit, line: str) -> bool:
        """Does the paragraph before go on with the physical line ``line``?"""
        if kinds.MARKER.match(line) or _STAMP.match(line):
            return False
        before = self.text[unit.last : unit.end]
        if self.section in kinds.MEDICATION_SECTIONS:
            if kinds.begins_medication(line):
                return False
            if unit.item and len(before) >= _LONG_ITEM and before[-1] not in ".;:":
                return True
        first_word = line.find(" ") if " " in line else len(line)
        if self.width is not None and len(before) <= self.width + 4:
            full = len(before) + 1 + first_word >= self.width - 2
            if full:
                return True
        if before[-1] in ".!?:;":
            return False
        if line[0].islower() and len(before) >= _MAY_WRAP[0]:
            return True
        return len(before) >= _MANY_WORDS and _UNFINISHED.search(before) is not None

    def flush(self) -> None:
        """Write the lines of the open unit."""
        unit, self.unit = self.unit, None
        if unit is None:
            return
        if unit.end - unit.start > _FLATTENED:
            whole = self.text[unit.start : unit.end]
            places = headers.headers_within(whole, unit.body - unit.start)
            if places:
                self.flattened(unit, [unit.start + place for place in places])
                return
        self.write(unit)

    def flattened(self, unit: _Unit, places: list[int]) -> None:
        """Headings stand in the middle of the unit: each begins a unit of its own."""
        before = self.text[unit.start : places[0]].rstrip(_BLANKS)
        unit_end = unit.end
        unit.end = unit.start + len(before)
        if unit.end > unit.start:
            self.write(unit)
        for start, after in zip(places, [*places[1:], unit_end], strict=True):
            piece = self.text[start:after].rstrip(_BLANKS)
            end = start + len(piece)
            if self.head(start, end, piece, wrapped=False):
                part, self.unit = self.unit, None
            else:
                part = _Unit(start, start, end, start)
            if part is not None:
                self.write(part)

    def write(self, unit: _Unit) -> None:
        body = self.text[unit.body : unit.end]
        kind = kinds.kind_of(body, self.section, unit.item)
        if self.text[unit.start] == "#" and unit.item and _PROBLEM.match(body):
            kind = "header"
        found = [] if kind == "medication" else sentences(self.text, unit.body, unit.end)
        if len(found) < 2 and unit.end - unit.start <= LONGEST:
            self.put(unit.start, unit.end, kind)
            return
        found = found or [(unit.body, unit.end)]
        first_end = found[0][1]
        if first_end - unit.start <= LONGEST or not unit.headed:
            found[0] = (unit.start, first_end)
        else:
            self.put(unit.start, unit.body, "header")
        for start, end in found:
            for piece in fit(self.text, start, end):
                words = self.text[piece[0] : piece[1]]
                self.put(*piece, kinds.kind_of(words, self.section, unit.item))

    def put(self, start: int, end: int, kind: str) -> None:
        """Add a line of at most `LONGEST` characters, unless there is nothing to read in it."""
        end = min(end, start + LONGEST)  # a heading may be underlined for long
        if self.text[end - 1] in _BLANKS:
            end = start + len(self.text[start:end].rstrip(_BLANKS))
        if _LETTER_OR_DIGIT.search(self.text, start, end):
            self.out.append(Cut(start, end, self.section, kind))


def _physical(text: str) -> Iterator[tuple[int, int]]:
    """The physical lines of ``text`` without the blanks around them; start == end where blank."""
    at = 0
    for raw in text.splitlines(keepends=True):
        whole = raw.lstrip(_BLANKS)
        start = at + len(raw) - len(whole)
        yield start, start + len(whole.rstrip(_BLANKS))
        at += len(raw)


def _wrap_width(text: str, lines: list[tuple[int, int]]) -> int | None:
    """The width at which the note's paragraphs were wrapped; None where they were not.

    Judged by the lines that go on in lower case, or end in a comma.
    """
    least, most = _MAY_WRAP
    lengths = [
        end - start
        for (start, end), (after, _) in pairwise(lines)
        if least <= end - start <= most and text[after : after + 1].islower()
    ]
    if len(lengths) < 3:
        return None
    lengths.sort()
    return lengths[int(0.9 * (len(lengths) - 1))]
