"""Do the notes say that something is so, or that it is not? The verdict of a yes/no question.

A yes needs a line that names every thing asked about, or a strict synonym or a kind of it
(`terms.proofs`), near one another, said of this patient as a fact (`speaking`); a no needs such a
line that denies it. Silence is neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from ehrqa_cli.contracts.notes import Line, Stance
from ehrqa_cli.notes.find import terms
from ehrqa_cli.notes.find.lexical import Group, Places, stop_words
from ehrqa_cli.notes.read.speaking import Span, Wanted, stance_in
from ehrqa_cli.notes.read.topic import topic

_FIELD = re.compile(r"[^:]{1,30}:.{0,60}$")  # of a note's head: "Patient ID: 20113"
_APART = 60  # characters between two things that are named together
_CLOSE = 25  # and between the words of one thing


class Said(StrEnum):
    """What the notes say of the thing asked about."""

    YES = "yes"
    NO = "no"
    UNMENTIONED = "unmentioned"
    UNCLEAR = "unclear"  # named, but not as a fact of this patient, or said both ways


@dataclass(frozen=True)
class Mention:
    """A line that names all that is asked about, and how it speaks of it."""

    line: Line
    stance: Stance
    own: bool  # in the question's own words
    gap: int


@dataclass(frozen=True)
class Verdict:
    """``lines`` bear the verdict out, best first; where there is none they are the nearest."""

    said: Said
    lines: tuple[Line, ...]
    thing: str
    features: dict[str, float]
    stance: Stance | None = None


def judge(question: str, lines: Sequence[Line]) -> Verdict:
    """What ``lines``, all of one patient's notes in their order, say to the yes/no ``question``."""
    about = topic(question)
    wanted = Wanted.of(about)
    thing = " ".join(group.phrase for group in wanted.core)
    found = mentions(wanted, lines)
    if not found:
        return Verdict(Said.UNMENTIONED, (), thing, {})
    ayes = [m for m in found if m.stance is Stance.STATED]
    noes = [m for m in found if m.stance is Stance.NEGATED]
    if about.flipped:
        ayes, noes = noes, ayes
    features = _features(wanted, ayes, noes, found)
    if about.compares or bool(ayes) == bool(noes):
        return Verdict(Said.UNCLEAR, _best(found), thing, features, found[0].stance)
    chosen = ayes or noes
    said = Said.YES if ayes else Said.NO
    return Verdict(said, _best(chosen), thing, features, chosen[0].stance)


def mentions(wanted: Wanted, lines: Sequence[Line]) -> list[Mention]:
    """The lines that name all that is wanted near together, with how they speak of it."""
    heads = _headings(lines)
    texts = [line.text for line in lines]
    with Places(texts) as inside, Places(heads) as above:
        things = [_Thing.of(group, inside, above) for group in wanted.core]
        scope = [_Thing.of(group, inside, above) for group in wanted.about.scope]
    found = []
    for n, line in enumerate(lines):
        if line.kind == "header" or (line.section == "administrative" and _FIELD.match(line.text)):
            continue
        spans = _together(
            [thing.inside.get(n, []) for thing in things], [n in t.above for t in things]
        )
        if not spans:
            if any(n in thing.denied for thing in things) and _rest_named(things, n):
                found.append(Mention(line, Stance.NEGATED, False, 0))
            continue
        earlier = texts[n - 1] if n and lines[n - 1].note_id == line.note_id else ""
        stance = stance_in(wanted, line, heads[n], spans, earlier)
        if stance is Stance.NEGATED and not _all_in(spans, [t.strictly for t in things], n):
            stance = Stance.UNSURE  # a kind is denied, which does not deny the thing
        if stance is Stance.STATED and not all(n in t.inside or n in t.above for t in scope):
            stance = Stance.UNSURE  # it was so, but not said to be so then
        gap = max((b[0] - a[1] for a, b in pairwise(spans)), default=0)
        found.append(Mention(line, stance, _all_in(spans, [t.own for t in things], n), max(gap, 0)))
    return found


@dataclass(frozen=True)
class _Thing:
    """Where lines name one thing that is asked about, by the number of the line: by names of it
    and of its kinds, by names of it alone, in the question's own words; in what stands above the
    line; and by a word that denies it by itself ("afebrile")."""

    inside: dict[int, list[Span]]
    strictly: dict[int, list[Span]]
    own: dict[int, list[Span]]
    above: dict[int, list[Span]]
    denied: dict[int, list[Span]]

    @classmethod
    def of(cls, group: Group, texts: Places, heads: Places) -> _Thing:
        same, kinds = terms.proofs(group.phrase)
        inside, strictly = texts.of(same | kinds), texts.of(same)
        for n, span in _apart(group.phrase, texts).items():
            for found in (inside, strictly):
                found.setdefault(n, []).append(span)
        own, denied = texts.of([group.phrase]), texts.of(terms.deniers(same))
        return cls(inside, strictly, own, heads.of(same | kinds), denied)


def _apart(phrase: str, texts: Places) -> dict[int, Span]:
    """Where the words of a phrase stand near one another otherwise: "allergy: penicillin"."""
    words = [w for w in phrase.split() if w not in stop_words()]
    if len(words) < 2:
        return {}
    places = [texts.of(frozenset.union(*terms.proofs(word))) for word in words]
    found = {}
    for n in set.intersection(*(set(p) for p in places)):
        spans = _together([p[n] for p in places], [False] * len(words))
        if spans and all(b[0] - a[1] <= _CLOSE for a, b in pairwise(spans)):
            found[n] = (spans[0][0], spans[-1][1])
    return found


def _rest_named(things: Sequence[_Thing], n: int) -> bool:
    """Is each thing named in line ``n``, or denied there by a word of its own?"""
    return all(n in t.denied or n in t.inside or n in t.above for t in things)


def _headings(lines: Sequence[Line]) -> list[str]:
    """What stands above each line: its section, its header, and the line that leads its list in."""
    found, header, lead, note = [], "", "", ""
    for line in lines:
        if line.note_id != note:
            header, lead, note = "", "", line.note_id
        if line.kind == "header":
            header, lead = line.text, ""
        elif line.kind not in ("item", "medication"):
            lead = ""
        found.append(f"{line.section} | {header} | {lead}")
        if line.kind != "header" and line.text.rstrip().endswith(":"):
            lead = line.text
    return found


def _together(places: Sequence[Sequence[Span]], above: Sequence[bool]) -> list[Span]:
    """One place of each thing, all near one another, in their order; those that only stand above
    the line are left out. Empty where one is missing or far from the others."""
    if any(not some and not head for some, head in zip(places, above, strict=True)):
        return []
    there = [some for some in places if some]
    if not there:
        return []
    best: list[Span] = []
    for first in there[0]:
        chosen = [first]
        for some in there[1:]:
            chosen.append(min(some, key=lambda span: min(_gap(span, c) for c in chosen)))
        chosen.sort()
        if not best or chosen[-1][1] - chosen[0][0] < best[-1][1] - best[0][0]:
            best = chosen
    near = all(b[0] - a[1] <= _APART for a, b in pairwise(best))
    return best if near else []


def _gap(one: Span, other: Span) -> int:
    return max(one[0] - other[1], other[0] - one[1], 0)


def _all_in(spans: Sequence[Span], places: Sequence[dict[int, list[Span]]], n: int) -> bool:
    """Is each of ``spans`` a place of one of ``places`` in line ``n``?"""
    every = {span for some in places for span in some.get(n, [])}
    return all(span in every for span in spans)


def _best(found: list[Mention]) -> tuple[Line, ...]:
    ordered = sorted(found, key=lambda m: (not m.own, m.gap))
    return tuple(dict.fromkeys(m.line for m in ordered))


def _features(
    wanted: Wanted, ayes: list[Mention], noes: list[Mention], found: list[Mention]
) -> dict[str, float]:
    chosen = ayes or noes
    return {
        "one": 1.0,
        "yes": float(bool(ayes)),
        "own": float(any(m.own for m in chosen)),
        "lines": min(len(chosen), 5) / 5,
        "others": min(len(found) - len(chosen), 5) / 5,
        "core": min(len(wanted.core), 5) / 5,
        "gap": min((m.gap for m in chosen), default=0) / _APART,
        "either": float(wanted.about.either),
        "flipped": float(wanted.about.flipped),
    }
