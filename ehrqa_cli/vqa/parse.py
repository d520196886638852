"""Natural wording to a program: mentions, joined by the words between them.

General rules over the vocabulary, no list of questions. Words left over that are not grammar name
something unknown: then there is no program.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from itertools import pairwise

from ehrqa_cli.contracts.images import VqaReason
from ehrqa_cli.vqa import simple
from ehrqa_cli.vqa.lexicon import (
    FINDING,
    PLACE,
    SIDES,
    Mention,
    grammar,
    home,
    mentions,
    tokenise,
)
from ehrqa_cli.vqa.program import NAME, Expr, Leaf, Op, Program, join, leaves
from ehrqa_cli.vqa.wording import NEGATIVE, TOGETHER, Wording, asked, is_general

MAX_LENGTH = 500
_FLIP = {"and": "or", "or": "and"}


class Unparsed(Exception):
    """The words give no program; ``reason`` says why."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = VqaReason(kind, sentence)


@functools.lru_cache(maxsize=4096)
def parse(question: str) -> Program:
    """The program of a question about one image. Raises Unparsed."""
    if len(question) > MAX_LENGTH:
        raise Unparsed("not_understood", f"The question is longer than {MAX_LENGTH} characters.")
    tokens = tokenise(question)
    found = mentions(tokens)
    if is_general(tokens, found):
        raise Unparsed(
            "general", "It asks how, why or when, or what holds in general: no image tells that."
        )
    width = simple.ratio(question) or simple.width(question)
    if width:
        return width
    program = simple.view(tokens, found) or simple.sex(tokens, found)
    _no_leftovers(tokens, found, simple.WORDS if program else frozenset())
    return program or _Reading(Wording.of(tokens, found)).program()


def _no_leftovers(tokens: list[str], found: list[Mention], known: frozenset[str]) -> None:
    inside = {k: m.kind for m in found for k in range(m.start, m.end)}
    allowed = grammar() | known
    left = [k for k, t in enumerate(tokens) if k not in inside and t not in allowed]
    # a number of six digits is the id of a study
    left = [k for k in left if not (tokens[k].isdigit() and len(tokens[k]) >= 6)]
    if left:
        named = [k for k in range(len(tokens)) if k in left or inside.get(k) == PLACE]
        shown = " ".join(tokens[k] for k in named[:6])
        raise Unparsed(
            "unknown_finding",
            f"“{shown}” is not among the findings and places that can be asked about.",
        )


@dataclass(frozen=True)
class _Part:
    """Findings and places that belong together, each group joined by its operation."""

    findings: tuple[Mention, ...]
    finding_op: str
    places: tuple[Mention, ...]
    place_op: str


class _Reading:
    """One question that names findings."""

    def __init__(self, wording: Wording) -> None:
        if not wording.findings:
            raise Unparsed("not_understood", "It names no finding that can be asked about.")
        self.ask, self.choose = asked(wording)
        self.wording = wording
        found = wording.found
        if self.choose and len(wording.attributes) > 1:
            # "Which disease is it, A or B?": the class only says what A and B are.
            found = [m for m in found if m.kind == PLACE or not m.is_category]
        self.found = found

    def program(self) -> Program:
        """Raises Unparsed where the words do not decide."""
        parts, ops = self._parts()
        built = [self._part(part) for part in parts]
        if len(set(ops)) > 1:
            raise Unparsed("ambiguous", "The parts of the question are joined in several ways.")
        expr = join(ops[0] if ops else "and", built)
        named = {leaf.finding for leaf in leaves(expr)}
        if self.ask == NAME and len(named) == 1 and not self.wording.findings[0].is_category:
            raise Unparsed("ambiguous", "A list of findings is asked for, but only one is named.")
        if self._is_negated():
            expr = Op("none", (expr,))
        return Program(self.ask, expr, choose=self.choose)

    def _parts(self) -> tuple[list[_Part], list[str]]:
        """Findings with their places: "A in the left lung and B in the right lung" has two."""
        groups: list[list[Mention]] = []
        for m in self.found:
            if groups and groups[-1][0].kind == m.kind:
                groups[-1].append(m)
            else:
                groups.append([m])
        parts: list[_Part] = []
        ops: list[str] = []
        findings: tuple[Mention, ...] = ()
        for k in range(0, len(groups), 2):
            pair = groups[k : k + 2]
            places = tuple(m for g in pair for m in g if m.kind == PLACE)
            mine = tuple(m for g in pair for m in g if m.kind == FINDING)
            if k and mine and not places:
                raise Unparsed("ambiguous", "It is not clear where the last finding should be.")
            findings = mine or findings  # "in the left lung and also in the right lung"
            parts.append(
                _Part(
                    findings,
                    self._group_op(findings, FINDING),
                    places,
                    self._group_op(places, PLACE),
                )
            )
            if k:
                ops.append(self._between(groups[k - 1][-1].end, pair[0][0].start, PLACE) or "and")
        return parts, ops

    def _group_op(self, group: tuple[Mention, ...], kind: str) -> str:
        """How findings (or places) that stand together are joined."""
        said = {
            self._between(one.end, two.start, kind)
            for one, two in pairwise(group)
            if one.end <= two.start
        } - {""}
        if len(group) > 1 and self._denied_after(group[-1]):
            said = {"not"}
        if len(said) > 1:
            raise Unparsed("ambiguous", "The question joins its parts in several ways.")
        if self.choose:
            return "or"
        op = said.pop() if said else "and"
        return "or" if op == "and" and group and self._at_least_one(group[0]) else op

    def _between(self, start: int, end: int, kind: str) -> str:
        """and, or, not; "" for a comma, which means what the next word means."""
        words = self.wording.words(start, end)
        if NEGATIVE.intersection(words):
            return "or" if "neither" in self.wording.tokens else "not"
        if "or" in words:
            return "or"
        if all(w == "," for w in words):
            return ""
        # "List all A and B" lists either; places are joined only by "both", "in common".
        together = kind == PLACE and TOGETHER.intersection(self.wording.words())
        return "or" if self.ask == NAME and not together else "and"

    def _at_least_one(self, first: Mention) -> bool:
        words = self.wording.words(max(0, first.start - 5), first.start)
        return bool(re.search(r"\b(one of|any of|either)\b", " ".join(words)))

    def _denied_after(self, last: Mention) -> bool:
        """ "... that the right lung does not", after the last of several."""
        end = next((m.start for m in self.found if m.start >= last.end), None)
        return bool({"not", "lack", "lacks", "without"}.intersection(self._words(last.end, end)))

    def _words(self, start: int, end: int | None) -> list[str]:
        return self.wording.words(start, end)

    def _is_negated(self) -> bool:
        """Is the whole denied? Words of denial that join two mentions are not counted."""
        words = self._words(0, self.found[0].start)
        for one, two in pairwise(self.found):
            if one.kind != two.kind:
                words += self._words(one.end, two.start)
        last = self.found[-1]
        several = sum(m.kind == last.kind for m in self.found) > 1
        if not (several and self._denied_after(last)):
            words += self._words(last.end, None)
        denials = sum(w in NEGATIVE or w == "neither" for w in words)
        return (denials + self.wording.all_normal) % 2 == 1

    def _part(self, part: _Part) -> Expr:
        if not part.places:
            return _joined(part.finding_op, [self._somewhere(m) for m in part.findings])
        if any(m.side for m in part.findings):
            raise Unparsed("ambiguous", "A side is given as well as a place.")
        # Both lungs are normal when there is nothing in either of them.
        flip = _FLIP if self.wording.all_normal else {}
        built: list[Expr] = []
        for m in part.places:
            each = [
                _joined(part.finding_op, [Leaf(f.name, place) for f in part.findings])
                for place in m.places
            ]
            built.append(join(flip.get(m.op, m.op) or "or", each))
        return _joined(flip.get(part.place_op, part.place_op), built)

    def _somewhere(self, m: Mention) -> Expr:
        if not m.side:
            return Leaf(m.name)
        sides = SIDES if m.side == "both" else (m.side,)
        homes = [home(m.name, side) for side in sides]
        if None in homes:
            raise Unparsed("ambiguous", f"It is not clear where {m.name} on the {m.side} would be.")
        return join("and", [Leaf(m.name, place) for place in homes])


def _joined(op: str, parts: list[Expr]) -> Expr:
    return join(op, list(dict.fromkeys(parts)))
