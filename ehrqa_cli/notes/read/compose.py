"""The short answer, cut from or put together of the best lines, and nothing that is not there."""

from __future__ import annotations

import re

from ehrqa_cli.contracts.notes import Line, Stance
from ehrqa_cli.notes.find.mention import find_mention
from ehrqa_cli.notes.read import calculate
from ehrqa_cli.notes.read.evidence import Evidence
from ehrqa_cli.notes.read.question import Asked, Kind, telling
from ehrqa_cli.notes.read.values import reason_clause, spans_of

_LABEL = re.compile(r"^\s*(?:(?:[-*•#]|\d+[.)])\s*)?(?:[A-Z][\w /&-]{2,40}:\s+)?")
_CLAUSE = re.compile(r"(?<=[;.])\s+|;\s*|,\s+(?=(?:and|but|which|with)\s)|\s[-–—]\s")
_SHORT = 12  # words of a line that is an answer as it stands
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
    if asked.kind is Kind.COMPARISON:
        return _comparison(evidence)
    if asked.kind is Kind.ARITHMETIC:
        texts = [line.text for line in lines[:_WORKED]]
        worked = calculate.work_out(asked, texts, [places(asked, text) for text in texts])
        if worked is not None:
            return worked[0], tuple(lines[n] for n in worked[1])
    if asked.kind is Kind.YES_NO:
        return _yes_or_no(evidence), (best,)
    if asked.kind is Kind.REASON:
        return reason_clause(best.text) or clause(asked, best.text), (best,)
    return value(asked, best.text) or clause(asked, best.text), (best,)


def value(asked: Asked, text: str) -> str | None:
    """The value of the wanted sort that stands nearest to what is asked about; None without one."""
    spans = spans_of(asked.kind, text)
    if not spans:
        return None
    known = places(asked, text)
    if not known:
        start, end = spans[0]
    else:
        start, end = min(spans, key=lambda span: _distance(span, known))
    if asked.kind is Kind.DOSE:
        end = _with_frequency(text, end)
    return text[start:end].strip(" .,;")


def clause(asked: Asked, text: str) -> str:
    """The part of a long line that names most of what the question asks about."""
    text = _LABEL.sub("", text, count=1).strip()
    if len(text.split()) <= _SHORT:
        return text.strip(" .;,")
    parts = [part for part in _CLAUSE.split(text) if part and part.strip()]
    named = [sum(weight for weight, _, _ in places(asked, part)) for part in parts]
    best = max(range(len(parts)), key=lambda k: (named[k], -k))
    return parts[best].strip(" .;,")


def places(asked: Asked, text: str) -> list[tuple[float, int, int]]:
    """Where ``text`` names what the question asks about, with how much that tells."""
    found = []
    for group, weight in zip(asked.groups, asked.weights, strict=True):
        place = find_mention(text, group)
        if place is not None:
            found.append((weight, *place))
    return found


def _distance(span: tuple[int, int], places: list[tuple[float, int, int]]) -> float:
    """How far a value stands from what is asked about; farther when it stands before."""
    _, start, end = max(places)
    after = span[0] - end
    return after if after >= 0 else 1.5 * max(start - span[1], 0) + 5


def _with_frequency(text: str, end: int) -> int:
    """Where a dose ends with how often it is taken, if that follows closely."""
    follow = [b for a, b in spans_of(Kind.FREQUENCY, text) if 0 <= a - end <= 25]
    return min(follow) if follow else end


def _yes_or_no(evidence: Evidence) -> str:
    best = evidence.lines[0]
    said = clause(evidence.asked, best.line.text)
    if best.stance is Stance.NEGATED:
        return f"No: {said}"
    if best.stance is Stance.STATED:
        return f"Yes: {said}"
    return said


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
    return "; ".join(clause(evidence.asked, line.text) for line in chosen), tuple(chosen)


def words_that_tell(text: str, least: float = 0.3) -> set[str]:
    """The words of ``text`` in lower case that say something."""
    return {w for w in re.findall(r"[^\W_]+", text.lower()) if telling(w) >= least}
