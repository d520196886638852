"""Two runs of one benchmark over the same data: by how much they differ, how sure that is, and
which questions changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ehrqa_cli.contracts.benchmarks import Measure
from ehrqa_cli.contracts.errors import EvaluationError
from ehrqa_cli.evaluate.calibration import resampled
from ehrqa_cli.evaluate.saved import (
    RIGHT,
    WRONG,
    SavedRun,
    cluster,
    measures,
    read_run,
    states,
)

ROUNDS = 10_000
# What must be the same in both headers, where both have it.
_SAME = (
    "benchmark",
    "dataset",
    "task",
    "split",
    "format",
    "dataset_sha256",
    "notes_sha256",
    "database",
    "database_sha256",
    "databases",
    "as_of",
    "pairs",
    "sentence_vectors",
)


@dataclass(frozen=True)
class Difference:
    """A measure in per cent of both runs, over the questions that both have. ``low`` and ``high``
    bound the difference B - A (95%, paired bootstrap); ``p`` is the two-sided bootstrap p that
    there is none."""

    measure: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Change:
    """A question that became of another state (right, wrong, declined, failed)."""

    id: str
    question: str
    system: str
    before: str
    after: str


@dataclass(frozen=True)
class Comparison:
    """``sign_p`` is that of an exact sign test on the questions that became right or ceased to be
    (McNemar's); None where none did."""

    name: str
    a: Mapping[str, Any]
    b: Mapping[str, Any]
    questions: int
    only_a: int
    only_b: int
    differences: tuple[Difference, ...]
    changes: tuple[Change, ...]
    sign_p: float | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def counts(self) -> list[tuple[str, str, int]]:
        """(before, after, how many), right to wrong and wrong to right first."""
        found = Counter((change.before, change.after) for change in self.changes)
        first = {(RIGHT, WRONG): 0, (WRONG, RIGHT): 1}
        order = sorted(found, key=lambda pair: (first.get(pair, 2), pair))
        return [(before, after, found[before, after]) for before, after in order]


def compare(a: Path, b: Path, seed: int = 0) -> Comparison:
    """Compare the runs in two folders. Raises EvaluationError for runs of different data."""
    one, other = read_run(a), read_run(b)
    _check_same(one, other)
    shared = [key for key in one.records if key in other.records]
    if not shared:
        raise EvaluationError(f"{a} and {b} have no question in common", "measure both on the same")
    _check_questions(one, other, shared)
    changes = _changes(one, other, shared)
    return Comparison(
        one.name,
        one.header,
        other.header,
        len(shared),
        len(one.records) - len(shared),
        len(other.records) - len(shared),
        _differences(one, other, shared, seed),
        changes,
        sign_test(
            sum(change.before == RIGHT for change in changes),
            sum(change.after == RIGHT for change in changes),
        ),
    )


def sign_test(lost: int, won: int) -> float | None:
    """Exact two-sided p of ``lost`` against ``won`` under equal chances; None for neither."""
    n = lost + won
    if not n:
        return None
    tail = sum(math.comb(n, k) for k in range(min(lost, won) + 1))
    return float(min(1.0, 2 * tail / 2**n))


def _check_same(one: SavedRun, other: SavedRun) -> None:
    differing = [
        name
        for name in _SAME
        if one.header.get(name) is not None
        and other.header.get(name) is not None
        and one.header[name] != other.header[name]
    ]
    if one.benchmark != other.benchmark and "benchmark" not in differing:
        differing.insert(0, "benchmark")
    if differing:
        told = ", ".join(differing)
        raise EvaluationError(
            f"{one.folder} and {other.folder} are runs of different data (different {told})",
            "only runs over the same files can be compared question by question",
        )


def _check_questions(one: SavedRun, other: SavedRun, shared: Sequence[str]) -> None:
    # emrQA's forms and classes are drawn by a seed: the same id need not be the same question.
    for key in shared:
        before, after = one.records[key], other.records[key]
        if before.get("gold") != after.get("gold"):
            raise EvaluationError(
                f"question {key} has another gold answer in {other.folder} than in {one.folder}",
                "measure both with the same data and --seed",
            )


def _differences(
    one: SavedRun, other: SavedRun, shared: Sequence[str], seed: int
) -> tuple[Difference, ...]:
    import numpy as np

    a = _restricted(one, shared)
    counted: Mapping[str, Measure] = measures(a)
    known = measures(_restricted(other, shared))
    names = [name for name in counted if name in known]
    groups: dict[str, list[list[float]]] = {}
    group = cluster(one)
    for key in shared:
        row: list[float] = []
        for name in names:
            row += [*counted[name](one.records[key]), *known[name](other.records[key])]
        groups.setdefault(group(key), []).append(row)
    columns = np.array([np.sum(rows, axis=0) for rows in groups.values()])
    sums = resampled(columns, rounds=ROUNDS, seed=seed)
    found = []
    for k, name in enumerate(names):
        whole = columns.sum(axis=0)[4 * k : 4 * k + 4]
        if not whole[1] or not whole[3]:
            continue  # not defined in both
        drawn = sums[:, 4 * k : 4 * k + 4]
        drawn = drawn[(drawn[:, 1] > 0) & (drawn[:, 3] > 0)]
        apart = 100.0 * (drawn[:, 2] / drawn[:, 3] - drawn[:, 0] / drawn[:, 1])
        low, high = np.percentile(apart, [2.5, 97.5])
        first, second = 100.0 * whole[0] / whole[1], 100.0 * whole[2] / whole[3]
        below, above = int((apart <= 0).sum()), int((apart >= 0).sum())
        p = min(1.0, 2.0 * (1 + min(below, above)) / (1 + len(apart)))
        values = (first, second, second - first, low, high, p)
        found.append(Difference(name, *(float(value) for value in values)))
    return tuple(found)


def _restricted(run: SavedRun, shared: Sequence[str]) -> SavedRun:
    records = {key: run.records[key] for key in shared}
    return SavedRun(run.folder, run.benchmark, run.header, records, run.seconds)


def _changes(one: SavedRun, other: SavedRun, shared: Sequence[str]) -> tuple[Change, ...]:
    found = []
    for key in shared:
        before, after = states(one.records[key]), states(other.records[key])
        text = str(one.records[key].get("question") or one.records[key].get("gold") or "")
        found += [
            Change(key, text, system, was, after[system])
            for system, was in before.items()
            if system in after and after[system] != was
        ]
    return tuple(found)
