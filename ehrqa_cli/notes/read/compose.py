"""The answer: the best line as it stands, or what is worked out of several lines."""

from __future__ import annotations

import re

from ehrqa_cli.contracts.notes import Line
from ehrqa_cli.notes.find.mention import find_mention
from ehrqa_cli.notes.lines.kinds import MARKER
from ehrqa_cli.notes.read import calculate
from ehrqa_cli.notes.read.evidence import Evidence
from ehrqa_cli.notes.read.question import AnswerKind, NoteQuestion

_ITEMS = ("item", "medication")
_LISTS = frozenset(
    {"allergies", "medications", "discharge medications", "medications on admission"}
    | {"procedures", "past medical history", "past surgical history", "discharge diagnosis"}
)
_DANGLING = re.compile(
    r"\b(?:because of|due to|for|from|secondary to) (?:it|this|that|these|them|which|those)\b",
    re.I,
)
_LIST = re.compile(
    r"\b(?:list|all (?:of )?(?:the|his|her|their)|what (?:are|were|other))\b"
    r"|\b(?:what|which) (?:\w+ )?(?!does\b)\w{3,}s\b",
    re.I,
)
_WORKED = 6  # lines from which a number is worked out
_COMPARED = 2  # lines that a comparison is made of
_LEAST_SHARE = 0.25  # what the second line of a comparison names of what the question says


def compose(evidence: Evidence) -> tuple[str, tuple[Line, ...]]:
    """The answer and the lines that it is taken from, of evidence that has at least one line."""
    asked = evidence.asked
    lines = [each.line for each in evidence.lines]
    stay = calculate.stay_days(asked, lines, evidence.meant)
    if stay is not None:
        return f"{stay[0]} days", stay[1]
    best = lines[0]
    if asked.kind is AnswerKind.COMPARISON:
        return _comparison(evidence)
    if asked.kind is AnswerKind.ARITHMETIC:
        texts = [line.text for line in lines[:_WORKED]]
        worked = calculate.work_out(asked, texts, [places(asked, text) for text in texts])
        if worked is not None:
            return worked[0], tuple(lines[n] for n in worked[1])
    found = [best]
    if _LIST.search(asked.text):
        found = _items(best, lines)
    elif asked.kind is AnswerKind.REASON and _DANGLING.search(best.text):
        found = [x for x in lines if x.note_id == best.note_id and x.number == best.number - 1]
        found.append(best)  # "stopped because of it": what, stands before
    return _joined(found), tuple(found)


def _joined(lines: list[Line]) -> str:
    """The lines one after the other, with a semicolon behind one that does not end."""
    texts = [quoted(line) for line in lines]
    ended = [text if text.endswith((".", "!", "?", ";")) else f"{text};" for text in texts[:-1]]
    return " ".join([*ended, *texts[-1:]])


def quoted(line: Line) -> str:
    """The text of a line without the mark of a list before it."""
    text = line.text.strip()
    mark = MARKER.match(text)
    return text[mark.end() :].strip() if mark else text


def _items(best: Line, lines: list[Line]) -> list[Line]:
    """The list that ``best`` is an item of, or the section that is a list as a whole, as far as
    their lines are known: one of several would be taken for all."""
    known = {
        x.number: x
        for x in lines
        if (x.note_id, x.section) == (best.note_id, best.section)
        and (x.kind in _ITEMS or x.section in _LISTS)
    }
    if best.number not in known:
        return [best]
    first = last = best.number
    while first - 1 in known:
        first -= 1
    while last + 1 in known:
        last += 1
    return [known[number] for number in range(first, last + 1)]


def places(asked: NoteQuestion, text: str) -> list[tuple[float, int, int]]:
    """Where ``text`` names what the question asks about, with how much that tells."""
    found = []
    for group, weight in zip(asked.groups, asked.weights, strict=True):
        place = find_mention(text, group)
        if place is not None:
            found.append((weight, *place))
    return found


def _comparison(evidence: Evidence) -> tuple[str, tuple[Line, ...]]:
    """The best line of each note, in the order of the notes; of one note, its best line."""
    chosen: list[Line] = []
    for each, features in zip(evidence.lines, evidence.features, strict=True):
        other = all(each.line.note_id != line.note_id for line in chosen)
        if other and (not chosen or features["share"] >= _LEAST_SHARE):
            chosen.append(each.line)
        if len(chosen) == _COMPARED:
            break
    chosen.sort(key=lambda line: line.note_id)
    return _joined(chosen), tuple(chosen)
