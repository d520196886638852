"""Multiple choice: how far the evidence supports each option, weighed by a small fitted model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ehrqa_cli.contracts.notes import Stance
from ehrqa_cli.notes.find import lexical
from ehrqa_cli.notes.find.mention import find_mention
from ehrqa_cli.notes.read import calculate
from ehrqa_cli.notes.read.compose import compose
from ehrqa_cli.notes.read.evidence import Evidence
from ehrqa_cli.notes.read.question import Kind, telling
from ehrqa_cli.notes.read.values import numbers
from ehrqa_cli.notes.read.weights import Weights, score

if TYPE_CHECKING:
    from ehrqa_cli.notes.read.meaning import Matrix, Meaning

_LINES = 12  # of the evidence that options are looked up in closely
_SUMMED = 4  # of the lines whose numbers are put together
_TEMPER = 1.0  # how fast a line's say falls with its score
_REACH = 40.0  # characters over which nearness falls to a third
_NEGATIVE = re.compile(
    r"^\s*(?:no|none|not|never|neither|nothing|without|nil)\b|\b(?:not|no|none|never|n't|declined"
    r"|refused)\b",
    re.I,
)


@dataclass(frozen=True)
class Support:
    """One option; ``line`` is the place in the evidence of the line that bears it out most."""

    letter: str
    features: dict[str, float]
    score: float
    line: int
    borne_out: float


def support(
    evidence: Evidence, choices: Mapping[str, str], meaning: Meaning, weights: Weights
) -> list[Support]:
    """The options with how far the evidence supports each, best first."""
    letters = list(choices)
    table = _Table.of(evidence, [choices[k] for k in letters], meaning)
    raw = [table.features(k) for k in range(len(letters))]
    relative = _relative(raw)
    found = [
        Support(letter, f, score(weights.option, f), *table.best_line(k))
        for k, (letter, f) in enumerate(zip(letters, relative, strict=True))
    ]
    return sorted(found, key=lambda each: (-each.score, each.letter))


def shares(found: Sequence[Support]) -> list[float]:
    """The scores of options as shares of one."""
    most = max(each.score for each in found)
    raised = [math.exp(each.score - most) for each in found]
    return [each / sum(raised) for each in raised]


class _Table:
    """Options against lines: what each line names of each option, and how much the line counts."""

    def __init__(self, evidence: Evidence, options: Sequence[str], say: list[float]) -> None:
        self.evidence, self.options, self.say = evidence, options, say
        self.texts = [each.line.text for each in evidence.lines]
        self.numbers = [numbers(text) for text in self.texts]
        self.groups = [tuple(lexical.groups(option)) for option in options]
        self.answer = compose(evidence)[0]
        self.derived = calculate.derived(evidence.asked, self.texts[:_SUMMED])
        sums = evidence.asked.kind is Kind.ARITHMETIC
        self.worked = set(numbers(self.answer)[:1]) if sums else set()
        self.written = {n for some in self.numbers[:_SUMMED] for n in some}
        self.worked -= self.written
        self.named: list[Matrix] = []
        self.near: Matrix
        self.joined: Matrix

    @classmethod
    def of(cls, evidence: Evidence, options: Sequence[str], meaning: Meaning) -> _Table:
        top = evidence.scores[0]
        table = cls(evidence, options, [math.exp((s - top) / _TEMPER) for s in evidence.scores])
        every = [group for groups in table.groups for group in groups]
        matrix = lexical.matches(every, table.texts)
        at = 0
        for groups in table.groups:
            table.named.append(matrix[at : at + len(groups)])
            at += len(groups)
        question = evidence.asked.text
        table.near = meaning.cosines(list(options), table.texts)
        table.joined = meaning.cosines([f"{question} {option}" for option in options], table.texts)
        return table

    def covers(self, k: int, n: int) -> float:
        """How much of option ``k`` line ``n`` names, 0 to 1; its numbers count as words do."""
        groups = self.groups[k]
        given = numbers(self.options[k])
        plain = [(g, telling(x.phrase)) for g, x in enumerate(groups) if not x.phrase.isdigit()]
        total = sum(weight for _, weight in plain) + len(given)
        if not total:
            return 0.0
        hit = sum(weight * float(self.named[k][g, n]) for g, weight in plain)
        hit += sum(number in self.numbers[n] for number in given)
        return hit / total

    def features(self, k: int) -> dict[str, float]:
        """Features of option ``k``, before they are set against the other options."""
        option, top = self.options[k], range(min(_LINES, len(self.texts)))
        covers = [self.covers(k, n) for n in range(len(self.texts))]
        given = numbers(option)
        said = {*numbers(self.answer)}
        negative = _NEGATIVE.search(option) is not None
        stance = self.evidence.lines[0].stance
        denies = stance is Stance.NEGATED
        yes_no = self.evidence.asked.kind is Kind.YES_NO
        kind = self.evidence.asked.kind
        sums = kind is Kind.ARITHMETIC
        return {
            "covered": max(self.say[n] * covers[n] for n in top),
            "covered best": covers[0],
            "covered anywhere": max(covers),
            "covered near": max(
                (self.say[n] * covers[n] * self.close(k, n) for n in top), default=0.0
            ),
            "meant": max(self.say[n] * float(self.near[k, n]) for n in top),
            "meant best": float(self.near[k, 0]),
            "joined": float(self.joined[k].max()),
            "joined mean": float(sum(sorted(self.joined[k])[-3:]) / 3),
            "numbers": 0.0 if sums else _part(given, said),
            "numbers, worked out": float(sums and bool(given) and given[0] in self.worked),
            "numbers, not worked out": float(sums and _part(given, self.written) == 1.0),
            "no numbers": float(bool(said) and not given and kind in _NUMERIC),
            "derived": max((self.derived.get(round(n, 2), 0.0) for n in given), default=0.0)
            if sums
            else 0.0,
            "answer": self._worded(option),
            "denies, denied": float(negative and denies),
            "denies, not denied": float(negative and not denies),
            "affirms, denied": float(not negative and denies and yes_no),
            "both": self._both(given),
        }

    def close(self, k: int, n: int) -> float:
        """How near line ``n`` names option ``k`` to what the question asks about, 0 to 1."""
        text, asked = self.texts[n], self.evidence.asked
        own = [
            place
            for g, group in enumerate(self.groups[k])
            if self.named[k][g, n] and (place := find_mention(text, group))
        ]
        best = 0.0
        for g, (group, weight) in enumerate(zip(asked.groups, asked.weights, strict=True)):
            named = own and self.evidence.named[g, n]
            place = find_mention(text, group) if named else None
            if place is None:
                continue
            for a, b in own:
                gap = max(a - place[1], place[0] - b, 0)
                if (a, b) != place:
                    best = max(best, weight * math.exp(-gap / _REACH))
        return best

    def _worded(self, option: str) -> float:
        """Token F1 of the option with the answer that is cut from the lines."""
        mine, other = _tokens(option), _tokens(self.answer)
        both = len(mine & other)
        return 2 * both / (len(mine) + len(other)) if both else 0.0

    def _both(self, given: list[float]) -> float:
        """Do the two numbers of an option stand in two of the best lines, in the notes' order?"""
        compared = self.evidence.asked.kind in (Kind.COMPARISON, Kind.ARITHMETIC)
        if not compared or len(given) < 2:
            return 0.0
        first = {k: set(self.numbers[k]) for k in range(min(_LINES, len(self.texts)))}
        best = 0.0
        for a, left in first.items():
            for b, right in first.items():
                ids = self.evidence.lines[a].line, self.evidence.lines[b].line
                if given[0] in left and given[1] in right:
                    ordered = (ids[0].note_id, ids[0].number) <= (ids[1].note_id, ids[1].number)
                    best = max(best, (1.0 if ordered else 0.4) * min(self.say[a], self.say[b]))
        return best

    def best_line(self, k: int) -> tuple[int, float]:
        """The line that bears option ``k`` out most, and how much, about 0 to 1."""
        worth = [
            self.say[n] ** 0.5 * (self.covers(k, n) + 0.5 * float(self.joined[k, n]))
            for n in range(len(self.texts))
        ]
        best = max(range(len(worth)), key=lambda n: worth[n])
        return best, worth[best]


_NUMERIC = (Kind.DOSE, Kind.COUNT, Kind.NUMBER, Kind.DURATION, Kind.ARITHMETIC)


def _part(given: list[float], among: set[float]) -> float:
    """The part of ``given`` that is ``among``; 0 of none."""
    return sum(n in among for n in given) / len(given) if given else 0.0


def _tokens(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+(?:\.\d+)?", text.lower()))


def _relative(raw: list[dict[str, float]]) -> list[dict[str, float]]:
    """The features with, for those of degree, how they stand against the best other option."""
    found = []
    for k, own in enumerate(raw):
        features = dict(own)
        for name in ("covered", "covered near"):
            rest = [other[name] for n, other in enumerate(raw) if n != k]
            features[f"{name}, most"] = float(bool(rest) and own[name] > max(rest))
        found.append(features)
    return found
