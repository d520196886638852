"""The demo's events many at a time, as arrays: what `demo_events` yields row by row.

``share`` thins what is observed again and again (labs after the day of arrival, vital signs, what
goes in and comes out): 1 is as dense as the demo, 279 events an admission.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ehrqa_cli.ehr.demo import events as one
from ehrqa_cli.ehr.demo.bulk_people import (
    DAY,
    EMERGENCY,
    HOUR,
    MINUTE,
    NEVER,
    NOW,
    Bools,
    Chance,
    Crowd,
    Floats,
    Ints,
)
from ehrqa_cli.ehr.demo.vocabulary import Fluid

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Coded:
    """A column of texts: ``codes`` into ``names``, -1 for NULL."""

    codes: Ints
    names: tuple[str, ...]


@dataclass(frozen=True)
class Times:
    """A column of times, NEVER for NULL."""

    seconds: Ints


Column = Array | Coded | Times
Rows = dict[str, Column]


class Events:
    """The events of one part, table by table."""

    def __init__(self, crowd: Crowd, share: float = 1.0) -> None:
        self.crowd, self.share = crowd, share
        self.words, self.visits = crowd.words, crowd.visits
        self.stories = crowd.words.stories
        self._intensive = np.zeros(len(self.visits), dtype=np.bool_)
        self._intensive[crowd.stays.visit[crowd.stays.intensive]] = True

    def tables(self) -> Iterator[tuple[str, Rows]]:
        """The rows of each table of events, without ``row_id``."""
        yield "diagnoses_icd", self.diagnoses()
        yield "procedures_icd", self.procedures()
        yield "labevents", self.labs()
        yield "prescriptions", self.prescriptions()
        yield "chartevents", self.chart()
        yield "inputevents", self.fluids(self.words.intake, 0.35, (6, 20), 15, "starttime")
        yield "outputevents", self.fluids(self.words.output, 0.2, (2, 8), 16, "charttime")
        yield "microbiologyevents", self.microbiology()
        yield "icustays", self.icustays()
        yield "transfers", self.transfers()

    def _ids(self, visit: Ints) -> Rows:
        patient = self.visits.patient[visit]
        return {
            "subject_id": self.crowd.patients.subject_id[patient],
            "hadm_id": self.visits.hadm_id[visit],
        }

    def diagnoses(self) -> Rows:
        """The main diagnosis, its companions and the long-standing conditions."""
        chance, codes = self.crowd.chance(10), tuple(self.words.diagnoses)
        main = np.zeros((len(self.stories), len(codes)), dtype=np.bool_)
        also = np.zeros_like(main)
        for s, story in enumerate(self.stories):
            for k, code in enumerate(f"icd10|{c}" for c in story.dx):
                if code in self.words.diagnoses:
                    (also if k else main)[s, codes.index(code)] = True
        why = self.visits.story
        found = main[why] | (also[why] & chance.below(0.4, (len(self.visits), len(codes))))
        for k, code in enumerate(self.words.chronic):
            if code in self.words.diagnoses:
                has = self.crowd.patients.chronic[self.visits.patient, k]
                found[:, codes.index(code)] |= has
        visit, code_at = np.nonzero(found)
        start = self.visits.start[visit]
        return {
            **self._ids(visit),
            "icd_code": Coded(code_at, codes),
            "charttime": Times(start),
        }

    def procedures(self) -> Rows:
        """Procedures of the first days, more of them in intensive care."""
        chance, codes = self.crowd.chance(11), tuple(self.words.procedures)
        count = len(self.visits)
        most = max(len(story.procedures) for story in self.stories)
        named = np.full((len(self.stories), most), -1)
        for s, story in enumerate(self.stories):
            for k, code in enumerate(story.procedures):
                if f"icd10|{code}" in self.words.procedures:
                    named[s, k] = codes.index(f"icd10|{code}")
        parts = []
        for k in range(most):
            likely = np.where(self._intensive | (k == 0), 0.75 if k == 0 else 0.35, 0.35 * 0.4)
            at = self.visits.start + (chance.between(2.0, 60.0, count) * HOUR).astype(np.int64)
            at = at // MINUTE * MINUTE
            code_at = named[self.visits.story, k]
            keep = (code_at >= 0) & chance.below(likely, count) & (at < self.visits.until)
            who = np.flatnonzero(keep)
            parts.append((who, code_at[who], at[who]))
        visit, code_at, at = _together(parts)
        return {**self._ids(visit), "icd_code": Coded(code_at, codes), "charttime": Times(at)}

    def labs(self) -> Rows:
        """Blood is taken on arrival and every morning."""
        chance, visits = self.crowd.chance(12), self.visits
        days = np.maximum(1, (visits.until - visits.start) // DAY + 1)
        visit, day = _spread(days)
        start = visits.start[visit]
        morning = (start + day * DAY) // DAY * DAY + 5 * HOUR
        morning = morning + chance.whole(0, 90, len(day)) * MINUTE
        at = np.where(day == 0, start + 40 * MINUTE, morning)
        keep = (at > start) & (at < visits.until[visit])
        keep &= (day == 0) | chance.below(self.share, len(day))
        visit, day, at = visit[keep], day[keep], at[keep]
        labs = list(self.words.labs.values())
        panels = sorted({lab.panel for lab in labs})
        taken = self._panels(chance, panels, visit, day)
        row, which = np.nonzero(taken[:, [panels.index(lab.panel) for lab in labs]])
        visit, day, at = visit[row], day[row], at[row]
        begins = np.array([[s.labs.get(lab.label, np.nan) for lab in labs] for s in self.stories])
        value = self._lab_values(chance, which, begins[visits.story[visit], which], day)
        low = np.array([lab.low for lab in labs])[which]
        high = np.array([lab.high for lab in labs])[which]
        units = tuple(dict.fromkeys(lab.unit for lab in labs))
        unit = np.array([units.index(lab.unit) for lab in labs])[which]
        return {
            **self._ids(visit),
            "itemid": np.array([lab.itemid for lab in labs])[which],
            "charttime": Times(at),
            "valuenum": value,
            "valueuom": Coded(unit, units),
            "ref_range_lower": low,
            "ref_range_upper": high,
            "flag": Coded(np.where((low <= value) & (value <= high), -1, 0), ("abnormal",)),
        }

    def _panels(self, chance: Chance, panels: list[str], visit: Ints, day: Ints) -> Bools:
        """(draws, panels): what is tested of each."""
        shape = (len(visit), len(panels))
        of_story = np.array(
            [
                [panel in {self.words.labs[label].panel for label in s.labs} for panel in panels]
                for s in self.stories
            ]
        )[self.visits.story[visit]]
        daily = np.array([panel in one._DAILY for panel in panels])
        once = np.array([panel in one._ONCE for panel in panels])
        seldom = np.array([one._SELDOM.get(panel, 0.0) for panel in panels])
        arrival = daily | once | of_story | chance.below(seldom, shape)
        later = of_story & chance.below(0.5, shape)
        later |= daily & chance.below(0.8, shape)
        taken: Bools = np.where((day == 0)[:, None], arrival, later)
        return taken

    def _lab_values(self, chance: Chance, which: Ints, begins: Floats, day: Ints) -> Floats:
        labs = list(self.words.labs.values())
        low = np.array([lab.low for lab in labs])
        high = np.array([lab.high for lab in labs])
        middle, spread = ((low + high) / 2)[which], ((high - low) / 5)[which]
        ill = ~np.isnan(begins)
        off = np.where(ill, (begins - middle) * 0.5 ** (day / one._HALF_LIFE_DAYS), 0.0)
        wide = np.where(ill, spread / 2 + 0.08 * np.abs(off), spread)
        drawn = middle + off + chance.bell(0.0, wide, len(which))
        floor = np.where(low < 0, -30.0, 0.0)[which]
        ceiling = np.where([lab.unit == "%" for lab in labs], 100.0, np.inf)[which]
        decimals = np.array([lab.decimals for lab in labs])[which]
        return _round(np.clip(drawn, floor, ceiling), decimals)

    def prescriptions(self) -> Rows:
        """Orders for the reason of the visit, for everyone in hospital, and for old conditions."""
        chance, visits = self.crowd.chance(13), self.visits
        drugs = list(self.words.drugs)
        wanted = np.array([[name in s.drugs for name in drugs] for s in self.stories])
        everyone = np.array([name in self.words.everyone for name in drugs])
        shape = (len(visits), len(drugs))
        ordered = wanted[visits.story] & chance.below(0.75, shape)
        ordered |= everyone & chance.below(0.45, shape)
        subject = self.crowd.patients.subject_id[visits.patient]
        for k, (_share, options) in enumerate(self.words.chronic.values()):
            has = self.crowd.patients.chronic[visits.patient, k]
            for at, name in enumerate(options):
                ordered[:, drugs.index(name)] |= has & (subject % len(options) == at)
        visit, drug = np.nonzero(ordered)
        first = (chance.between(1.0, 14.0, len(visit)) * HOUR).astype(np.int64)
        begin = visits.start[visit] + first
        parts = [self._order(chance, visit, drug, begin)]
        again = ~chance.below(0.75, len(visit))
        visit, drug, end = visit[again], drug[again], parts[0][3][again]
        pause = (chance.between(4.0, 30.0, len(visit)) * HOUR).astype(np.int64)
        parts.append(self._order(chance, visit, drug, end + pause))
        kept = []
        for visit, drug, begin, _end, shown in parts:
            # An order that would begin after the visit is none, and ends the row of them.
            good = (begin < visits.until[visit]) & (begin >= visits.start[visit])
            kept.append((visit[good], drug[good], begin[good], shown[good]))
        visit, drug, begin, shown = _together(kept)
        return self._orders(chance, visit, drug, begin, shown)

    def _order(
        self, chance: Chance, visit: Ints, drug: Ints, begin: Ints
    ) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """(visit, drug, begin, end, the end that is shown) of one round of orders."""
        visits, count = self.visits, len(visit)
        until = visits.until[visit]
        begin = begin // HOUR * HOUR
        length = until - visits.start[visit]
        end = begin + (length * chance.between(0.2, 1.0, count)).astype(np.int64)
        end = np.minimum(end, until)
        stop = end // HOUR * HOUR
        running = (visits.end[visit] == NEVER) & chance.below(0.7, count)
        shown = np.where(running | (stop <= begin), NEVER, stop)
        return visit, drug, begin, end, shown

    def _orders(self, chance: Chance, visit: Ints, drug: Ints, begin: Ints, shown: Ints) -> Rows:
        drugs = list(self.words.drugs.values())
        doses = tuple(dict.fromkeys(f"{dose}" for d in drugs for dose in d.doses))
        routes = tuple(dict.fromkeys(route for d in drugs for route in d.routes))
        units = tuple(dict.fromkeys(d.unit for d in drugs))
        dose = _one_of(chance, [[doses.index(f"{x}") for x in d.doses] for d in drugs], drug)
        route = _one_of(chance, [[routes.index(x) for x in d.routes] for d in drugs], drug)
        unit = np.array([units.index(d.unit) for d in drugs])[drug]
        return {
            **self._ids(visit),
            "starttime": Times(begin),
            "stoptime": Times(shown),
            "drug": Coded(drug, tuple(self.words.drugs)),
            "dose_val_rx": Coded(dose, doses),
            "dose_unit_rx": Coded(unit, units),
            "route": Coded(route, routes),
        }

    def _icu(self) -> Ints:
        return np.flatnonzero(self.crowd.stays.intensive)

    def _stay_ids(self, stay: Ints) -> Rows:
        visit = self.crowd.stays.visit[stay]
        number = 30_000_001 + self.visits.number[visit]
        return {**self._ids(visit), "stay_id": number}

    def chart(self) -> Rows:
        """Vital signs every four hours of intensive care, weight daily, height once."""
        chance, stays, vitals = self.crowd.chance(14), self.crowd.stays, self.words.vitals
        patients = self.crowd.patients
        count = len(patients.number)
        height = np.rint(chance.bell(np.where(patients.male, 176.0, 163.0), 7.0, count))
        weight = chance.bell(27.0, 5.0, count) * (height / 100) ** 2
        icu = self._icu()
        end = np.where(stays.end[icu] == NEVER, NOW, stays.end[icu])
        first = (stays.start[icu] + chance.whole(5, 55, len(icu)) * MINUTE) // MINUTE * MINUTE
        every = one._HOURS_BETWEEN_VITALS * HOUR
        which, step = _spread(np.maximum(0, -(-(end - first) // every)))
        at = first[which] + step * every
        seen = chance.below(self.share, len(step))
        mask = np.repeat(seen[:, None], len(vitals), axis=1)
        labels = [vital.label for vital in vitals]
        mask[:, labels.index("height (cm)")] = step == 0
        mask[:, labels.index("daily weight")] &= step % 6 == 0
        row, vital = np.nonzero(mask)
        stay, at, which = icu[which[row]], at[row], which[row]
        patient = self.visits.patient[stays.visit[stay]]
        whole = np.maximum(1, end - stays.start[icu])[which]
        progress = (at - stays.start[stay]) / whole
        value = self._vital_values(chance, vital, stays.visit[stay], progress)
        is_weight = vital == labels.index("daily weight")
        weighed = np.round(weight[patient] * chance.bell(1.0, 0.01, len(vital)), 1)
        value = np.where(is_weight, weighed, value)
        value = np.where(vital == labels.index("height (cm)"), height[patient], value)
        units = tuple(dict.fromkeys(v.unit for v in vitals))
        return {
            **self._stay_ids(stay),
            "itemid": np.array([v.itemid for v in vitals])[vital],
            "charttime": Times(at),
            "valuenum": value,
            "valueuom": Coded(np.array([units.index(v.unit) for v in vitals])[vital], units),
        }

    def _vital_values(self, chance: Chance, vital: Ints, visit: Ints, progress: Floats) -> Floats:
        vitals = self.words.vitals
        shifts = np.array([[s.vitals.get(v.label, np.nan) for v in vitals] for s in self.stories])
        shift = shifts[self.visits.story[visit], vital]
        usual = np.array([v.usual for v in vitals])[vital]
        usual = np.where(np.isnan(shift), usual, shift + (usual - shift) * progress)
        spread = np.array([v.spread for v in vitals])[vital]
        value = chance.bell(usual, spread, len(vital))
        most = np.where([v.unit == "%" for v in vitals], 100.0, np.inf)[vital]
        decimals = np.array([v.decimals for v in vitals])[vital]
        return _round(np.clip(value, 1.0, most), decimals)

    def fluids(
        self,
        fluids: tuple[Fluid, ...],
        share: float,
        hours: tuple[int, int],
        purpose: int,
        time: str,
    ) -> Rows:
        """What goes in, or comes out, in intensive care."""
        chance, stays, icu = self.crowd.chance(purpose), self.crowd.stays, self._icu()
        given = chance.below(share, (len(icu), len(fluids)))
        given[:, 0] = True
        row, fluid = np.nonzero(given)
        stay = icu[row]
        end = np.where(stays.end[stay] == NEVER, NOW, stays.end[stay])
        at = stays.start[stay] + (chance.between(0.5, 8.0, len(stay)) * HOUR).astype(np.int64)
        at = at // MINUTE * MINUTE
        parts = []
        while (running := at < end).any():
            stay, fluid, end, at = stay[running], fluid[running], end[running], at[running]
            seen = chance.below(self.share, len(at))
            parts.append((stay[seen], fluid[seen], at[seen]))
            pause = chance.between(float(hours[0]), float(hours[1]), len(at)) * HOUR
            at = (at + pause.astype(np.int64)) // MINUTE * MINUTE
        nothing = np.zeros(0, dtype=np.int64)
        stay, fluid, at = _together(parts or [(nothing, nothing, nothing)])
        least = np.array([f.least for f in fluids])[fluid]
        most = np.array([f.most for f in fluids])[fluid]
        volume = np.rint(chance.between(least, most, len(at)) / 5) * 5.0
        amount, unit = ("totalamount", "totalamountuom")
        if time == "charttime":
            amount, unit = "value", "valueuom"
        return {
            **self._stay_ids(stay),
            time: Times(at),
            "itemid": np.array([f.itemid for f in fluids])[fluid],
            amount: volume,
            unit: Coded(np.zeros(len(at), dtype=np.int64), ("ml",)),
        }

    def microbiology(self) -> Rows:
        """Cultures of the first days."""
        chance, visits = self.crowd.chance(17), self.visits
        names = list(self.words.cultures)
        cultures = list(self.words.cultures.values())
        wanted = np.array([[name in s.cultures for name in names] for s in self.stories])
        visit, culture = np.nonzero(wanted[visits.story])
        times = chance.whole(0, 2, len(visit))
        visit, culture = np.repeat(visit, times), np.repeat(culture, times)
        at = visits.start[visit] + (chance.between(1.0, 72.0, len(visit)) * HOUR).astype(np.int64)
        at = at // MINUTE * MINUTE
        keep = at < visits.until[visit]
        visit, culture, at = visit[keep], culture[keep], at[keep]
        grown = tuple(dict.fromkeys(o for c in cultures for o in c.organisms if o != "-"))
        codes = [[grown.index(o) if o != "-" else -1 for o in c.organisms] for c in cultures]
        organism = _one_of(chance, codes, culture)
        return {
            **self._ids(visit),
            "charttime": Times(at),
            "spec_type_desc": Coded(culture, tuple(c.specimen for c in cultures)),
            "test_name": Coded(culture, tuple(c.test for c in cultures)),
            "org_name": Coded(organism, grown),
        }

    def icustays(self) -> Rows:
        """Stays in intensive care."""
        stays, icu = self.crowd.stays, self._icu()
        unit = Coded(stays.unit[icu], self.crowd.units)
        return {
            **self._stay_ids(icu),
            "first_careunit": unit,
            "last_careunit": unit,
            "intime": Times(stays.start[icu]),
            "outtime": Times(stays.end[icu]),
        }

    def transfers(self) -> Rows:
        """Every change of unit, and the discharge."""
        stays, visits = self.crowd.stays, self.visits
        emergency = stays.unit == self.crowd.units.index(EMERGENCY)
        kind = np.where(emergency, 0, np.where(stays.at == 0, 1, 2))
        count = np.bincount(stays.visit, minlength=len(visits))
        gone = np.flatnonzero(visits.end != NEVER)
        none = np.full(len(gone), -1)
        visit = np.concatenate([stays.visit, gone])
        at = np.concatenate([stays.at, count[gone]])
        order = np.lexsort((at, visit))
        visit, at = visit[order], at[order]
        return {
            **self._ids(visit),
            "transfer_id": visits.hadm_id[visit] * 10 + at,
            "eventtype": Coded(
                np.concatenate([kind, np.full(len(gone), 3)])[order],
                ("ed", "admit", "transfer", "discharge"),
            ),
            "careunit": Coded(np.concatenate([stays.unit, none])[order], self.crowd.units),
            "intime": Times(np.concatenate([stays.start, visits.end[gone]])[order]),
            "outtime": Times(np.concatenate([stays.end, np.full(len(gone), NEVER)])[order]),
        }


def _spread(counts: Ints) -> tuple[Ints, Ints]:
    """(which, k) for k in 0..counts[which]-1."""
    which = np.repeat(np.arange(len(counts)), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    return which, np.arange(len(which)) - first


def _together(parts: list[Any]) -> tuple[Any, ...]:
    """Columns of several parts, ordered by the first one."""
    columns = [np.concatenate([part[k] for part in parts]) for k in range(len(parts[0]))]
    order = np.argsort(columns[0], kind="stable")
    return tuple(column[order] for column in columns)


def _one_of(chance: Chance, options: list[list[int]], which: Ints) -> Ints:
    """One of the options of each."""
    counts = np.array([len(found) for found in options])
    flat = np.array([x for found in options for x in found])
    begin = np.cumsum(counts) - counts
    drawn = (chance.random(len(which)) * counts[which]).astype(np.int64)
    picked: Ints = flat[begin[which] + drawn]
    return picked


def _round(values: Floats, decimals: Ints) -> Floats:
    scale = 10.0**decimals
    rounded: Floats = np.rint(values * scale) / scale
    return rounded


def columns_of(crowd: Crowd) -> Mapping[str, Rows]:
    """The tables of people: patients and admissions."""
    from ehrqa_cli.ehr.demo.bulk_people import NAMES

    patients, visits = crowd.patients, crowd.visits
    died = patients.died
    year = np.asarray(visits.start, dtype="datetime64[s]").astype("datetime64[Y]").astype(np.int64)
    born = patients.born.astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64)
    who = visits.patient
    return {
        "patients": {
            "subject_id": patients.subject_id,
            "gender": Coded(patients.male.astype(np.int64), ("f", "m")),
            "dob": Times(patients.born),
            "dod": Times(np.where(died == NEVER, NEVER, died // DAY * DAY)),
        },
        "admissions": {
            "subject_id": patients.subject_id[who],
            "hadm_id": visits.hadm_id,
            "admittime": Times(visits.start),
            "dischtime": Times(visits.end),
            "admission_type": Coded(visits.admission_type, NAMES.admission_type),
            "admission_location": Coded(visits.admission_location, NAMES.admission_location),
            "discharge_location": Coded(visits.discharge_location, NAMES.discharge_location),
            "insurance": Coded(patients.insurance[who], NAMES.insurance),
            "language": Coded(patients.language[who], NAMES.language),
            "marital_status": Coded(patients.marital[who], NAMES.marital),
            "age": year - born[who],
        },
    }
