"""Who gets what: splits by patient, answers kept even, templates taken in turn."""

from __future__ import annotations

import csv
import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ehrqa_cli.contracts.errors import BuildError, UsageError

TRAIN, VALID, TEST = "train", "valid", "test"
SPLITS = (TRAIN, VALID, TEST)
PARTS = (0.7, 0.1, 0.2)
# A template that fails this often in a row has nothing left to give on these data.
_GIVE_UP = 3


def fraction(*parts: object) -> float:
    """A number in [0, 1) that depends on ``parts`` alone."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64


def split_at(share: float, among: Sequence[str] = SPLITS) -> str:
    """The split at this share of the whole, of which ``among`` are there."""
    parts = {name: part for name, part in zip(SPLITS, PARTS, strict=True) if name in among}
    at = share * sum(parts.values()) if len(parts) < len(SPLITS) else share
    for name, part in [*parts.items()][:-1]:
        if at < part:
            return name
        at -= part
    return [*parts][-1]


def read_splits(path: Path) -> dict[int, str]:
    """The split of each patient, from a table with subject_id and split, as `ehrqa build prepare`
    writes it. Raises UsageError."""
    hint = "a table with the columns subject_id and split (train, valid, test), parted by tabs"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            found = {
                int(row["subject_id"]): row["split"] for row in csv.DictReader(file, delimiter="\t")
            }
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise UsageError(f"cannot read the splits in {path}: {error}", hint) from None
    other = sorted(set(map(str, found.values())) - set(SPLITS))
    if other or not found:
        what = f"a split {other[0]}" if other else "no patient"
        raise UsageError(f"{path} names {what}", hint)
    return found


def splits_of(members: Iterable[int], seed: int) -> dict[int, str]:
    """The split of each patient: the parts are as said, and of three or more patients each split
    has one."""
    order = sorted(members, key=lambda m: (fraction(seed, "patient", m), m))
    least = int(len(order) >= len(SPLITS))
    valid, test = (max(least, round(len(order) * part)) for part in PARTS[1:])
    names = [TRAIN] * (len(order) - valid - test) + [VALID] * valid + [TEST] * test
    return dict(zip(order, names, strict=False))


def splits_among(
    members: Sequence[int], given: Mapping[int, str] | None, seed: int
) -> dict[int, str]:
    """The split of each patient as ``given``, else as drawn. Raises BuildError when none of them
    is given any."""
    if given is None:
        return splits_of(members, seed)
    found = {member: given[member] for member in members if member in given}
    if not found:
        raise BuildError(
            "none of the patients is in the list of splits",
            "name the splits.tsv that was made with this database",
        )
    return found


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
