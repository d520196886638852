"""The words of the logical form and where each may stand, as tables.

They are read from words/*.toml, one entry a word. Everything else in this room (parser, printer,
decoding machine, description, compiler) reads these tables, so that a construct is added in one
place. docs/logical-form.md is the same for people.
"""

from __future__ import annotations

from collections.abc import Sequence

from ehrqa_cli.logical_form.word import (
    EventKind,
    FilterSpec,
    Head,
    Particle,
    entries,
    expand,
    read,
)

REFS = tuple(f"#{k}" for k in range(1, 17))
INTS = tuple(str(k) for k in range(1, 11))

# Types of a reference, in the one fixed order in which several are written.
TYPES = (
    *("pat", "study", "year", "ym", "ymd", "md", "stamp", "num", "dur", "agegrp"),
    *("drug", "lab", "dx", "proc", "intake", "output", "vital", "specimen", "mtest", "organism"),
    *("careunit", "route", "admloc", "admtype", "dischloc", "insurance", "language", "marital"),
    *("abbrev", "attr", "obj", "cat", "mon", "quarter", "dow", "race", "service"),
    *("adm", "stay"),
)

# Filters that the linker finds and no model writes: "MRSA" is resistant to methicillin.
RESTRICTIONS = ("resistant", "outside")
# What a slot accepts. Numbers may also be one of INTS; relative dates keep their own words.
SLOTS: dict[str, tuple[str, ...]] = {
    "N": ("num",),
    "V": ("num", "dur"),  # a length may be over either
    "DUR": ("dur",),
    "H": ("num", "dur"),
    "DATE": ("year", "ym", "ymd", "stamp", "md", "mon", "quarter"),
    "AT": ("num", "md", "mon"),
    "FINDING": ("attr", "cat"),
    "PLACE": ("obj",),
    "AGED": ("agegrp",),
    "encounter": ("encounter",),  # no value of a question: a kind of encounter, by its name
    **dict.fromkeys(("resistant", "susceptible"), ("drug",)),
    "outside": ("outside",),
    **{t: (t,) for t in TYPES},
}
# The kind of concept that a slot needs, where it is not the type of its links.
CONCEPTS = dict.fromkeys(("resistant", "susceptible"), ("antibiotic",))
INT_SLOTS = frozenset({"N", "H"})


_READ = {name: read(name) for name in ("kinds", "heads", "filters", "particles")}
CLASSES: dict[str, str] = _READ["kinds"]["classes"]


def _particles(name: str) -> dict[str, Particle]:
    return entries(Particle, _READ["particles"][name], CLASSES)


KINDS = entries(EventKind, _READ["kinds"]["kinds"], CLASSES)
IMAGE, STAYS, TIMED, FILMS = (
    expand(name, CLASSES) for name in ("image", "stays", "timed", "films")
)
HEADS = entries(Head, _READ["heads"], CLASSES)
# The order of this table is the order in which filters are written.
FILTERS = entries(FilterSpec, _READ["filters"], CLASSES)
FILTER_NAMES = tuple(FILTERS)
RELATIONS = tuple(name for name, spec in FILTERS.items() if spec.event)
# A form may have several of these: "after the one and before the other".
REPEATED = frozenset({*RELATIONS, "among", "notamong", "showing", "notshowing"} - {"followed"})
TIME_FILTERS = tuple(n for n, spec in FILTERS.items() if spec.sql in ("date", "ago", "relative"))
OPS = _particles("ops")
SETS = ("except", "union", "intersect")
PERIODS = _particles("periods")
ORDERS = _particles("orders")
EXTREMES = _particles("extremes")
WHICH = {**ORDERS, **_particles("which")}
WINDOWS = _particles("windows")
SPANS = frozenset(name for name, spec in WINDOWS.items() if "{0}" in spec.says)
TIES = ("samevisit", "samestay")  # may follow a span: near it, and in the same stay
COMPARISONS = _particles("comparisons")
# Grouping: which groups are kept by their number, and what is shown or made of the numbers.
CUTS = _particles("cuts")
HAVING = {name: spec for name, spec in FILTERS.items() if spec.having}
FINISH = _particles("finish")
KEYS = _particles("keys")  # of groups, beside the heads and the periods
KEEPS = _particles("keeps")  # the newest, oldest, highest, lowest rows
MADE = _particles("made")  # what can be made of numbers
JOINS = _particles("joins")  # of several values
STRUCTURE = _particles("structure")
HOURS = "in_hours"
ABSTAIN = "abstain"

COLUMNS: dict[str, Head | Particle] = {
    **{name: head for name, head in HEADS.items() if head.column},
    **PERIODS,
    **KEYS,
}
# What rows may be grouped by, and the kinds that have it.
GROUPS = {name: spec.groups for name, spec in COLUMNS.items() if spec.groups}
GROUPED = tuple(name for name, head in HEADS.items() if head.measure)
# With an order word: the first, last, ... of each group.
ORDERED = tuple(name for name, head in HEADS.items() if head.nth)
# What may stand side by side, one row an event, and the kinds that have it.
PAIRED = {name: head.columns or head.kinds for name, head in HEADS.items() if head.column}
MOST_PAIRED = 4
MOST_KEYS = 3


def windows_of(name: str) -> tuple[str, ...]:
    """The windows that a relation may have."""
    wanted = FILTERS[name].window
    inside = "inside" if wanted == "inside" else ""
    return tuple(w for w, spec in WINDOWS.items() if wanted and spec.part == inside)


def ties_of(window: str | None) -> tuple[str, ...]:
    """The windows that may follow this one."""
    return TIES if window in ("within", "beyond") else ()


def inner_kinds(name: str) -> tuple[str, ...]:
    """The kinds of event that a relation may be to."""
    return FILTERS[name].inner or TIMED


def measurable(heads: Sequence[str]) -> tuple[str, ...]:
    """The kinds of which every one of these measures can be taken."""
    return tuple(k for k in KINDS if all(k in HEADS[h].kinds for h in heads))


def common(heads: Sequence[str]) -> tuple[str, ...]:
    """The kinds that have every one of these columns."""
    return tuple(k for k in KINDS if all(k in PAIRED[h] for h in heads))


def _lexemes() -> tuple[str, ...]:
    words = [ABSTAIN, "(", ")", *OPS, *HEADS, *PERIODS, *ORDERS, *EXTREMES, *KINDS, "not"]
    words += ["abnormality", "at", "of", "than", "previous", *COMPARISONS]
    words += [*FILTERS, *WINDOWS, *WHICH, *INTS, *REFS]
    words += ["also", "by", HOURS, *GROUPS, *KEEPS, *HAVING, *FINISH]
    return tuple(dict.fromkeys(words))


LEXEMES = _lexemes()
