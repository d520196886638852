"""Rows of MIMIC-IV's event files as rows of the EHR's tables.

Each function here makes a converter for one file: it takes the fields of the columns listed in
``EVENTS`` and gives the row, or the reason for which it is dropped. They run once for every row
of a file, hundreds of millions of times, so what a row needs is bound to local names first.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from ehrqa_cli.ehr.mimic.files import BadField, Converted, Converter, Fields
from ehrqa_cli.ehr.mimic.names import Names
from ehrqa_cli.ehr.mimic.values import CLOCKS, moment, real, whole
from ehrqa_cli.ehr.mimic.visits import Cohort, Visit

NO_VISIT = "belongs to no hospital visit"
NOT_KEPT = "its hospital visit is not imported"
LATER = "after the present"
NO_ITEM = "its item or code is not in the dictionary"
NO_NUMBER = "no numeric value"
NO_TIME = "no time"
_DOSE = re.compile(r"\d*\.?\d+|\d+\.")


@dataclass
class Context:
    """What the converters need to know; ``units`` is a drug's commonest dose unit, if asked for."""

    cohort: Cohort
    names: Names
    units: dict[str, str | None] = field(default_factory=dict)


def _without(hadm: str, column: str = "hadm_id") -> str:
    """Why a row with this visit is dropped. Raises BadField when it is no id."""
    if not hadm:
        return NO_VISIT
    whole(hadm, column)
    return NOT_KEPT


def _mismatch(subject: str, hadm: str) -> BadField:
    return BadField("subject_id", subject, f"the patient of visit {hadm}")


def diagnoses(context: Context) -> Converter:
    """diagnoses_icd: dated to the admission, since MIMIC-IV gives no time."""
    visits, stays, codes = (
        context.cohort.visits,
        context.cohort.stays_of,
        context.names.diagnoses,
    )
    code_of = context.names.code

    def convert(row: Fields) -> Converted:
        subject, hadm, code, version = row
        visit = visits.get(hadm)
        if visit is None:
            return _without(hadm)
        name = codes.get(code_of(code, version))
        if name is None:
            return NO_ITEM
        if visit[0] != subject:
            raise _mismatch(subject, hadm)
        return visit[1], visit[2], name, stays[hadm][0]

    return convert


def procedures(context: Context) -> Converter:
    """procedures_icd: on their date, at 00:00:00; on the day of admission, at its time."""
    cohort, codes, code_of = context.cohort, context.names.procedures, context.names.code
    at_discharge, now = cohort.options.procedures_at_discharge, cohort.now

    def convert(row: Fields) -> Converted:
        subject, hadm, code, version, day = row
        visit = cohort.visits.get(hadm)
        if visit is None:
            return _without(hadm)
        name = codes.get(code_of(code, version))
        if name is None:
            return NO_ITEM
        if visit[0] != subject:
            raise _mismatch(subject, hadm)
        if not day:
            return NO_TIME
        time: str | None = moment(visit[3], day, "chartdate")
        admitted, discharged = cohort.stays_of[hadm]
        if time is not None and time < admitted:
            time = discharged if at_discharge else max(time, admitted)
        if time is None:
            return NO_TIME
        return LATER if time > now else (visit[1], visit[2], name, time)

    return convert


def labs(context: Context) -> Converter:
    """labevents, with the reference range and the flag that EHRSQL leaves out."""
    cohort, items, texts = context.cohort, context.names.labs, context.cohort.texts
    visits, now, options = cohort.visits, cohort.now, cohort.options
    need_number, need_unit = not options.keep_without_number, options.drop_labs_without_unit
    outside = options.keep_outside_visits

    def convert(row: Fields) -> Converted:
        subject, hadm, item, time, value, unit, low, high, flag = row
        visit = visits.get(hadm)
        if visit is None:
            if hadm or not outside:
                return _without(hadm)
            visit = _outsider(cohort, subject)
            if visit is None:
                return NOT_KEPT
        elif visit[0] != subject:
            raise _mismatch(subject, hadm)
        number = items.get(item)
        if number is None:
            whole(item, "itemid")
            return NO_ITEM
        if need_number and not value:
            return NO_NUMBER
        if need_unit and not unit:
            return "no unit"
        try:
            at = visit[3][time[:10]] + CLOCKS[time[10:]]
            amount = float(value) if value else None
        except ValueError:
            if not time:
                return NO_TIME
            at, amount = moment(visit[3], time, "charttime"), real(value, "valuenum")
        if at > now:
            return LATER
        lower, upper = real(low, "ref_range_lower"), real(high, "ref_range_upper")
        shown = texts[unit], lower, upper, texts[flag]
        return (visit[1], visit[2] if hadm else None, number, at, amount, *shown)

    return convert


def _outsider(cohort: Cohort, subject: str) -> Visit | None:
    """A stand-in for the visit of a row that has none: its patient and that patient's dates."""
    if subject not in cohort.patients:
        whole(subject, "subject_id")
        return None
    number = cohort.patients[subject][0]
    return (subject, number, 0, cohort.shifts[subject]) if number in cohort.seen else None


def _measured(context: Context, time_column: str, value_column: str, time_first: bool) -> Converter:
    """chartevents, inputevents and outputevents: an item's value at a time of an ICU stay."""
    cohort, texts = context.cohort, context.cohort.texts
    visits, now = cohort.visits, cohort.now
    need_number = not cohort.options.keep_without_number
    items = context.names.items
    if not time_first and cohort.options.chart_items is not None:
        items = {k: v for k, v in items.items() if v in cohort.options.chart_items}

    def convert(row: Fields) -> Converted:
        subject, hadm, stay, time, item, value, unit = row
        number = items.get(item)
        if number is None:
            whole(item, "itemid")
            return NO_ITEM if time_first else "its item is not asked for"
        visit = visits.get(hadm)
        if visit is None:
            return _without(hadm)
        if visit[0] != subject:
            raise _mismatch(subject, hadm)
        if need_number and not value:
            return NO_NUMBER
        try:
            at = visit[3][time[:10]] + CLOCKS[time[10:]]
            amount = float(value) if value else None
            stay_id = int(stay)
        except ValueError:
            at, amount = moment(visit[3], time, time_column), real(value, value_column)
            stay_id = whole(stay, "stay_id")
        if at > now:
            return LATER
        if time_first:
            return visit[1], visit[2], stay_id, at, number, amount, texts[unit]
        return visit[1], visit[2], stay_id, number, at, amount, texts[unit]

    return convert


def dose_text(text: str) -> str | None:
    """A dose as EHRSQL writes it: ``5`` is "5.0", ``20,000`` is "20000.0"; ranges stay as is."""
    clean = text.strip().lower()
    plain = clean.replace(",", "")
    return str(float(plain)) if _DOSE.fullmatch(plain) else clean or None


def prescriptions(context: Context) -> Converter:
    """prescriptions; ``context.units`` is needed with ``whole_doses``."""
    cohort, texts, units = context.cohort, context.cohort.texts, context.units
    visits, now, strict = cohort.visits, cohort.now, cohort.options.whole_doses
    taken = context.names.taken  # names of intakes and labs, when ambiguous names are dropped

    def convert(row: Fields) -> Converted:
        subject, hadm, start, stop, drug, dose, unit, route = row
        visit = visits.get(hadm)
        if visit is None:
            return _without(hadm)
        if visit[0] != subject:
            raise _mismatch(subject, hadm)
        if not start:
            return NO_TIME
        name = texts[drug]
        if name is None:
            return "no drug"
        if strict:
            if not (dose.strip() and unit.strip() and route.strip()):
                return "no dose, unit or route"
            if not whole_dose(dose):
                return "its dose is not a whole number"
            if texts[unit] != units.get(name):
                return "not in the drug's commonest unit"
        if name in taken:
            return "the drug has the name of an intake or a lab"
        begin = moment(visit[3], start, "starttime")
        if begin > now:
            return LATER
        end = moment(visit[3], stop, "stoptime") if stop else None
        if end is not None and end > now:
            end = None
        how = dose_text(dose), texts[unit], texts[route]
        return (visit[1], visit[2], begin, end, name, *how)

    return convert


def whole_dose(text: str) -> bool:
    """Whether a dose is a whole number, as in ``20,000``."""
    return text.replace(",", "").strip().isdigit()


class Units:
    """Counts the units of whole doses by drug, over all of prescriptions."""

    columns = ("drug", "dose_val_rx", "dose_unit_rx", "route", "starttime")

    def __init__(self, context: Context) -> None:
        self._texts = context.cohort.texts
        self._seen: defaultdict[str, Counter[str | None]] = defaultdict(Counter)

    def count(self, row: Fields) -> Converted:
        """One row of prescriptions."""
        drug, dose, unit, route, start = row
        name = self._texts[drug]
        if name and start and unit.strip() and route.strip() and whole_dose(dose):
            self._seen[name][self._texts[unit]] += 1
        return ()

    def commonest(self) -> dict[str, str | None]:
        """Each drug's commonest unit; of several the one that came first."""
        return {name: units.most_common(1)[0][0] for name, units in self._seen.items()}


def microbiology(context: Context) -> Converter:
    """microbiologyevents: at the time, or else on the date, of the sample."""
    cohort, texts = context.cohort, context.cohort.texts
    outside = cohort.options.keep_outside_visits

    def convert(row: Fields) -> Converted:
        subject, hadm, time, day, specimen, test, organism = row
        visit = cohort.visits.get(hadm)
        if visit is None:
            visit = _outsider(cohort, subject) if outside and not hadm else None
            if visit is None:
                return _without(hadm)
        elif visit[0] != subject:
            raise _mismatch(subject, hadm)
        if not (time or day):
            return NO_TIME
        at = moment(visit[3], time or day, "charttime" if time else "chartdate")
        if at > cohort.now:
            return LATER
        found = texts[specimen], texts[test], texts[organism]
        return (visit[1], visit[2] if hadm else None, at, *found)

    return convert


def _spell(
    context: Context, outside: bool, middle: Callable[[Fields], tuple[object, ...]]
) -> Converter:
    """icustays and transfers: an interval, whose end is unknown while it lasts."""
    cohort = context.cohort

    def convert(row: Fields) -> Converted:
        subject, hadm, begin, end = row[:4]
        visit = cohort.visits.get(hadm)
        if visit is None:
            visit = _outsider(cohort, subject) if outside and not hadm else None
            if visit is None:
                return _without(hadm)
        elif visit[0] != subject:
            raise _mismatch(subject, hadm)
        if not begin:
            return NO_TIME
        start = moment(visit[3], begin, "intime")
        if start > cohort.now:
            return LATER
        stop = moment(visit[3], end, "outtime") if end else None
        if stop is not None and stop > cohort.now:
            stop = None
        return (visit[1], visit[2] if hadm else None, *middle(row[4:]), start, stop)

    return convert


def icustays(context: Context) -> Converter:
    """icustays."""
    texts = context.cohort.texts
    return _spell(context, False, lambda r: (whole(r[0], "stay_id"), texts[r[1]], texts[r[2]]))


def transfers(context: Context) -> Converter:
    """transfers."""
    texts, outside = context.cohort.texts, context.cohort.options.keep_outside_visits
    return _spell(
        context, outside, lambda r: (whole(r[0], "transfer_id"), texts[r[1]], texts[r[2]])
    )


def chart(context: Context) -> Converter:
    """chartevents: only the items asked for."""
    return _measured(context, "charttime", "valuenum", False)


def intake(context: Context) -> Converter:
    """inputevents: ``totalamount`` is the whole volume of a bag or syringe."""
    return _measured(context, "starttime", "totalamount", True)


def output(context: Context) -> Converter:
    """outputevents."""
    return _measured(context, "charttime", "value", True)


@dataclass(frozen=True)
class Event:
    """A file, the columns read from it, and the maker of its converter.

    The table has the file's name without its folder.
    """

    file: str
    columns: tuple[str, ...]
    make: Callable[[Context], Converter]


_WHO = ("subject_id", "hadm_id")
_STAY = (*_WHO, "stay_id")
_SPAN = (*_WHO, "intime", "outtime")
_LAB = ("itemid", "charttime", "valuenum", "valueuom", "ref_range_lower", "ref_range_upper", "flag")
_RX = ("starttime", "stoptime", "drug", "dose_val_rx", "dose_unit_rx", "route")
_MICRO = ("charttime", "chartdate", "spec_type_desc", "test_name", "org_name")
EVENTS: tuple[Event, ...] = (
    Event("hosp/diagnoses_icd", (*_WHO, "icd_code", "icd_version"), diagnoses),
    Event("hosp/procedures_icd", (*_WHO, "icd_code", "icd_version", "chartdate"), procedures),
    Event("hosp/labevents", (*_WHO, *_LAB), labs),
    Event("hosp/prescriptions", (*_WHO, *_RX), prescriptions),
    Event("icu/chartevents", (*_STAY, "charttime", "itemid", "valuenum", "valueuom"), chart),
    Event(
        "icu/inputevents", (*_STAY, "starttime", "itemid", "totalamount", "totalamountuom"), intake
    ),
    Event("icu/outputevents", (*_STAY, "charttime", "itemid", "value", "valueuom"), output),
    Event("hosp/microbiologyevents", (*_WHO, *_MICRO), microbiology),
    Event("icu/icustays", (*_SPAN, "stay_id", "first_careunit", "last_careunit"), icustays),
    Event("hosp/transfers", (*_SPAN, "transfer_id", "eventtype", "careunit"), transfers),
)
