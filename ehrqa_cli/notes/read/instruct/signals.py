"""What the model said beside what the evidence says: features, options and lines, as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ehrqa_cli.contracts.notes import Line
from ehrqa_cli.notes.read import decline, options
from ehrqa_cli.notes.read.evidence import Evidence
from ehrqa_cli.notes.read.instruct.asking import Said
from ehrqa_cli.notes.read.instruct.page import Page
from ehrqa_cli.notes.read.instruct.support import Borne, SupportTable
from ehrqa_cli.notes.read.meaning import Meaning
from ehrqa_cli.notes.read.weights import Weights, score

_LEAST = -6.0  # log-odds and log-probabilities are cut there, and at 6


@dataclass(frozen=True)
class Seen:
    """One question with all that is known of it. ``letters`` are empty without ``choices``."""

    evidence: Evidence
    page: Page
    said: Said
    letters: Mapping[str, float]
    choices: Mapping[str, str]
    meaning: Meaning
    weights: Weights

    @cached_property
    def lines(self) -> list[Line]:
        """The evidence's lines, best first, and then those cited besides."""
        return [*dict.fromkeys([*(each.line for each in self.evidence.lines), *self.cited])]

    @cached_property
    def cited(self) -> tuple[Line, ...]:
        """The lines that the model cites."""
        return tuple(self.page.lines[number] for number in self.said.lines)

    def table(self, answer: str) -> SupportTable:
        """``answer`` against every line."""
        asked = self.evidence.asked.text
        return SupportTable.of(answer, asked, [line.text for line in self.lines], self.meaning)

    def borne(self, answer: str) -> Borne:
        """How far the lines that will be cited bear ``answer`` out; the model's own come first."""
        return self.table(answer).borne(self._own_first())

    def ranked(self, answer: str, weights: Mapping[str, float]) -> list[tuple[Line, float]]:
        """The lines with their scores, best first: those that bear ``answer`` out before others."""
        features = self.line_features(answer)
        scored = [
            (line, score(weights, each)) for line, each in zip(self.lines, features, strict=True)
        ]
        return sorted(scored, key=lambda pair: -pair[1])

    def line_features(self, answer: str) -> list[dict[str, float]]:
        """Of every line: what the evidence gives it, and how it bears on what the model said."""
        table = self.table(answer)
        bears = set(table.borne(self._own_first()).places)
        known = [*self.evidence.scores]
        least = min(known, default=0.0)
        return [
            {
                "evidence": max(known[k] - known[0], -12.0) if k < len(known) else least - known[0],
                "covers": table.coverage(k),
                "means": table.cosines[k],
                "bears": float(k in bears),
                "cited": float(line in self.cited),
                "cited first": float(line == self.cited[0]),
            }
            for k, line in enumerate(self.lines)
        ]

    def answered(self) -> dict[str, float]:
        """Features of whether the notes say it, without options."""
        borne = self.borne(self.said.text)
        return {
            "one": 1.0,
            "unsaid": _cut(self.said.unsaid),
            "declined": float(self.said.declined),
            "sure": max(self.said.sure, -3.0),
            "null": _cut(score(self.weights.null, decline.features_of(self.evidence))),
            "borne": borne.share if borne.numbers else 0.0,
            "lines meant": borne.meant,
        }

    def answered_choice(self) -> dict[str, float]:
        """Features of whether the notes bear out an option."""
        letters = [v for k, v in self.letters.items() if k]
        best = max(letters)
        found = options.support(self.evidence, self.choices, self.meaning, self.weights)
        return self.answered() | {
            "letter none": _cut(self.letters[""] - best),
            "letter best": max(best, -3.0),
            "option share": options.shares(found)[0],
            "written": max(self.written().values()),
        }

    def option_features(self) -> dict[str, dict[str, float]]:
        """Of every option: the model's likelihood, its own words' nearness, the evidence's say."""
        found = options.support(self.evidence, self.choices, self.meaning, self.weights)
        shares = dict(zip((each.letter for each in found), options.shares(found), strict=True))
        written = self.written()
        return {
            letter: {
                "likely": max(self.letters[letter], -8.0),
                "written": written[letter],
                "borne out": math.log(max(shares[letter], 1e-3)),
            }
            for letter in self.choices
        }

    def written(self) -> dict[str, float]:
        """How near the model's own answer, written without the options, is to each: half words and
        numbers, half meaning, 0 to 1."""
        own, texts = self.said.text, list(self.choices.values())
        if not own or not texts:
            return dict.fromkeys(self.choices, 0.0)
        forth = SupportTable.of(own, "", texts, self.meaning)
        found = {}
        for k, letter in enumerate(self.choices):
            back = SupportTable.of(texts[k], "", [own], self.meaning)
            both = 0.5 * (forth.coverage(k) + back.coverage(0))
            found[letter] = 0.5 * both + 0.5 * max(forth.cosines[k], 0.0)
        return found

    def chosen(self, way: str, weights: Mapping[str, float]) -> str:
        """The letter by one of the ways of `reader.CHOOSING`."""
        features = self.option_features()
        if way == "fitted":
            return max(features, key=lambda k: score(weights, features[k]))
        return max(features, key=lambda k: features[k][way])

    def _own_first(self) -> list[int]:
        own = [k for k, line in enumerate(self.lines) if line in self.cited]
        return [*own, *(k for k in range(len(self.lines)) if k not in own)]


def likely(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    """The fitted score as a probability."""
    return decline.likely(score(weights, features))


def _cut(value: float) -> float:
    return max(_LEAST, min(-_LEAST, value))
