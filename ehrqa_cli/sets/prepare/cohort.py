"""Who is in the silver and in the gold database: conditions, a sample, splits, shifts.

Gold patients are those with images whose labels people checked; silver ones have none of these
(EHRXQA, Bae et al. 2023, section 4.1.1). Nobody is in both.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from ehrqa_cli.contracts.errors import BuildError
from ehrqa_cli.sets.making.shares import SPLITS, TEST, TRAIN, VALID, fraction, splits_of
from ehrqa_cli.sets.prepare.frame import Frame, Patient, Visit, draw
from ehrqa_cli.sets.prepare.images import Study, covering, only
from ehrqa_cli.sets.prepare.options import GOLD, SETS, SILVER, Options
from ehrqa_cli.sets.prepare.source import EhrSource

# EHRXQA divides what is made from silver seven to one; gold is for testing.
_VALID = 1 / 8
_AGES = (20, 30, 40, 50, 60)  # the age groups of its questions: under 20, 20s, ... 60 or above


@dataclass(frozen=True)
class Drawn:
    """One database's patients, with their shift in days and split, and the count of each step."""

    name: str
    patients: tuple[Patient, ...]
    shifts: Mapping[int, int]
    splits: Mapping[int, str]
    steps: Mapping[str, int]
    current: int

    @property
    def studies(self) -> tuple[Study, ...]:
        """Their studies, by patient and time."""
        return tuple(s for p in self.patients for s in p.studies)


def read_patients(source: EhrSource, studies: Mapping[int, Sequence[Study]]) -> list[Patient]:
    """All patients with their visits and, from ``studies``, their images. Raises BuildError for a
    visit without a time or an age that is no number."""
    visits: dict[int, list[Visit]] = {}
    born = {
        int(p): str(b)[:4]
        for _, p, b in source.rows("patients", ("subject_id", "dob"), None)
        if p is not None
    }
    columns = ("subject_id", "hadm_id", "admittime", "dischtime", "age")
    for row_id, who, number, begin, end, age in source.rows("admissions", columns, None):
        try:
            # The age at a visit is the difference of the years (EHRXQA, appendix C.1.1).
            patient, visit = int(str(who)), int(str(number))
            years = int(str(begin)[:4]) - int(born[patient]) if age is None else int(age)
            ends = _time(end) if end else None
            visits.setdefault(patient, []).append(Visit(visit, _time(begin), ends, years))
        except (TypeError, ValueError, KeyError) as error:
            raise BuildError(
                f"admissions has a row that cannot be read (row_id {row_id}: {error})",
                "it needs subject_id, hadm_id, admittime as YYYY-MM-DD HH:MM:SS, and age or dob",
            ) from None
    return [
        Patient(
            who,
            tuple(sorted(visits.get(who, ()), key=lambda v: (v.begin, v.number))),
            _placed(studies.get(who, ()), visits.get(who, ())),
        )
        for who in sorted(born)
    ]


def _time(value: object) -> str:
    text = str(value)[:19]
    moment = datetime.fromisoformat(text)
    return text if len(text) == 19 else str(moment)


def _placed(studies: Sequence[Study], visits: Sequence[Visit]) -> tuple[Study, ...]:
    """Studies with the visit that they lie in, where the source does not say."""
    spans = [(v.number, v.begin, v.end) for v in visits]
    return tuple(
        s if s.visit is not None else replace(s, visit=covering(spans, s.time)) for s in studies
    )


def choose(
    patients: Sequence[Patient], gold: Collection[int], options: Options, before: str
) -> dict[str, Drawn]:
    """The two databases' patients; ``gold`` are the studies with checked labels, ``before`` is now
    in the source. Without any gold study there is one database, silver, with all three splits.
    Raises BuildError when nobody is left."""
    frame = Frame(
        date(options.first_year, 1, 1),
        datetime.fromisoformat(options.now),
        datetime.fromisoformat(before),
    )
    checked = set(gold)
    found = {}
    for name in SETS if checked else SETS[:1]:
        pool = [p for p in patients if (name == GOLD) == _is_gold(p, checked)]
        if name == GOLD:
            pool = [replace(p, studies=tuple(only({0: list(p.studies)}, checked)[0])) for p in pool]
        found[name] = _chosen(name, pool, options, frame)
    if not any(d.patients for d in found.values()):
        shown = "; ".join(f"{k}: {v:,}" for k, v in found[SILVER].steps.items())
        raise BuildError(
            f"no patient meets the conditions ({shown})",
            "widen --age or --years, or lower --min-studies",
        )
    if checked:
        return found
    silver = found[SILVER]
    splits = splits_of((p.id for p in silver.patients), options.seed)
    return {SILVER: replace(silver, splits=splits)}


def _is_gold(patient: Patient, gold: Collection[int]) -> bool:
    return any(s.study in gold for s in patient.studies)


def _chosen(name: str, pool: Sequence[Patient], options: Options, frame: Frame) -> Drawn:
    steps = Counter({"patients": len(pool)})
    able = []
    for patient in pool:
        why = _unfit(patient, options, frame)
        if why:
            steps[why] += 1
        else:
            able.append(patient)
    steps["eligible"] = len(able)
    taken, current = _sampled(name, able, options, frame, steps)
    steps["drawn"] = len(taken)
    shifts = {}
    for patient in taken:
        rng = random.Random(f"{options.seed} shift {patient.id}")
        shifts[patient.id] = draw(frame.shifts(patient, patient.id in current), rng)
    splits = {p.id: TEST if name == GOLD else "" for p in taken}
    if name == SILVER:
        order = sorted(taken, key=lambda p: fraction(options.seed, "split", p.id))
        least = round(len(order) * _VALID)
        splits = {p.id: VALID if i < least else TRAIN for i, p in enumerate(order)}
    return Drawn(name, tuple(taken), shifts, splits, dict(steps), len(current))


def _unfit(patient: Patient, options: Options, frame: Frame) -> str:
    """Why a patient is left out, or ""."""
    if not patient.visits:
        return "without a hospital visit"
    low, high = options.ages
    # At any visit: no question then tells of somebody older than the oldest that may be named.
    if any(not low <= v.age <= high for v in patient.visits):
        return f"aged under {low} or over {high} at a visit"
    if len(patient.studies) < options.studies:
        few = f"with fewer than {options.studies} X-ray studies"
        return few if options.studies > 1 else "without an X-ray study"
    if not (frame.shifts(patient, False) or frame.shifts(patient, True)):
        return "without a shift that puts a visit and the first study into the frame"
    return ""


def _sampled(
    name: str, able: Sequence[Patient], options: Options, frame: Frame, steps: Counter[str]
) -> tuple[list[Patient], set[int]]:
    """The patients drawn, ascending, and which of them are in hospital now."""
    order = sorted(able, key=lambda p: (fraction(options.seed, name, p.id), p.id))
    if options.even_ages:
        order = _even(order)
    size = min(getattr(options, name), len(order))
    quota = round(options.current * size)
    taken: list[Patient] = []
    present: set[int] = set()
    for patient in order:
        if len(taken) == size:
            break
        # Somebody whose visit lasts, or whose visits fill the frame, cannot but be there now.
        must = not frame.shifts(patient, False)
        if must and len(present) >= quota:
            steps["in hospital now beyond the share of current patients"] += 1
            continue
        taken.append(patient)
        if must:
            present.add(patient.id)
    quota = round(options.current * len(taken))
    for patient in sorted(taken, key=lambda p: fraction(options.seed, "current", p.id)):
        if len(present) >= quota:
            break
        if patient.id not in present and frame.shifts(patient, True):
            present.add(patient.id)
    return sorted(taken, key=lambda p: p.id), present


def _even(order: Sequence[Patient]) -> list[Patient]:
    """One of each age group (at the first visit) in turn."""
    groups: dict[int, list[Patient]] = {}
    for patient in order:
        groups.setdefault(sum(patient.visits[0].age >= age for age in _AGES), []).append(patient)
    at = [(i, group, patient) for group, own in groups.items() for i, patient in enumerate(own)]
    return [patient for _, _, patient in sorted(at, key=lambda item: item[:2])]


def split_names(drawn: Mapping[str, Drawn]) -> Counter[str]:
    """How many patients each split has."""
    found = Counter(split for d in drawn.values() for split in d.splits.values())
    return Counter({name: found[name] for name in SPLITS if found[name]})
