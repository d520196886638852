"""Who gets what: splits by patient, answers kept even, templates taken in turn."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

TRAIN, VALID, TEST = "train", "valid", "test"
SPLITS = (TRAIN, VALID, TEST)
PARTS = (0.7, 0.1, 0.2)
# A template that fails this often in a row has nothing left to give on these data.
_GIVE_UP = 3


def fraction(*parts: object) -> float:
    """A number in [0, 1) that depends on ``parts`` alone."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def split_at(share: float) -> str:
    """The split at this share of the whole."""
    return TRAIN if share < PARTS[0] else VALID if share < PARTS[0] + PARTS[1] else TEST


def splits_of(members: Iterable[int], seed: int) -> dict[int, str]:
    """The split of each patient: the parts are as said, and of three or more patients each split
    has one."""
    order = sorted(members, key=lambda m: (fraction(seed, "patient", m), m))
    least = int(len(order) >= len(SPLITS))
    valid, test = (max(least, round(len(order) * part)) for part in PARTS[1:])
    names = [TRAIN] * (len(order) - valid - test) + [VALID] * valid + [TEST] * test
    return dict(zip(order, names, strict=False))


class Answers:
    """How often each answer was given, by template."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def wants_no(self, template: str) -> bool:
        """Has a yes/no template more of yes than of no?"""
        counts = self._counts[template]
        return counts["yes"] > counts["no"]

    def fits(self, template: str, answer: str) -> bool:
        """Would the template's answers stay even? Yes and no in turn; of others none much more
        often than the rarest, and nothing (0) one time in ten at most."""
        counts = self._counts[template]
        if answer in ("yes", "no"):
            return counts[answer] <= counts["no" if answer == "yes" else "yes"]
        total = sum(counts.values())
        if answer == "0":
            return counts[answer] < total // 10
        return counts[answer] <= min(counts.values(), default=0) + total // 10

    def add(self, template: str, answer: str) -> None:
        """Count one."""
        self._counts[template][answer] += 1


@dataclass
class Turns:
    """Which template is next: all in an order that is drawn anew each round, less those that have
    nothing left. ``share`` is that of questions without an answer, spread evenly; the rounds of
    the others go by ``kinds`` of templates."""

    names: Sequence[str]
    seed: int
    share: float = 0.0
    made: int = 0
    declined: int = 0
    spent: dict[str, int] = field(default_factory=dict)
    _round: int = 0
    _left: list[str] = field(default_factory=list)
    _failed: Counter[str] = field(default_factory=Counter)
    _none_failed: int = 0

    def next(self) -> str | None:
        """The next template's name; "" for a question without an answer; None: nothing left."""
        wants_none = self.declined < self.share * (self.made + 1)
        if self.share and wants_none and self._none_failed < 100:
            return ""
        while not self._left:
            alive = [name for name in self.names if name not in self.spent]
            if not alive:
                return None
            self._left = alive
            random.Random(f"{self.seed} round {self._round}").shuffle(self._left)
            self._round += 1
        return self._left.pop()

    def took(self, name: str, ok: bool) -> None:
        """What became of it."""
        self.made += ok
        if not name:
            self.declined += ok
            self._none_failed = 0 if ok else self._none_failed + 1
            return
        self._failed[name] = 0 if ok else self._failed[name] + 1
        if self._failed[name] >= _GIVE_UP:
            self.spent[name] = self.made
