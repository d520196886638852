"""The words of the logical form and where each may stand, as tables.

Everything else in this room (parser, printer, decoding machine, description) reads these tables, so
that a construct is added in one place. docs/logical-form.md is the same for people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

REFS = tuple(f"#{k}" for k in range(1, 17))
INTS = tuple(str(k) for k in range(1, 11))

# Types of a reference, in the one fixed order in which several are written.
TYPES = (
    *("pat", "study", "year", "ym", "ymd", "md", "stamp", "num", "dur", "agegrp"),
    *("drug", "lab", "dx", "proc", "intake", "output", "vital", "specimen", "mtest", "organism"),
    *("careunit", "route", "admloc", "admtype", "dischloc", "insurance", "language", "marital"),
    *("abbrev", "attr", "obj", "cat", "mon"),
)

# What a slot accepts. Numbers may also be one of INTS; relative dates keep their own words.
SLOTS: dict[str, tuple[str, ...]] = {
    "N": ("num",),
    "V": ("num",),
    "DUR": ("dur",),
    "H": ("num",),
    "DATE": ("year", "ym", "ymd", "stamp", "md", "mon"),
    "AT": ("num", "md", "mon"),
    "FINDING": ("attr", "cat"),
    "PLACE": ("obj",),
    "AGED": ("agegrp",),
    **{t: (t,) for t in TYPES},
}
INT_SLOTS = frozenset({"N", "H"})

ORDERS = ("first", "second", "third", "last", "second_last")
EXTREMES = ("highest", "lowest")
WHICH = ("first", "second", "third", "last", "second_last", "current")
OPS = (
    *("minus", "less", "greater", "equal", "except", "union", "intersect", "and", "or"),
    *("plus", "ratio", "percent", "days_between", "hours_between", "beside"),
)
PERIODS = ("per_day", "per_month", "per_year")
HOURS = "in_hours"
WINDOWS = ("samevisit", "sameday", "samemonth", "sametime", "sameperiod", "within")
COMPARISONS = ("still_present", "still_absent", "new", "resolved")
ABSTAIN = "abstain"
# Grouping: which groups are kept by their number, and what is shown or made of the numbers.
CUTS = ("most", "least")
HAVING = ("over", "under", "atleast", "atmost")
FINISH = ("keys", "values", "avg", "max", "min", "median", "sum", "count", "percent", "ratio")


@dataclass(frozen=True)
class EventKind:
    """A kind of event: the type of its item (None: it has none) and whether one must be given."""

    item: str | None = None
    required: bool = False


KINDS: dict[str, EventKind] = {
    "person": EventKind(),
    "admission": EventKind(),
    "discharge": EventKind(),
    "icustay": EventKind(),
    "transfer": EventKind("careunit"),
    "dx": EventKind("dx"),
    "proc": EventKind("proc"),
    "rx": EventKind("drug"),
    "lab": EventKind("lab"),
    "vital": EventKind("vital"),
    "intake": EventKind("intake"),
    "output": EventKind("output"),
    "specimen": EventKind("specimen"),
    "mtest": EventKind("mtest"),
    "organism": EventKind("organism"),
    "bill": EventKind(),
    "death": EventKind(),
    "study": EventKind("study"),
    "item": EventKind("abbrev", required=True),
    "finding": EventKind(),
    "wide_heart": EventKind(),
    "wide_mediastinum": EventKind(),
}
MICRO = ("specimen", "mtest", "organism")
IMAGE = ("finding", "wide_heart", "wide_mediastinum")
STAYS = ("admission", "icustay")
NAMED = ("dx", "proc", "rx", "lab", "vital", "intake", "output", *MICRO, "transfer")
MEASURED = ("lab", "vital", "rx", "intake", "output", "bill")
TIMED = (
    *("admission", "discharge", "icustay", "transfer", "dx", "proc", "rx", "lab", "vital"),
    *("intake", "output", *MICRO, "bill", "death", "study"),
)
VISITED = tuple(k for k in TIMED if k not in ("death", "study"))
ADMISSION_HEADS = (
    *("age", "insurance", "marital", "language", "admission_type"),
    *("admission_location", "discharge_location"),
)


@dataclass(frozen=True)
class Head:
    """What is asked: kinds it goes with, slots of its arguments, and what may follow it.

    ``order``: order words may stand before the kind; ``extreme``: highest/lowest too;
    ``per``: "" never, "may" or "must" be followed by one of PERIODS; ``hours``: in days, or with
    HOURS after it in hours.
    """

    kinds: tuple[str, ...]
    args: tuple[str, ...] = ()
    order: bool = False
    extreme: bool = False
    per: str = ""
    hours: bool = False


_MEASURES = {h: Head(MEASURED, per="may") for h in ("sum", "avg", "max", "min")}
_MEASURES["median"] = Head(MEASURED)
_LENGTHS = {f"{h}_length": Head(STAYS, hours=True) for h in ("avg", "max", "min", "sum", "median")}
# From an event to the first of this kind after it: needs the relation ``after``.
_WAITS = {f"{h}_wait": Head(VISITED, hours=True) for h in ("avg", "max", "min")}
_AGES = {f"{h}_age": Head(("admission",)) for h in ("avg", "max", "min")}
_TOTALS = {h: Head(("bill",)) for h in ("avg_total", "max_total", "min_total")}
_COUNTS = {h: Head(TIMED, per="must") for h in ("avg_count", "max_count", "min_count")}
HEADS: dict[str, Head] = {
    "value": Head(MEASURED, order=True, extreme=True),
    "time": Head(TIMED, order=True, extreme=True),
    "name": Head((*NAMED, "finding"), order=True, extreme=True),
    "route": Head(("rx",), order=True),
    "unit": Head(("rx", "lab", "vital", "intake", "output"), order=True),
    **{h: Head(("admission",), order=True) for h in ADMISSION_HEADS},
    "gender": Head(("person",)),
    "birth": Head(("person",)),
    "deathdate": Head(("person",)),
    "careunit": Head(("transfer", "icustay"), order=True),
    "length": Head(STAYS, order=True, extreme=True, hours=True),
    "days_since": Head(TIMED, order=True, extreme=True),
    "hours_since": Head(TIMED, order=True, extreme=True),
    "exists": Head((*TIMED, *IMAGE), order=True),
    "none": Head((*TIMED, *IMAGE), order=True),
    "count": Head((*TIMED, "finding")),
    "count_patients": Head((*TIMED, "person")),
    "count_visits": Head(TIMED),
    "visits": Head(VISITED),
    "count_names": Head((*NAMED, "finding")),
    "patients": Head((*TIMED, "person")),
    **_MEASURES,
    **_TOTALS,
    **_LENGTHS,
    **_AGES,
    **_WAITS,
    **_COUNTS,
    "top": Head(NAMED, ("N",)),
    "top_mortality": Head(("dx",), ("N", "DUR")),
    "survival": Head(("dx", "proc", "rx"), ("DUR",)),
    "percentile": Head(("lab", "vital"), ("V",)),
    "cost": Head(("dx", "proc", "rx", "lab")),
    "expand": Head(("item",)),
    "place": Head(("finding",)),
    "view": Head(("study",), order=True),
    "sex": Head(("study",), order=True),
}


@dataclass(frozen=True)
class FilterSpec:
    """A filter: ``slots`` of its arguments; ``event`` when an event in parentheses follows,
    ``window`` when a window may follow that, ``which`` when one of WHICH follows,
    ``finding`` when a finding in parentheses follows, ``at`` when ``at AT`` may follow,
    ``many`` when more values may follow, joined by ``or``."""

    kinds: tuple[str, ...]
    slots: tuple[str, ...] = ()
    event: bool = False
    window: bool = False
    which: bool = False
    finding: bool = False
    at: bool = False
    many: bool = False


_ALL = tuple(k for k in KINDS if k not in (*IMAGE, "item"))
# What happens to a patient at a time: what a relation may name, and a period may bound.
RELATED = tuple(k for k in _ALL if k != "person")
# Kinds of charge, by the kind of event that is billed.
CHARGES = {f"for_{kind}": kind for kind in ("dx", "proc", "rx", "lab")}
# The order of this table is the order in which filters are written.
FILTERS: dict[str, FilterSpec] = {
    **{name: FilterSpec(("bill",)) for name in CHARGES},
    "route": FilterSpec(("rx",), ("route",)),
    "of_specimen": FilterSpec(MICRO, ("specimen",)),
    "of_mtest": FilterSpec(MICRO, ("mtest",)),
    "from": FilterSpec(("admission", "discharge"), ("admloc",), many=True),
    "type": FilterSpec(("admission", "discharge"), ("admtype",), many=True),
    "to": FilterSpec(("admission", "discharge"), ("dischloc",), many=True),
    "insured": FilterSpec(("admission", "discharge"), ("insurance",), many=True),
    "speaks": FilterSpec(("admission", "discharge"), ("language",), many=True),
    "status": FilterSpec(("admission", "discharge"), ("marital",), many=True),
    "over": FilterSpec((*MEASURED, *STAYS), ("V",)),
    "under": FilterSpec((*MEASURED, *STAYS), ("V",)),
    "atleast": FilterSpec((*MEASURED, *STAYS), ("V",)),
    "atmost": FilterSpec((*MEASURED, *STAYS), ("V",)),
    "longer": FilterSpec(STAYS, ("DUR",)),
    "shorter": FilterSpec(STAYS, ("DUR",)),
    "died": FilterSpec(("admission", "discharge")),
    "alive": FilterSpec(("admission", "discharge")),
    "abnormal": FilterSpec(("lab", "vital")),
    "high": FilterSpec(("lab", "vital")),
    "low": FilterSpec(("lab", "vital")),
    "showing": FilterSpec(("study",), finding=True),
    "patient": FilterSpec(_ALL, ("pat",), many=True),
    "peers": FilterSpec(("lab", "vital")),
    "female": FilterSpec(_ALL),
    "male": FilterSpec(_ALL),
    "aged": FilterSpec(_ALL, ("AGED",)),
    "older": FilterSpec(_ALL, ("V",)),
    "younger": FilterSpec(_ALL, ("V",)),
    "aged_from": FilterSpec(_ALL, ("V",)),
    "aged_to": FilterSpec(_ALL, ("V",)),
    "current": FilterSpec(STAYS),
    "after": FilterSpec(RELATED, event=True, window=True),
    "before": FilterSpec(RELATED, event=True, window=True),
    "with": FilterSpec(RELATED, event=True, window=True),
    "without": FilterSpec((*RELATED, "person"), event=True, window=True),
    "notfollowed": FilterSpec(RELATED, event=True, window=True),
    "involving": FilterSpec((*RELATED, "person"), event=True),
    "followed": FilterSpec(("dx", "proc", "rx"), event=True),
    "visit": FilterSpec(RELATED, which=True),
    "icu": FilterSpec(RELATED, which=True),
    "in": FilterSpec(RELATED, ("DATE",)),
    "since": FilterSpec(RELATED, ("DATE",)),
    "before_date": FilterSpec(RELATED, ("DATE",)),
    "since_ago": FilterSpec(RELATED, ("DUR",)),
    "until_ago": FilterSpec(RELATED, ("DUR",)),
    "this_year": FilterSpec(RELATED, at=True),
    "last_year": FilterSpec(RELATED, at=True),
    "this_month": FilterSpec(RELATED, at=True),
    "last_month": FilterSpec(RELATED, at=True),
    "today": FilterSpec(RELATED),
    "yesterday": FilterSpec(RELATED),
    "times": FilterSpec(RELATED, ("N",)),
    "times_atleast": FilterSpec(RELATED, ("N",)),
}
FILTER_NAMES = tuple(FILTERS)

# What rows may be grouped by, and the kinds that have it.
GROUPS: dict[str, tuple[str, ...]] = {
    "patients": TIMED,
    "visits": VISITED,
    "name": (*NAMED, "bill"),
    "route": ("rx",),
    "careunit": ("transfer", "icustay"),
    "gender": (*TIMED, "person"),
    **dict.fromkeys(ADMISSION_HEADS, VISITED),
    **dict.fromkeys(PERIODS, TIMED),
}
GROUPED = (
    *("count", "count_patients", "count_visits", "count_names"),
    *(_MEASURES | _TOTALS | _LENGTHS | _AGES),
)
# With an order word: the first, last, ... of each group.
ORDERED = ("value", "time")
# What may stand side by side, one row an event, and the kinds that have it.
PAIRED: dict[str, tuple[str, ...]] = {
    **{h: HEADS[h].kinds for h in ("value", "time", "route", "unit", "careunit", "length")},
    "name": (*NAMED, "bill"),
    **dict.fromkeys(("gender", "birth", "deathdate", "patients"), (*TIMED, "person")),
    **dict.fromkeys((*ADMISSION_HEADS, "visits"), VISITED),
}
MOST_PAIRED = 3


def common(heads: Sequence[str]) -> tuple[str, ...]:
    """The kinds that have every one of these columns."""
    return tuple(k for k in KINDS if all(k in PAIRED[h] for h in heads))


TIME_FILTERS = FILTER_NAMES[FILTER_NAMES.index("in") : FILTER_NAMES.index("times")]
RELATIONS = ("after", "before", "with", "without", "notfollowed", "involving", "followed")


def _lexemes() -> tuple[str, ...]:
    words = [ABSTAIN, "(", ")", *OPS, *HEADS, *PERIODS, *ORDERS, *EXTREMES, *KINDS, "not"]
    words += ["abnormality", "at", "of", "than", "previous", *COMPARISONS]
    words += [*FILTERS, *WINDOWS, *WHICH, *INTS, *REFS]
    words += ["also", "by", HOURS, *GROUPS, *CUTS, *HAVING, *FINISH]
    return tuple(dict.fromkeys(words))


LEXEMES = _lexemes()
