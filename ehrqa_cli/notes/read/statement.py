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
from ehrqa_cli.notes.find.lexical import Group, Places, matches
from ehrqa_cli.notes.read.speaking import Span, Wanted, stance_in
from ehrqa_cli.notes.read.topic import topic
from ehrqa_cli.words.lists import stop_words

_FIELD = re.compile(r"[^:]{1,30}:.{0,60}$")  # of a note's head: "Patient ID: 20113"
_END = re.compile(r"[,;]|\.\s")
_NEAREST = 3  # lines shown where none names all that is asked about
_APART = 60  # characters between two things that are named together
_CLOSE = 25  # and between the words of one thing


class Said(StrEnum):
    """What the notes say of the thing asked about."""

    YES = "yes"
    NO = "no"
    UNMENTIONED = "unmentioned"
    NEAR = "near"  # a part of it, or what often goes with it, is named; it is not
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


def judge(question: str, lines: Sequence[Line]) -> Verdict:
    """What ``lines``, all of one patient's notes in their order, say to the yes/no ``question``."""
    about = topic(question)
    wanted = Wanted.of(about)
    thing = " ".join(group.phrase for group in wanted.core)
    found = mentions(wanted, lines)
    if not found:
        near = _nearest(wanted, lines)
        return Verdict(Said.NEAR if near else Said.UNMENTIONED, near, thing)
    ayes = [m for m in found if m.stance is Stance.STATED]
    noes = [m for m in found if m.stance is Stance.NEGATED]
    if about.flipped:
        ayes, noes = noes, ayes
    if about.compares or bool(ayes) == bool(noes):
        return Verdict(Said.UNCLEAR, _best(found), thing)
    return Verdict(Said.YES if ayes else Said.NO, _best(ayes or noes), thing)


def _nearest(wanted: Wanted, lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines that name most words of what is asked about, by any name that goes with them. That
    the notes are silent may be said only where there is none."""
    words = {
        w for group in wanted.core for w in group.phrase.split() if w not in stop_words("find")
    }
    groups = [*wanted.core, *(Group(word, terms.names_of(word)) for word in sorted(words))]
    named = matches(groups, [line.text for line in lines]).sum(axis=0)
    order = sorted(range(len(lines)), key=lambda n: (-named[n], n))
    return tuple(lines[n] for n in order[:_NEAREST] if named[n] and lines[n].kind != "header")


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
        together = _together(
            [thing.inside.get(n, []) for thing in things], [n in thing.above for thing in things]
        )
        if not together:
            if any(n in t.denied for t in things) and _rest_named(things, n):
                found.append(Mention(line, Stance.NEGATED, False, 0))
            continue
        earlier = texts[n - 1] if n and lines[n - 1].note_id == line.note_id else ""
        within = all(n in thing.inside or n in thing.above for thing in scope)
        told = []
        for spans in together:
            words = sorted(w for span in spans for w in _words_at(things, n, span))
            stance = stance_in(wanted, line, heads[n], words, earlier)
            if stance is Stance.NEGATED and not _all_in(spans, [t.strictly for t in things], n):
                stance = Stance.UNSURE  # a kind is denied, which does not deny the thing
            if stance is Stance.STATED and (not within or _broken(line, words)):
                stance = Stance.UNSURE  # not said to be so then, or of other things
            told.append(stance)
        stance, spans = _plainest(told), together[0]
        gap = max((b[0] - a[1] for a, b in pairwise(spans)), default=0)
        found.append(Mention(line, stance, _all_in(spans, [t.own for t in things], n), max(gap, 0)))
    return found


@dataclass(frozen=True)
class _Thing:
    """Where lines name one thing that is asked about, by the number of the line: by names of it
    and of its kinds, by names of it alone, in the question's own words; in what stands above the
    line; and by a word that denies it by itself ("afebrile"). ``apart`` has the places of the words
    where these stand apart: each is spoken of by itself ("kidneys: no stones")."""

    inside: dict[int, list[Span]]
    strictly: dict[int, list[Span]]
    own: dict[int, list[Span]]
    above: dict[int, list[Span]]
    denied: dict[int, list[Span]]
    apart: dict[tuple[int, Span], list[Span]]

    @classmethod
    def of(cls, group: Group, texts: Places, heads: Places) -> _Thing:
        same, kinds = terms.proofs(group.phrase)
        inside, strictly = texts.of(same | kinds), texts.of(same)
        apart = {}
        for n, spans in _apart(group.phrase, texts).items():
            whole = spans[0][0], spans[-1][1]
            if whole not in inside.get(n, []):
                apart[n, whole] = spans
            for found in (inside, strictly):
                found.setdefault(n, []).append(whole)
        own, denied = texts.of([group.phrase]), texts.of(terms.deniers(same))
        return cls(inside, strictly, own, heads.of(same | kinds), denied, apart)


def _broken(line: Line, words: Sequence[Span]) -> bool:
    """Does a clause end between things ("kidneys normal, stones in the gallbladder")? Among
    allergies it is a list that goes on."""
    between = (line.text[a[1] : b[0]] for a, b in pairwise(words))
    return line.section != "allergies" and any(_END.search(text) for text in between)


def _words_at(things: Sequence[_Thing], n: int, span: Span) -> list[Span]:
    """``span`` of line ``n``, or the words that it consists of where they stand apart."""
    return next((t.apart[n, span] for t in things if (n, span) in t.apart), [span])


def _apart(phrase: str, texts: Places) -> dict[int, list[Span]]:
    """Where the words of a phrase stand near one another otherwise: "allergy: penicillin"."""
    words = [w for w in phrase.split() if w not in stop_words("find")]
    if len(words) < 2:
        return {}
    places = [texts.of(frozenset.union(*terms.proofs(word))) for word in words]
    found = {}
    for n in set.intersection(*(set(p) for p in places)):
        for spans in _together([p[n] for p in places], [False] * len(words))[:1]:
            if all(b[0] - a[1] <= _CLOSE for a, b in pairwise(spans)):
                found[n] = spans
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


def _together(places: Sequence[Sequence[Span]], above: Sequence[bool]) -> list[list[Span]]:
    """The ways in which one place of each thing stand near one another, in their order, the
    closest first; those that only stand above the line are left out."""
    if any(not some and not head for some, head in zip(places, above, strict=True)):
        return []
    there = [some for some in places if some]
    found: list[list[Span]] = []
    for first in there[0] if there else ():
        chosen = [first]
        for some in there[1:]:
            chosen.append(min(some, key=lambda span: min(_gap(span, c) for c in chosen)))
        chosen.sort()
        if all(b[0] - a[1] <= _APART for a, b in pairwise(chosen)) and chosen not in found:
            found.append(chosen)
    return sorted(found, key=lambda spans: spans[-1][1] - spans[0][0])


def _plainest(told: Sequence[Stance]) -> Stance:
    """How a line speaks of what it names more than once: plainly where it does so once and not
    both ways."""
    plain = {stance for stance in told if stance in (Stance.STATED, Stance.NEGATED)}
    return plain.pop() if len(plain) == 1 else Stance.UNSURE if plain else told[0]


def _gap(one: Span, other: Span) -> int:
    return max(one[0] - other[1], other[0] - one[1], 0)


def _all_in(spans: Sequence[Span], places: Sequence[dict[int, list[Span]]], n: int) -> bool:
    """Is each of ``spans`` a place of one of ``places`` in line ``n``?"""
    every = {span for some in places for span in some.get(n, [])}
    return all(span in every for span in spans)


def _best(found: list[Mention]) -> tuple[Line, ...]:
    ordered = sorted(found, key=lambda m: (not m.own, m.gap))
    return tuple(dict.fromkeys(m.line for m in ordered))
