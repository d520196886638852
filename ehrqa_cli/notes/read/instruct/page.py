"""What the model is shown of a record: its lines with numbers, whole or those that matter.

Headings have no number, since they answer nothing. Lines are numbered anew on every page, from 1,
so that a number is short and says nothing of where in the record it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.notes import FoundLine, Line
from ehrqa_cli.notes.read.record import Record, RecordNote

LONGEST = 300  # characters of a line that are shown: what a citation can quote
_BESIDE = 1  # lines before and after a found one that are shown with it
_GAP = "...\n"

Key = tuple[str, int]
Count = Callable[[str], int]


@dataclass(frozen=True)
class Page:
    """The text, and the lines in it by their numbers. ``whole``: nothing was left out."""

    text: str
    lines: Mapping[int, Line]
    whole: bool


def whole_page(record: Record, out: frozenset[Key], budget: int, count: Count) -> Page | None:
    """All of ``record`` but the lines ``out``; None where it has more than ``budget`` tokens as
    ``count`` counts them."""
    # A token has at most a few letters: what is far too long is not counted at all.
    if sum(line.end - line.start for note in record.notes for line in note.lines) > 8 * budget:
        return None
    every = {_key(line) for note in record.notes for line in note.lines} - out
    page = _page(record, every, True)
    return page if count(page.text) <= budget else None


def best_page(
    record: Record, found: Sequence[FoundLine], out: frozenset[Key], budget: int, count: Count
) -> Page:
    """The lines of ``record`` around the best of ``found``, with their headings, in their order."""
    place = {_key(line): (note, i) for note in record.notes for i, line in enumerate(note.lines)}
    chosen: set[Key] = set()
    used = 0
    for each in found:
        if _key(each.line) not in place:
            continue
        note, at = place[_key(each.line)]
        near = note.lines[max(0, at - _BESIDE) : at + _BESIDE + 1]
        fresh = [x for x in (*near, *_heading(note, at)) if _key(x) not in chosen | out]
        cost = sum(count(_numbered(1000, line)) for line in fresh)
        if used + cost > budget and chosen:
            break
        used += cost
        chosen.update(_key(line) for line in fresh)
    return _page(record, chosen, False)


def _heading(note: RecordNote, at: int) -> tuple[Line, ...]:
    """The heading under which the line at ``at`` stands."""
    for line in reversed(note.lines[:at]):
        if line.kind == "header":
            return (line,)
    return ()


def _page(record: Record, chosen: set[Key], whole: bool) -> Page:
    lines: dict[int, Line] = {}
    pieces: list[str] = []
    for n, note in enumerate(record.notes, 1):
        if not any(_key(line) in chosen for line in note.lines):
            continue
        when = f", {note.charttime}" if note.charttime else ""
        pieces.append(f"[Note {n}: {note.category}{when}]\n")
        for line, follows in _runs(note, chosen):
            if not follows and not whole:
                pieces.append(_GAP)
            if line.kind == "header":
                pieces.append(_shown(line) + "\n")
                continue
            lines[len(lines) + 1] = line
            pieces.append(_numbered(len(lines), line))
    return Page("".join(pieces), lines, whole)


def _runs(note: RecordNote, chosen: set[Key]) -> Iterator[tuple[Line, bool]]:
    """The chosen lines of a note, each with whether it follows the one before."""
    before = -1
    for line in note.lines:
        if _key(line) in chosen:
            yield line, line.number == before + 1
            before = line.number


def _numbered(number: int, line: Line) -> str:
    return f"{number}| {_shown(line)}\n"


def _shown(line: Line) -> str:
    """A line's text on one line, as far as a citation can quote it."""
    return " ".join(line.text[:LONGEST].split())


def _key(line: Line) -> Key:
    return line.note_id, line.number
