"""Whom to ask about: patients by the length of their notes, in the paper's proportions.

Kweon et al. 2024, section 3.1 and table 2: level 1 are patients with up to 3,500 tokens of notes in
one or two notes, level 2 those with up to 7,500 in one to three; all others are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ehrqa_cli.contracts.notes import Note
from ehrqa_cli.notes.lengths import BEYOND, length_of, level_of
from ehrqa_cli.sets.making.shares import fraction

# "level, number of notes": the patients of 1,000 (table 2, "Sampled").
STRATA: Mapping[str, int] = {"1, 1": 275, "1, 2": 275, "2, 1": 150, "2, 2": 150, "2, 3": 150}
_WHOLE = sum(STRATA.values())
_SPARE = 3  # patients kept for each that is wanted: not each gives a question
OnPatient = Callable[[int, int], None]


@dataclass(frozen=True)
class Sample:
    """Patients of each stratum in the order in which they are asked about; ``counts`` are all
    there are by stratum ("beyond": longer notes, or more of them), ``tokens`` their estimated
    lengths in all."""

    patients: Mapping[str, Sequence[int]]
    counts: Mapping[str, int]
    tokens: Mapping[str, int]

    def as_plain(self) -> dict[str, object]:
        """For a line of the journal."""
        return {
            "patients": {name: list(found) for name, found in self.patients.items()},
            "counts": dict(self.counts),
            "tokens": dict(self.tokens),
        }


def stratum_of(notes: Sequence[Note]) -> tuple[str, int]:
    """The stratum of a patient with these notes, or "beyond", and their estimated tokens."""
    tokens = length_of(notes)
    name = f"{level_of(tokens)}, {len(notes)}"
    return (name if name in STRATA else BEYOND), tokens


def draw(
    patients: Iterable[int],
    notes_of: Callable[[int], Sequence[Note]],
    wanted: int,
    seed: int,
    on_patient: OnPatient = lambda _done, _all: None,
) -> Sample:
    """About ``wanted`` patients in the paper's proportions, with others to take their place."""
    order = sorted(patients, key=lambda p: (fraction(seed, "notes", p), p))
    found: dict[str, list[int]] = {name: [] for name in STRATA}
    counts: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    most = max(_SPARE * wanted, _SPARE)
    for done, patient in enumerate(order):
        on_patient(done, len(order))
        notes = notes_of(patient)
        if not notes:
            continue
        name, size = stratum_of(notes)
        counts[name] += 1
        tokens[name] += size
        if name in found and len(found[name]) < most:
            found[name].append(patient)
    return Sample(found, dict(sorted(counts.items())), dict(sorted(tokens.items())))


def next_stratum(made: Mapping[str, int], left: Mapping[str, int]) -> str | None:
    """The stratum that is furthest behind its share, of those with patients left."""
    alive = [name for name in STRATA if left.get(name, 0)]
    if not alive:
        return None
    return min(alive, key=lambda name: ((made.get(name, 0) + 1) * _WHOLE / STRATA[name], name))
