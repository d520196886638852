"""Patients and hospital visits: who is imported, and how far each patient's time is shifted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ehrqa_cli.contracts.errors import ImportFailed
from ehrqa_cli.ehr.mimic.files import Converted, Fields, MimicFile
from ehrqa_cli.ehr.mimic.options import EHRSQL_NOW, ImportOptions, Progress, TableReport
from ehrqa_cli.ehr.mimic.values import Dates, Texts, birth, first_shift, moment, whole

PATIENT_COLUMNS = ("subject_id", "gender", "anchor_age", "anchor_year", "dod")
VISIT_COLUMNS = (
    "subject_id",
    "hadm_id",
    "admittime",
    "dischtime",
    "admission_type",
    "admission_location",
    "discharge_location",
    "insurance",
    "language",
    "marital_status",
)
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

    def patient(self, row: Fields) -> Converted:
        """A row of patients, once the visits are known."""
        key, gender, _, _, dod = row
        if key not in self.patients or self.patients[key][0] not in self.seen:
            return self._left_out(key)
        subject, age, year = self.patients[key]
        dates = self.shifts[key]
        died = moment(dates, dod, "dod") if dod else None
        if died is not None and died > self.now:
            died = None
        return subject, self.texts[gender], birth(year, age, dates.days), died

    def _left_out(self, key: str) -> str:
        wanted = self.options.patients
        if wanted is not None and int(key) not in wanted:
            return "patient not asked for"
        return "no hospital visit" + ("" if self.now == FOREVER else f" by {self.now}")

    def visit(self, row: Fields) -> Converted:
        """A row of admissions; the visit is known from then on."""
        key, hadm, begin, end, kind, came, went, insurance, language, marital = row
        wanted = self.options.patients
        if key not in self.patients:
            if wanted is not None and whole(key, "subject_id") not in wanted:
                return "patient not asked for"
            return "patient unknown"
        subject, age, year = self.patients[key]
        dates = self.shifts[key]
        admit = moment(dates, begin, "admittime")
        if admit > self.now:
            return f"begins after {self.now}"
        discharge = moment(dates, end, "dischtime") if end else None
        if discharge is not None and discharge > self.now:
            discharge, went = None, ""
        number = whole(hadm, "hadm_id")
        self.visits[hadm] = (key, subject, number, dates)
        self.stays_of[hadm] = (admit, discharge)
        self.seen.add(subject)
        text = self.texts
        facts = (text[kind], text[came], text[went], text[insurance], text[language], text[marital])
        return (subject, number, admit, discharge, *facts, age + int(begin[:4]) - year)


def read_cohort(files: Mapping[str, MimicFile], options: ImportOptions, note: Progress) -> Cohort:
    """Read the patients, and with a time shift their first visits; raises ImportFailed."""
    shifted = options.time_shift == "ehrsql"
    cohort = Cohort(options, Texts(options.lower_case), EHRSQL_NOW if shifted else FOREVER)
    reader = files["hosp/patients"].rows(PATIENT_COLUMNS, TableReport("", ""), note)

    def person(row: Fields) -> Converted:
        key, _, age, year, _ = row
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
        unshifted = Dates(0)
        cohort.shifts = dict.fromkeys(cohort.patients, unshifted)
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
