"""Options of a question against lines: what each line says of each option."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.notes import Stance
from ehrqa_cli.notes.find import lexical
from ehrqa_cli.notes.find.mention import find_mention
from ehrqa_cli.notes.read import calculate
from ehrqa_cli.notes.read.calculate import values_of
from ehrqa_cli.notes.read.compose import places
from ehrqa_cli.notes.read.evidence import Evidence
from ehrqa_cli.notes.read.quantities import Quantity, agree, quantities
from ehrqa_cli.notes.read.question import AnswerKind, telling
from ehrqa_cli.notes.read.values import reason_clause

if TYPE_CHECKING:
    from ehrqa_cli.notes.read.meaning import Matrix, Meaning

BEST, LINES = 24, 40  # lines of the evidence: the best, and with those that are like an option
_SUMMED = 10  # of the lines whose numbers are put together
_REACH = 40.0  # characters over which nearness falls to a third
_FARTHEST = -10.0  # what a line's score is behind the best at most
_NEGATIVE = re.compile(
    r"^\s*(?:no|none|not|never|neither|nothing|nobody|without|nil)\b|\b(?:not|no|never|n't|declined"
    r"|refused|unchanged)\b",
    re.I,
)
_DENIES = re.compile(
    r"\b(?:no|not|never|without|neg|negative|denie[sd]|declin\w+|refus\w+|none|nor|un\w+ed|n't|"
    r"no longer|rather than|instead of|absen\w+|rules? out|ruled out|free of|w/o)\b",
    re.I,
)
_BACKWARDS = re.compile(
    r"\b(?:from|was|were|had been|previous\w*|before|baseline|earlier|compared|instead|against|in"
    r"|than|prior|last)\b",
    re.I,
)
_FORWARDS = re.compile(r"->|\bto\b|\bthen\b|\buntil\b", re.I)
_SIDES = tuple(
    (re.compile(rf"\b(?:{a})\b", re.I), re.compile(rf"\b(?:{b})\b", re.I))
    for a, b in (
        (r"left|l|lt|lue|lle|luq|llq|lul|lll", r"right|r|rt|rue|rle|ruq|rlq|rul|rml|rll"),
        (r"upper|rul|lul|ruq|luq|rue|lue", r"lower|rll|lll|rlq|llq|rle|lle"),
        (r"rais\w+|increas\w+|rose|risen|higher|up|doubled",
         r"reduc\w+|lower\w+|decreas\w+|fell|fallen|cut|down|dropp\w+|halved"),
        (r"start\w*|begun|began|added|begin\w*", r"stopp\w*|discontinued|held|withheld|ceased"),
        (r"before|prior|pre\w*op\w*", r"after|post\w*op\w*"),
    )
)  # fmt: skip
_COMPARED = (
    AnswerKind.COMPARISON,
    AnswerKind.ARITHMETIC,
    AnswerKind.DOSE,
    AnswerKind.OTHER,
    AnswerKind.NUMBER,
)
_SUMS = (AnswerKind.ARITHMETIC,)


@dataclass(frozen=True)
class Pairs:
    """Features of each option with each line: shape (options, lines, names).

    ``lines`` are the places of the lines in the evidence.
    """

    names: tuple[str, ...]
    table: Matrix
    lines: tuple[int, ...]


def compare(evidence: Evidence, options: Sequence[str], meaning: Meaning) -> Pairs:
    """Compare ``options`` with the best lines of ``evidence``."""
    import numpy as np

    work = _Work(evidence, list(options), meaning)
    found = work.features()
    shape = (len(options), len(work.texts))
    names = tuple(found)
    table = np.stack([np.broadcast_to(found[name], shape) for name in names], axis=2)
    return Pairs(names, table.astype(np.float32), work.chosen)


def choose(evidence: Evidence, options: Sequence[str], meaning: Meaning) -> tuple[int, ...]:
    """The places of the lines that options are compared with: the best, and some like an option."""
    rest: Sequence[int] = range(min(BEST, len(evidence.lines)), len(evidence.lines))
    if len(evidence.lines) > LINES:
        joint = [f"{evidence.asked.text} {option}" for option in options]
        near = meaning.cosines(joint, [evidence.lines[n].line.text for n in rest]).max(axis=0)
        by_nearness = sorted(zip(near, rest, strict=True), key=lambda each: (-each[0], each[1]))
        rest = sorted(n for _, n in by_nearness[: LINES - BEST])
    return (*range(min(BEST, len(evidence.lines))), *rest)


class _Work:
    """One question's options and lines, and what is made of them."""

    def __init__(self, evidence: Evidence, options: list[str], meaning: Meaning) -> None:
        self.evidence, self.options, self.meaning = evidence, options, meaning
        self.asked = evidence.asked
        self.chosen = choose(evidence, options, meaning)
        self.lines = [evidence.lines[n] for n in self.chosen]
        self.texts = [each.line.text for each in self.lines]
        self.groups = [tuple(lexical.groups(option)) for option in options]
        self.given = [quantities(option) for option in options]
        self.places = [places(self.asked, text) for text in self.texts]

    def features(self) -> dict[str, Matrix]:
        """All features by name, each of a shape that fits (options, lines)."""
        import numpy as np

        scores = np.array([self.evidence.scores[n] for n in self.chosen], dtype=np.float32)
        return {
            "line": np.maximum(scores - scores[0], _FARTHEST)[None, :],
            **self._words(),
            **self._meaning(),
            **self._numbers(),
            **self._stances(),
            "side": self._sides(),
        }

    @cached_property
    def named(self) -> list[Matrix]:
        """How well the lines name each group of each option."""
        every = [group for some in self.groups for group in some]
        matrix = lexical.matches(every, self.texts)
        found, at = [], 0
        for some in self.groups:
            found.append(matrix[at : at + len(some)])
            at += len(some)
        return found

    def _words(self) -> dict[str, Matrix]:
        import numpy as np

        asked = {name for group in self.asked.groups for name in group.names}
        shape = (len(self.options), len(self.texts))
        covers, own, close = (np.zeros(shape, dtype=np.float32) for _ in range(3))
        for k, some in enumerate(self.groups):
            plain = [(g, telling(x.phrase)) for g, x in enumerate(some) if not x.phrase.isdigit()]
            fresh = [(g, w) for g, w in plain if some[g].phrase not in asked]
            for into, chosen in ((covers, plain), (own, fresh)):
                total = sum(w for _, w in chosen)
                if total:
                    into[k] = sum(w * self.named[k][g] for g, w in chosen) / total
            close[k] = [self._close(k, n, [g for g, _ in fresh]) for n in range(shape[1])]
        return {
            "covers": covers,
            "covers, own": own,
            "covers ahead": _ahead(own),
            "covers whole": (own >= _WHOLE).astype(np.float32),
            "covers anywhere": own.max(axis=1, initial=0.0, keepdims=True),
            "close": close,
            "close ahead": _ahead(close),
            "words": np.array([[min(len(o.split()), 12) / 12] for o in self.options]),
        }

    def _close(self, k: int, n: int, chosen: list[int]) -> float:
        """How near line ``n`` names what is option ``k``'s own to what is asked about, 0 to 1."""
        text = self.texts[n]
        own = [
            place
            for g in chosen
            if self.named[k][g, n] and (place := find_mention(text, self.groups[k][g]))
        ]
        best = 0.0
        for weight, start, end in self.places[n] if own else ():
            for a, b in own:
                if (a, b) != (start, end):
                    gap = max(a - end, start - b, 0)
                    best = max(best, weight * math.exp(-gap / _REACH))
        return best

    def _meaning(self) -> dict[str, Matrix]:
        import numpy as np

        question = self.asked.text
        joint = [f"{question} {option}" for option in self.options]
        meant = self.meaning.cosines(self.options, self.texts)
        joined = self.meaning.cosines(joint, self.texts)
        option_clause = self.meaning.closest(self.options, self.texts)
        joint_clause = self.meaning.closest(joint, self.texts)
        found = {
            "meant": meant,
            "meant ahead": _ahead(meant),
            "joined": joined,
            "joined ahead": _ahead(joined),
            "clause": joint_clause,
            "clause ahead": _ahead(joint_clause),
            "clause, option": option_clause,
            "clause, option ahead": _ahead(option_clause),
            "like the question": self.meaning.cosines(self.options, [question]),
        }
        if self.asked.kind is AnswerKind.REASON:
            reasons = [reason_clause(text) for text in self.texts]
            cosines = self.meaning.cosines(self.options, [x or "none" for x in reasons])
            found["reason"] = cosines * np.array([x is not None for x in reasons])
        else:
            found["reason"] = np.zeros((1, 1), dtype=np.float32)
        return found

    def _numbers(self) -> dict[str, Matrix]:
        import numpy as np

        shape = (len(self.options), len(self.texts))
        there, near, lacks, both, back = (np.zeros(shape, dtype=np.float32) for _ in range(5))
        values = [values_of(text, some) for text, some in zip(self.texts, self.places, strict=True)]
        for k, given in enumerate(self.given):
            for n, some in enumerate(values) if given else ():
                there[k, n] = sum(max((agree(q, v) for v, _ in some), default=0) for q in given)
                near[k, n] = sum(max((agree(q, v) * w for v, w in some), default=0) for q in given)
            there[k] /= max(1, len(given))
            near[k] /= max(1, len(given))
            lacks[k] = float(bool(given)) * (there[k] < _WHOLE)
            if len(given) > 1 and self.asked.kind in _COMPARED:
                both[k], back[k] = self._from_to(given, values)
        sums = float(self.asked.kind in _SUMS)
        worked = self._worked(shape)
        return {
            "quantity": there * (1 - sums),
            "quantity, sums": there * sums,
            "quantity near": near * (1 - sums),
            "quantity ahead": _ahead(near) * (1 - sums),
            "quantity lacks": lacks * (1 - sums),
            "quantity lacks, sums": lacks * sums,
            "worked": worked * (1 - sums),
            "worked, sums": worked * sums,
            "worked ahead, sums": _ahead(worked) * sums,
            "worked best, sums": (worked >= max(worked.max(initial=0.0), 1e-6)) * sums,
            "pair": both,
            "pair back": back,
        }

    def _worked(self, shape: tuple[int, int]) -> Matrix:
        """How well each option's one number is worked out of numbers of a line and of others."""
        import numpy as np

        worked = np.zeros(shape, dtype=np.float32)
        derived = calculate.derived(self.asked, self.texts[:_SUMMED], self.places[:_SUMMED])
        stay = calculate.stay_days(self.asked, [x.line for x in self.lines], self.evidence.meant)
        for k, given in enumerate(self.given):
            if len(given) != 1:
                continue
            for each in derived:
                made = Quantity(each.number, each.unit, 0, 0)
                worth = each.worth * agree(given[0], made)
                for n in each.texts:
                    worked[k, n] = max(worked[k, n], worth)
            if stay is not None and agree(given[0], Quantity(float(stay[0]), "day", 0, 0)):
                for n, text in enumerate(self.lines):
                    worked[k, n] = max(worked[k, n], float(text.line in stay[1]))
        return worked

    def _from_to(
        self, given: Sequence[Quantity], values: list[list[tuple[Quantity, float]]]
    ) -> tuple[Matrix, Matrix]:
        """Do an option's first two numbers stand in lines in the order of time, or against it?"""
        import numpy as np

        forwards, backwards = (np.zeros(len(values), dtype=np.float32) for _ in range(2))
        first = [max(((agree(given[0], v) * w, v) for v, w in some), default=None, key=_worth)
                 for some in values]  # fmt: skip
        other = [max(((agree(given[1], v) * w, v) for v, w in some), default=None, key=_worth)
                 for some in values]  # fmt: skip
        for a, one in enumerate(first):
            for b, two in enumerate(other):
                if one is None or two is None or not one[0] or not two[0] or one[1] == two[1]:
                    continue
                worth = math.sqrt(one[0] * two[0])
                into = forwards if self._in_time(a, b, one[1], two[1]) else backwards
                for n in (a, b):
                    into[n] = max(into[n], worth)
        return forwards, backwards

    def _in_time(self, a: int, b: int, one: Quantity, two: Quantity) -> bool:
        """Is quantity ``one`` of line ``a`` said of an earlier time than ``two`` of line ``b``?"""
        if a != b:
            left, right = self.lines[a], self.lines[b]
            key = [(x.charttime or "", x.line.note_id, x.line.number) for x in (left, right)]
            return key[0] < key[1]
        swapped = two.start < one.start
        early, late = (two, one) if swapped else (one, two)
        between = self.texts[a][early.end : late.start]
        back = _BACKWARDS.search(between) is not None and _FORWARDS.search(between) is None
        return swapped == back

    def _stances(self) -> dict[str, Matrix]:
        import numpy as np

        negative = np.array([[_NEGATIVE.search(o) is not None] for o in self.options], dtype=float)
        denied = np.array(
            [[x.stance is Stance.NEGATED or self._denies(n) for n, x in enumerate(self.lines)]],
            dtype=float,
        )
        asks = float(self.asked.kind is AnswerKind.YES_NO)
        return {
            "negative": negative * asks,
            "negative, other": negative * (1 - asks),
            "denied": negative * denied * asks,
            "denied, other": negative * denied * (1 - asks),
            "not denied": negative * (1 - denied) * asks,
            "affirmed, denied": (1 - negative) * denied * asks,
        }

    def _sides(self) -> Matrix:
        """-1 where a line names the other side only, 1 where it names the option's, else 0."""
        import numpy as np

        found = np.zeros((len(self.options), len(self.texts)), dtype=np.float32)
        for one, other in (*_SIDES, *((b, a) for a, b in _SIDES)):
            for k, option in enumerate(self.options):
                if not one.search(option) or other.search(option):
                    continue
                for n, text in enumerate(self.texts):
                    if one.search(text):
                        found[k, n] += 1
                    elif other.search(text):
                        found[k, n] -= 1
        return found

    def _denies(self, n: int) -> bool:
        """Does line ``n`` deny shortly before or after what is asked about?"""
        text = self.texts[n]
        told = [place for place in self.places[n] if place[0] >= _TELLS]
        return any(
            _DENIES.search(text[max(0, start - _AROUND) : end + _AROUND]) for _, start, end in told
        )


_AROUND = 25  # characters in which a denial goes with a word
_TELLS = 0.4
_WHOLE = 0.95


def _worth(each: tuple[float, Quantity]) -> float:
    return each[0]


def _ahead(table: Matrix) -> Matrix:
    """Each value less the best of the other options with the same line."""
    import numpy as np

    if len(table) < 2:
        return np.zeros_like(table)
    top = np.sort(table, axis=0)
    best, second = top[-1], top[-2]
    found: Matrix = table - np.where(table >= best, second, best)
    return found
