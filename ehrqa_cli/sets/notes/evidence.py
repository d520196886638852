"""Where a model's quotation stands in the notes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.lines import split
from ehrqa_cli.words.lists import stop_words

LONGEST = 300  # characters, of a piece of evidence as of an excerpt
_MOST = 3  # pieces
_LEAST = 3  # words of a quotation, or of a part of one
_QUOTED = re.compile(r"[\"“]([^\"“”]+)[\"”]")
_SENTENCE = re.compile(r"(?<=[.;!?])\s+|\n+")
_WORD = re.compile(r"\d+(?:[.,/]\d+)*|[^\W\d_]+")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")  # of a note, as the paper's prompt asks for it
_STEM = 5
_MARKS = ' \t\n"“”*'
# Of a quotation that is retold: words that say something, those that a line must add, and the share
# of them that the lines must have.
_FRAME = "the discharge summary's note states mentions charted that the patient mr mrs according"
_RETOLD, _ADDS, _COVERED = 4, 2, 0.75


@dataclass(frozen=True)
class Place:
    """A piece of a note: ``text`` is ``note.text[start:end]``."""

    note_id: str
    start: int
    end: int
    text: str


def content(text: str) -> frozenset[str]:
    """The words that say something, shortened so that "treated" is "treatment", and all numbers."""
    words = (w for w in _WORD.findall(text.lower()) if w not in stop_words("find"))
    return frozenset(w if w[0].isdigit() else w[:_STEM] for w in words if len(w) > 1 or w.isdigit())


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text, without the commas of thousands."""
    return frozenset(w.replace(",", "") for w in _WORD.findall(text) if w[0].isdigit())


def locate(quoted: str, notes: Sequence[Note], said: str) -> tuple[Place, ...]:
    """Where the quotation stands, blanks and case aside: the whole of it, else what is in quotation
    marks, else its sentences. Of long pieces the lines that share most with ``said``, the question
    and its answer. Empty where it stands nowhere."""
    quotations = [quoted, *_QUOTED.findall(quoted)]
    for one in quotations:
        found = _find(one, notes)
        if found is not None:
            return _short([found], notes, said)
    pieces = (s for one in quotations for s in _SENTENCE.split(one))
    places = [p for s in dict.fromkeys(pieces) if (p := _find(s, notes)) is not None]
    return _short(places, notes, said) if places else ()


def _find(quoted: str, notes: Iterable[Note]) -> Place | None:
    quoted = quoted.strip(_MARKS)
    return find_whole(quoted, notes) if len(quoted.split()) >= _LEAST else None


def find_whole(quoted: str, notes: Iterable[Note]) -> Place | None:
    """Where the whole text stands, blanks and case aside; None where it stands nowhere."""
    words = quoted.split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)), re.I)
    for note in notes:
        if found := pattern.search(note.text):
            return _place(note, found.start(), found.end())
    return None


def by_words(quoted: str, notes: Sequence[Note]) -> tuple[Place, ...]:
    """The lines of the notes that a quotation retells: at most three, which together have at least
    three quarters of its words that say something, and all of its numbers. Empty where there are
    none; models often retell where they should copy."""
    wanted = content(_DATE.sub(" ", quoted)) - content(_FRAME)
    left = set(wanted)
    if len(wanted) < _RETOLD:
        return ()
    lines = [_place(note, c.start, c.end) for note in notes for c in split(note.text)]
    words = [content(line.text) for line in lines]
    taken: list[int] = []
    while left and len(taken) < _MOST:
        best = max(range(len(lines)), key=lambda k: (len(words[k] & left), -k), default=None)
        if best is None or len(words[best] & left) < _ADDS:
            break
        taken.append(best)
        left -= words[best]
    if len(left) > (1 - _COVERED) * len(wanted) or any(w[0].isdigit() for w in left):
        return ()
    return tuple(lines[k] for k in sorted(taken))


def _place(note: Note, start: int, end: int) -> Place:
    return Place(note.note_id, start, end, note.text[start:end])


def _short(places: Sequence[Place], notes: Sequence[Note], said: str) -> tuple[Place, ...]:
    by_id = {note.note_id: note for note in notes}
    wanted = content(said)
    pieces: list[Place] = []
    for place in places:
        if len(place.text) <= LONGEST:
            pieces.append(place)
        else:
            pieces += _lines(by_id[place.note_id], place)
    ranked = sorted(pieces, key=lambda p: (-len(content(p.text) & wanted), p.note_id, p.start))
    best = [p for p in ranked[:_MOST] if content(p.text) & wanted]
    return tuple(sorted(best, key=lambda p: (p.note_id, p.start)))


def _lines(note: Note, place: Place) -> list[Place]:
    """The note's own lines and sentences within a place."""
    found = []
    for line in split(note.text, note.note_id):
        start, end = max(line.start, place.start), min(line.end, place.end, line.start + LONGEST)
        if start < end and note.text[start:end].strip():
            found.append(_place(note, start, end))
    return found


def stands_in(text: str, words: Collection[str]) -> bool:
    """Do all words of ``text`` that say something stand among ``words``?"""
    return content(text) <= frozenset(words)


def share_in(text: str, words: Collection[str]) -> float:
    """The share of them that does; 1 where none says anything ("yes")."""
    own = content(text)
    return len(own & frozenset(words)) / len(own) if own else 1.0
