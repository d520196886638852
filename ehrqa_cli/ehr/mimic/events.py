"""Rows of MIMIC-IV's event files as rows of the EHR's tables.

``events`` makes the converter of any of them: it takes the fields of a row and gives the row of the
table, or the reason for which it is dropped. It runs once for every row of a file, hundreds of
millions of times, so what a row needs is bound to local names first. ``RULES`` has what is asked
of the rows of some tables besides.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from operator import getitem
from typing import Any

from ehrqa_cli.ehr.mimic.fields import Made, code_of, of_parent
from ehrqa_cli.ehr.mimic.files import BadField, Converted, Converter, Fields
from ehrqa_cli.ehr.mimic.names import Names
from ehrqa_cli.ehr.mimic.values import whole
from ehrqa_cli.ehr.mimic.visits import Cohort, Visit
from ehrqa_cli.ehr.schema import EhrTable

NO_VISIT = "belongs to no hospital visit"
NOT_KEPT = "its hospital visit is not imported"
NO_PATIENT = "its patient is not imported"
LATER = "after the present"
NO_ITEM = "its item or code is not in the dictionary"
NO_NUMBER = "no numeric value"
NO_TIME = "no time"
Rule = Callable[[Fields], str]  # why a row is dropped, "" when it is not


@dataclass
class Context:
    """What the converters need to know; ``units`` is a drug's commonest dose unit, if asked for."""

    cohort: Cohort
    names: Names
    units: dict[str, str | None] = field(default_factory=dict)


def _without(hadm: str) -> str:
    """Why a row with this visit is dropped. Raises BadField when it is no id."""
    if not hadm:
        return NO_VISIT
    whole(hadm, "hadm_id")
    return NOT_KEPT


def _outsider(cohort: Cohort, subject: str) -> Visit | None:
    """A stand-in for the visit of a row that has none: its patient and that patient's dates."""
    if subject not in cohort.patients:
        whole(subject, "subject_id")
        return None
    number = cohort.patients[subject][0]
    return (subject, number, 0, cohort.shifts[subject]) if cohort.keeps(number) else None


def events(context: Context, made: Made) -> Converter:
    """The converter of a table of events: of patients and visits that are imported, of an item of
    the dictionary, at a time that is known by now."""
    cohort, visits, table = context.cohort, context.cohort.visits, made.table
    outside = table.optional or not cohort.options.drop_outside_visits
    rule = RULES[table.name](context, made) if table.name in RULES else None
    items = _items(context, table.name)
    item = made.at("itemid") if items is not None else 0
    time = None if table.parent or table.time is None else made.at(table.time)
    of_visits = made.columns[1] == "hadm_id"
    joins, of_dates = made.joins, cohort.unshifted
    mappings = made.mappings(of_dates)

    def convert(row: Fields) -> Converted:
        nonlocal mappings, of_dates
        if items is not None and row[item] not in items:
            return _no_item(context, table.name, row[item])
        why = rule(row) if rule else ""
        if why:
            return why
        hadm = row[1] if of_visits else ""
        visit = visits.get(hadm)
        if visit is None:
            if hadm or not outside:
                return _without(hadm)
            visit = _outsider(cohort, row[0])
            if visit is None:
                return NO_PATIENT
        elif visit[0] != row[0]:
            raise BadField("subject_id", row[0], f"the patient of visit {hadm}")
        if visit[3] is not of_dates:
            of_dates = visit[3]
            mappings = made.mappings(of_dates)
        fields = made.joined(row) if joins else row
        try:
            values = tuple(map(getitem, mappings, fields))
        except (ValueError, OverflowError):
            raise made.blame(fields, of_dates) from None
        if time is not None and values[time] is None:
            return LATER if fields[time] else NO_TIME
        return values

    return convert


def _items(context: Context, table: str) -> Collection[str] | None:
    """The item ids whose events a table takes, as the files write them; None: it does not ask."""
    names, chosen = context.names, context.cohort.options.chart_items
    if table == "labevents":
        return names.labs
    if table == "chartevents" and chosen is not None:
        return {key for key, number in names.items.items() if number in chosen}
    return names.items if table in MEASURED else None


def _no_item(context: Context, table: str, item: str) -> str:
    """Why a row with this item is dropped. Raises BadField when it is no id."""
    whole(item, "itemid")
    known = table != "labevents" and item in context.names.items
    return "its item is not asked for" if known else NO_ITEM


def _coded(context: Context, made: Made) -> Rule:
    """diagnoses_icd and procedures_icd: codes of the dictionary."""
    names, texts = context.names, context.cohort.texts
    codes = names.diagnoses if made.table.name == "diagnoses_icd" else names.procedures
    at, version = made.at("icd_code"), made.columns.index("icd_version")
    return lambda row: "" if texts[code_of(row[at], row[version])] in codes else NO_ITEM


def procedures(context: Context, made: Made) -> Converter:
    """procedures_icd: on their date, at 00:00:00; on the day of admission, at its time."""
    plain, stays, time = events(context, made), context.cohort.stays_of, made.at("charttime")
    at_discharge = context.cohort.options.procedures_at_discharge

    def convert(row: Fields) -> Converted:
        values = plain(row)
        if isinstance(values, str) or not row[1]:
            return values
        admitted, discharged = stays[row[1]]
        if values[time] >= admitted:
            return values
        moved = discharged if at_discharge else admitted
        return NO_TIME if moved is None else (*values[:time], moved, *values[time + 1 :])

    return convert


def _numbers(column: str) -> Callable[[Context, Made], Rule | None]:
    """Tables that may be asked to have a number in ``column``; labs a unit too."""

    def of(context: Context, made: Made) -> Rule | None:
        options, value = context.cohort.options, made.at(column)
        unit = made.at("valueuom") if made.table.name == "labevents" else value
        need_number, need_unit = options.drop_without_number, options.drop_labs_without_unit
        need_unit = need_unit and unit != value

        def rule(row: Fields) -> str:
            if need_number and not row[value]:
                return NO_NUMBER
            return "no unit" if need_unit and not row[unit] else ""

        return rule if need_number or need_unit else None

    return of


def _orders(context: Context, made: Made) -> Rule:
    """prescriptions; ``context.units`` is needed with ``whole_doses``."""
    texts, units, strict = context.cohort.texts, context.units, context.cohort.options.whole_doses
    taken = context.names.taken  # names of intakes and labs, when ambiguous names are dropped
    drug, dose, unit, route, start = (
        made.at(c) for c in ("drug", "dose_val_rx", "dose_unit_rx", "route", "starttime")
    )

    def rule(row: Fields) -> str:
        name = texts[row[drug]]
        if not row[start]:
            return NO_TIME
        if name is None:
            return "no drug"
        if strict:
            if not (row[dose].strip() and row[unit].strip() and row[route].strip()):
                return "no dose, unit or route"
            if not whole_dose(row[dose]):
                return "its dose is not a whole number"
            if texts[row[unit]] != units.get(name):
                return "not in the drug's commonest unit"
        return "the drug has the name of an intake or a lab" if name in taken else ""

    return rule


def details(context: Context, made: Made, parents: Mapping[str, Any]) -> Converter:
    """The converter of a table whose rows have visit and time from ``parents``, by their key."""
    assert made.table.parent is not None
    plain, key = events(context, made), made.at(made.table.parent[1])
    given = [made.at(c.name) for c in made.made if of_parent(c)]
    first, last = given[0], given[-1] + 1  # they stand together
    lost = f"its row of {made.table.parent[0]} is not imported"

    def convert(row: Fields) -> Converted:
        values = plain(row)
        if isinstance(values, str):
            return values
        parent = parents[row[key]]
        return lost if parent is None else (*values[:first], *parent, *values[last:])

    return convert


RULES: dict[str, Callable[[Context, Made], Rule | None]] = {
    "diagnoses_icd": _coded,
    "procedures_icd": _coded,
    "labevents": _numbers("valuenum"),
    "prescriptions": _orders,
    "chartevents": _numbers("valuenum"),
    "inputevents": _numbers("totalamount"),
    "outputevents": _numbers("value"),
}
MEASURED = ("chartevents", "inputevents", "outputevents")


def converter(context: Context, made: Made) -> Converter:
    """What makes the rows of an event's or a dictionary's table."""
    if made.table.name == "procedures_icd":
        return procedures(context, made)
    if _has_patients(made.table):
        return events(context, made)
    dates = context.cohort.unshifted
    return lambda row: made.values(made.joined(row), dates)


def _has_patients(table: EhrTable) -> bool:
    return "subject_id" in table.names()


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
