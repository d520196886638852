"""Patients and hospital visits: who is imported, and how far each patient's time is shifted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.mimic.fields import Made, release
from ehrqa_cli.ehr.mimic.files import Converted, Converter, Fields, MimicFile
from ehrqa_cli.ehr.mimic.options import EHRSQL_NOW, ImportOptions, Progress, TableReport
from ehrqa_cli.ehr.mimic.values import (
    Dates,
    Filling,
    Texts,
    birth,
    first_shift,
    lower_text,
    moment,
    plain_text,
    whole,
)

_PEOPLE = ("subject_id", "anchor_age", "anchor_year")
FOREVER = "9999"
# subject_id as text, subject_id, hadm_id, the patient's dates
Visit = tuple[str, int, int, Dates]


@dataclass
class Cohort:
    """Who is imported. Text keys, as in the files, spare a conversion for each row.

    ``visits``: hadm_id to its ``Visit``;
    ``stays_of``: hadm_id to (admittime, dischtime), shifted; ``now`` is the last time kept.
    """

    options: ImportOptions
    texts: Texts
    now: str = FOREVER
    patients: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    shifts: dict[str, Dates] = field(default_factory=dict)
    visits: dict[str, Visit] = field(default_factory=dict)
    stays_of: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    unshifted: Dates = field(default_factory=lambda: Dates(0))

    def keeps(self, subject: int) -> bool:
        """Is this patient imported? To be asked once the visits are known."""
        everyone = self.now == FOREVER and not self.options.drop_outside_visits
        return everyone or subject in self.seen

    def admitted(self, hadm: str) -> str | None:
        """When a visit began, None if it is not imported."""
        stay = self.stays_of.get(hadm)
        return stay[0] if stay else None

    def people(self, made: Made) -> Converter:
        """The converter of patients, once the visits are known."""
        born = made.at("dob")

        def convert(row: Fields) -> Converted:
            key = row[0]
            if key not in self.patients:
                return "patient not asked for"
            subject, age, year = self.patients[key]
            if not self.keeps(subject):
                return "no hospital visit" + ("" if self.now == FOREVER else f" by {self.now}")
            dates = self.shifts[key]
            values = list(made.values(made.joined(row), dates))
            values[born] = birth(year, age, dates.days)
            return tuple(values)

        return convert

    def stays(self, made: Made) -> Converter:
        """The converter of admissions; a visit is known from then on."""
        names = [c.name for c in made.made]
        begin, end, kind, age = map(made.at, ("admittime", "dischtime", "admission_type", "age"))
        unknown = [names.index(n) for n in _OUTCOME if n in names]
        encounter = made.at("encounter")
        kinds = {t: k for k, types in release()["encounters"].items() for t in types}

        def convert(row: Fields) -> Converted:
            key, hadm = row[:2]
            if key not in self.patients:
                return self._stranger(key)
            subject, years, anchor = self.patients[key]
            dates = self.shifts[key]
            values = list(made.values(made.joined(row), dates))
            if values[begin] is None:
                if row[begin]:
                    return f"begins after {self.now}"
                moment(dates, row[begin], "admittime")  # raises: there is none
            if values[end] is None and row[end]:
                for place in unknown:
                    values[place] = None
            number = whole(hadm, "hadm_id")
            self.visits[hadm] = (key, subject, number, dates)
            self.stays_of[hadm] = (values[begin], values[end])
            self.seen.add(subject)
            values[age] = years + int(row[begin][:4]) - anchor
            values[encounter] = kinds.get((values[kind] or "").lower(), "inpatient")
            return tuple(values)

        return convert

    def _stranger(self, key: str) -> str:
        wanted = self.options.patients
        if wanted is not None and whole(key, "subject_id") not in wanted:
            return "patient not asked for"
        return "patient unknown"


# what is not known of a visit that lasts beyond the present, besides times
_OUTCOME = ("discharge_location", "hospital_expire_flag")


def read_cohort(files: Mapping[str, MimicFile], options: ImportOptions, note: Progress) -> Cohort:
    """Read the patients, and with a time shift their first visits; raises ImportFailed."""
    shifted = options.time_shift == "ehrsql"
    texts = Filling(lower_text if options.lower_case else plain_text)
    cohort = Cohort(options, texts, EHRSQL_NOW if shifted else FOREVER)
    reader = files["hosp/patients"].rows(_PEOPLE, TableReport("", ""), note)

    def person(row: Fields) -> Converted:
        key, age, year = row
        subject = whole(key, "subject_id")
        if options.patients is None or subject in options.patients:
            cohort.patients[key] = (subject, whole(age, "anchor_age"), whole(year, "anchor_year"))
        return ()

    for _ in reader.converted(person):
        pass
    if not cohort.patients:
        hint = "check the patients asked for" if options.patients else "check the file"
        raise ImportFailed(f"{reader.source.path} holds none of the patients", hint)
    if not shifted:
        cohort.shifts = dict.fromkeys(cohort.patients, cohort.unshifted)
        return cohort
    first = _first_years(files["hosp/admissions"], note)
    by_days: dict[int, Dates] = {}
    for key in cohort.patients:
        days = first_shift(first.get(key, 0)) if key in first else 0
        cohort.shifts[key] = by_days.setdefault(days, Dates(days))
    return cohort


def _first_years(source: MimicFile, note: Progress) -> dict[str, int]:
    reader = source.rows(("subject_id", "admittime"), TableReport("", ""), note)
    unshifted = Dates(0)
    first: dict[str, int] = {}

    def year(row: Fields) -> Converted:
        key, begin = row
        found = int(moment(unshifted, begin, "admittime")[:4])
        first[key] = min(found, first.get(key, found))
        return ()

    for _ in reader.converted(year):
        pass
    return first
