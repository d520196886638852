"""A form in plain English, for the person who has to check it."""

from __future__ import annotations

import calendar
import re

from ehrqa_cli.logical_form.form import (
    ABNORMALITY,
    Arg,
    Combine,
    Event,
    Filter,
    Form,
    Group,
    Items,
    Lit,
    Ref,
    Select,
)
from ehrqa_cli.logical_form.grammar import FILTERS, HOURS, TIME_FILTERS

_KINDS = {
    "person": "patient record",
    "admission": "hospital admission",
    "discharge": "hospital discharge",
    "icustay": "ICU stay",
    "transfer": "stay in care unit",
    "dx": "diagnosis",
    "proc": "procedure",
    "rx": "prescription",
    "lab": "lab test",
    "vital": "vital sign",
    "intake": "intake",
    "output": "output",
    "specimen": "microbiology test on specimen",
    "mtest": "microbiology test",
    "organism": "organism found",
    "bill": "charge",
    "death": "death",
    "study": "chest X-ray study",
    "item": "abbreviation",
    "finding": "finding",
    "wide_heart": "cardiac silhouette wider than 1/2 of the thorax",
    "wide_mediastinum": "upper mediastinum wider than 1/3 of the thorax",
}
_NOUNS = {
    "rx": "drug",
    "dx": "diagnosis",
    "specimen": "specimen",
    "mtest": "microbiology test",
    "organism": "organism",
    "transfer": "care unit",
}
_HEADS = {
    "value": "value of",
    "time": "time of",
    "route": "route of",
    "unit": "unit of",
    "age": "age at",
    "insurance": "insurance at",
    "marital": "marital status at",
    "language": "language at",
    "admission_type": "admission type of",
    "admission_location": "admission location of",
    "discharge_location": "discharge location of",
    "gender": "gender in",
    "birth": "date of birth in",
    "deathdate": "date of death in",
    "careunit": "care unit of",
    "days_since": "days since",
    "hours_since": "hours since",
    "exists": "whether there was any",
    "none": "whether there was no",
    "count": "number of",
    "count_patients": "number of patients with",
    "count_visits": "number of hospital visits with",
    "patients": "ids of patients with",
    "visits": "ids of hospital visits with",
    "avg_total": "average total cost of hospital visits, counting each",
    "max_total": "highest total cost of a hospital visit, counting each",
    "min_total": "lowest total cost of a hospital visit, counting each",
    "cost": "cost of one",
    "expand": "meaning of the",
    "view": "view of",
    "sex": "sex seen in",
}
_AGG = {
    "sum": "total",
    "avg": "average",
    "max": "highest",
    "min": "lowest",
    "median": "median",
}
# A column beside others, and a group's key.
_COLUMNS = {
    "marital": "marital status",
    "patients": "patient",
    "visits": "hospital visit",
    "birth": "date of birth",
    "deathdate": "date of death",
    "careunit": "care unit",
    "length": "length in days",
    "per_day": "day",
    "per_month": "month",
    "per_year": "year",
}
_CUTS = {"most": "the {} with the most", "least": "the {} with the least"}
_HAVING = {"over": "over {}", "under": "under {}", "atleast": "at least {}", "atmost": "at most {}"}
_FINISH = {
    "keys": "only the {} shown",
    "values": "only the numbers shown",
    "count": "how many there are",
}
_ORDERS = {"second_last": "second to last"}
_WINDOWS = {
    "samevisit": "in the same hospital visit",
    "sameday": "on the same day",
    "samemonth": "in the same month",
    "sametime": "at the same time",
    "sameperiod": "in the same period",
}
_OPS = {
    "minus": "minus",
    "less": "is less than",
    "greater": "is greater than",
    "equal": "equals",
    "except": "but not",
    "union": "together with",
    "intersect": "that are also in",
    "and": "and also",
    "or": "or else",
    "plus": "plus",
    "beside": "and next to it",
    "ratio": "divided by",
    "percent": "as a percentage of",
    "days_between": "minus, in days,",
    "hours_between": "minus, in hours,",
}
_RELATIONS = {
    "after": "after",
    "before": "before",
    "with": "together with",
    "without": "without",
    "notfollowed": "not followed by",
    "involving": "in a hospital visit with",
    "followed": "followed by",
}
_CHARGED = {"dx": "diagnoses", "proc": "procedures", "rx": "drugs", "lab": "lab tests"}
_MONTHS = {str(k): calendar.month_name[k] for k in range(1, 13)}
_SIMPLE = {
    "route": "by route {}",
    "of_specimen": "on specimen {}",
    "of_mtest": "by test {}",
    "from": "coming from {}",
    "type": "of type {}",
    "to": "discharged to {}",
    "insured": "insured by {}",
    "speaks": "speaking {}",
    "status": "marital status {}",
    "over": "over {}",
    "under": "under {}",
    "atleast": "at least {}",
    "atmost": "at most {}",
    "abnormal": "outside the normal range",
    "high": "above the normal range",
    "low": "below the normal range",
    "patient": "patient {}",
    "peers": "among patients of the same age",
    "female": "female patients",
    "male": "male patients",
    "aged": "aged {}",
    "older": "older than {}",
    "younger": "younger than {}",
    "aged_from": "aged {} or more",
    "aged_to": "aged {} or less",
    "longer": "lasting longer than {}",
    "shorter": "lasting less than {}",
    "died": "that ended in death",
    "alive": "that the patient left alive",
    **{f"for_{kind}": f"for {noun}" for kind, noun in _CHARGED.items()},
    "current": "not over yet",
    "in": "in {}",
    "since": "since {}",
    "before_date": "before {}",
    "since_ago": "in the last {}",
    "until_ago": "until {} ago",
    "times": "exactly {} times",
    "times_atleast": "at least {} times",
}


def describe(form: Form) -> str:
    """The form as an English phrase; references are shown as ``#n``."""
    if isinstance(form, Combine):
        return f"({describe(form.left)}) {_OPS[form.op]} ({describe(form.right)})"
    if not isinstance(form, Select):
        return "no answer: the model declined"
    return re.sub(r"\s+", " ", _select(form) + _by(form.group)).strip()


def _column(name: str) -> str:
    return _COLUMNS.get(name, name.replace("_", " "))


def _unit(select: Select) -> str:
    return "hours" if select.per == HOURS else "days"


def _by(group: Group | None) -> str:
    if group is None:
        return ""
    key = _column(group.key)
    parts = [f", for each {key}"]
    if group.cut and group.most is not None:
        parts.append(_CUTS[group.cut].format(show(group.most)))
    if group.having and group.limit is not None:
        parts.append(_HAVING[group.having].format(show(group.limit)))
    if group.finish in _FINISH:
        parts.append(_FINISH[group.finish].format(f"{key}s"))
    elif group.finish in ("percent", "ratio"):
        parts.append(f"each as a {group.finish} of the total")
    elif group.finish:
        parts.append(f"the {_AGG[group.finish]} of these")
    return ", ".join(parts)


def show(arg: Arg) -> str:
    """A value as people write it."""
    if isinstance(arg, Ref):
        return f"#{arg.n}"
    if isinstance(arg, Lit) and isinstance(arg.value, str):
        match = re.fullmatch(r"(\d+) (hour|day|week|month|year|minute)", arg.value)
        return f"{arg.value}s" if match and match[1] != "1" else arg.value
    return str(arg.value)


def _select(select: Select) -> str:
    head, args = select.head, [show(a) for a in select.args]
    noun = _NOUNS.get(select.event.kind, _KINDS[select.event.kind])
    event = _event(select.event)
    if select.also:
        return f"{', '.join(_column(h) for h in (head, *select.also))} of {event}"
    if head.endswith("_wait"):
        return f"{_AGG[head[:3]]} time in {_unit(select)} from that event to the first {event}"
    if head.endswith("length"):
        how = f"{_AGG[head.split('_')[0]]} " if head != "length" else ""
        return f"{how}length in {_unit(select)} of {event}"
    if head.endswith("_age"):
        how = head.split("_")[0]
        return f"{_AGG[how]} age at {event}"
    per = f" {select.per.replace('_', ' ')}" if select.per else ""
    if head == "name":
        named = select.event.kind in ("dx", "transfer") or select.event.kind not in _NOUNS
        what = "name" if named else noun
        return f"findings: {event}" if select.event.kind == "finding" else f"{what} of {event}"
    if head == "place":
        return f"anatomical locations of {event}"
    if head == "count_names":
        return f"number of different {_several(noun)}{_among(select.event, event)}"
    if head in _AGG:
        return f"{_AGG[head]} value{per} of {event}"
    if head.endswith("_count"):
        return f"{_AGG[head[:3]]} number{per} of {event}"
    if head == "top":
        return f"{args[0]} most frequent {_several(noun)}{_among(select.event, event)}"
    if head == "top_mortality":
        return f"{args[0]} diagnoses with the highest mortality within {args[1]} of {event}"
    if head == "survival":
        return f"share of patients alive {args[0]} after {event}"
    if head == "percentile":
        return f"percentile of the value {args[0]} for {event}"
    return f"{_HEADS[head]} {event}"


def _several(noun: str) -> str:
    return "diagnoses" if noun == "diagnosis" else f"{noun}s"


def _among(event: Event, words: str) -> str:
    # "drugs among prescriptions" says nothing that "drugs" does not.
    return f" among: {words}" if event.items or event.filters else ""


def _event(event: Event) -> str:
    order = _ORDERS.get(event.order or "", event.order or "")
    name = f"{order} {event.extreme or ''} {_KINDS[event.kind]}"
    if event.kind == "finding":
        name = _finding(event.items, event.places)
    elif event.items:
        name += " " + _items(event.items)
    if event.comparison:
        name += " " + event.comparison.replace("_", " ")
    if event.of:
        name += f" in the {_event(event.of)}"
    if isinstance(event.than, Event):
        name += f" compared to the {_event(event.than)}"
    elif event.than:
        name += " compared to the previous study"
    return ", ".join([name, *(_filter(f) for f in event.filters)])


def _items(items: Items) -> str:
    if items == ABNORMALITY:
        return "any abnormality"
    words = [show(items.args[0])]
    for op, arg in zip(items.ops, items.args[1:], strict=True):
        words += ["but not" if op == "not" else op, show(arg)]
    return " ".join(words)


def _finding(items: Items | None, places: Items | None) -> str:
    found = _items(items) if items else ""
    return f"{found} in {_items(places)}" if places else found


def _filter(item: Filter) -> str:
    args = [show(a) for a in item.args]
    if item.name == "patient":
        return f"patient {' or '.join(args)}"
    if len(args) > 1 and FILTERS[item.name].many:
        args = [" or ".join(args)]
    if item.name in ("in", "since", "before_date") and args[0] in _MONTHS:
        args = [_MONTHS[args[0]]]
    if item.name in _RELATIONS and item.event:
        within = f"within {args[0]}" if item.window == "within" else ""
        window = within or _WINDOWS.get(item.window or "", "")
        return f"{_RELATIONS[item.name]} {_event(item.event)} {window}"
    if item.name == "showing":
        return f"showing {_finding(item.items, item.places)}"
    if item.which:
        which = _ORDERS.get(item.which, item.which)
        return f"{which} {'hospital visit' if item.name == 'visit' else 'ICU stay'}"
    if item.name in TIME_FILTERS and item.name not in _SIMPLE:
        relative = item.name.replace("_", " ")
        return f"{relative}, at {args[0]}" if args else relative
    return _SIMPLE[item.name].format(*args)
