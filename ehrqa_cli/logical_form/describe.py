"""A form in plain English, for the person who has to check it."""

from __future__ import annotations

import calendar
import re
from dataclasses import replace

from ehrqa_cli.logical_form.form import (
    ABNORMALITY,
    Arg,
    Combine,
    Compare,
    Event,
    Filter,
    Form,
    Group,
    Items,
    Lit,
    Ref,
    Select,
)
from ehrqa_cli.logical_form.grammar import (
    COLUMNS,
    COMPARISONS,
    CUTS,
    EXTREMES,
    FILTERS,
    FINISH,
    HAVING,
    HEADS,
    HOURS,
    JOINS,
    KEEPS,
    KINDS,
    MADE,
    OPS,
    ORDERS,
    PAIRED,
    PERIODS,
    STRUCTURE,
    WHICH,
    WINDOWS,
)
from ehrqa_cli.logical_form.word import EventKind

_MONTHS = {str(k): calendar.month_name[k] for k in range(1, 13)}


def describe(form: Form) -> str:
    """The form as an English phrase; references are shown as ``#n``."""
    if isinstance(form, Combine):
        both = f"({describe(form.left)}) {OPS[form.op].says} ({describe(form.right)})"
        cut = CUTS[form.cut].says.format(show(form.most)) if form.cut and form.most else ""
        return f"{both}, {cut}" if cut else both
    if isinstance(form, Compare):
        limit = HAVING[form.sign].says.format(show(form.limit))
        return f"whether ({describe(form.form)}) is {limit}"
    if not isinstance(form, Select):
        return STRUCTURE["abstain"].says
    kept = KEEPS[form.keep.which].says.format(show(form.keep.most)) if form.keep else ""
    said = _select(form) + _by(form.group) + (f", {kept}" if kept else "")
    return re.sub(r"\s+", " ", said).strip()


def _by(group: Group | None) -> str:
    if group is None:
        return ""
    key = COLUMNS[group.key].column
    further = "".join(f" and {COLUMNS[name].column}" for name in group.also)
    parts = [f", for each {key}{further}"]
    if group.cut and group.most is not None:
        parts.append(CUTS[group.cut].says.format(show(group.most)))
    if group.having and group.limit is not None:
        parts.append(HAVING[group.having].says.format(show(group.limit)))
    if group.finish:
        parts.append(FINISH[group.finish].says.format(keys=f"{key}s"))
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
    head, kind = HEADS[select.head], KINDS[select.event.kind]
    event = _event(select.event)
    unit = STRUCTURE[HOURS].says if select.per == HOURS else "days"
    if select.also and select.head in PAIRED:
        names = (_column(h, kind).format(unit=unit) for h in (select.head, *select.also))
        return f"{', '.join(names)} of {event}"
    if select.also:
        each = (_select(replace(select, head=h, also=())) for h in (select.head, *select.also))
        return "; ".join(each)
    noun = kind.noun or kind.says
    # "drugs among prescriptions" says nothing that "drugs" does not.
    limited = select.event.items or select.event.filters
    return head.says.format(
        *map(show, select.args),
        event=event,
        how=MADE[head.how].says if head.how else "",
        unit=unit,
        per=f" {PERIODS[select.per].says}" if select.per in PERIODS else "",
        named=kind.named,
        several=kind.several or f"{noun}s",
        among=f" among: {event}" if limited else "",
    )


def _column(name: str, kind: EventKind) -> str:
    of_film = name == "name" and kind.item == "study"
    return kind.named.removesuffix(" of") if of_film else COLUMNS[name].column


def _event(event: Event) -> str:
    order = ORDERS[event.order].says if event.order else ""
    extreme = EXTREMES[event.extreme].says if event.extreme else ""
    kind = KINDS[event.kind]
    encounter = _encounter(event)
    said = kind.says
    if encounter is not None and kind.of_kind:
        said = kind.of_kind.format(kind=encounter)
    if event.kind == "rx" and _beyond_orders(event.items):
        said = kind.noun
    name = f"{order} {extreme} {said}"
    if event.kind == "finding":
        name = _finding(event.items, event.places)
    elif event.items:
        name += " " + _items(event.items)
    if event.comparison:
        name += " " + COMPARISONS[event.comparison].says
    if event.of:
        name += f" in the {_event(event.of)}"
    if isinstance(event.than, Event):
        name += f" compared to the {_event(event.than)}"
    elif event.than:
        name += f" compared to {STRUCTURE[event.than].says}"
    told = bool(kind.of_kind or event.get("visit"))  # with the event, or its visit
    filters = [f for f in event.filters if f.name != "encounter" or (encounter and not told)]
    return ", ".join([name, *(_filter(f, encounter) for f in filters)])


def _related(event: Event) -> str:
    """The other event of a relation, in brackets where its own filters would run into the rest."""
    said = _event(event)
    return f"({said})" if ", " in said else said


def _beyond_orders(items: Items | None) -> bool:
    """Whether a drug's name stands for more than orders of it."""
    args = items.args if items else ()
    meant = (arg.concept for arg in args if isinstance(arg, Lit))
    return any(i.table != "prescriptions" for c in meant if c is not None for i in c.items)


def _encounter(event: Event) -> str | None:
    """The kinds of encounter an event is limited to, as an adjective; "": any; None: unsaid."""
    item = event.get("encounter")
    if item is None:
        return None
    kinds = [show(arg) for arg in item.args]
    return "" if "any" in kinds else f" {JOINS['or'].says} ".join(kinds) + " "


def _items(items: Items) -> str:
    if items == ABNORMALITY:
        return STRUCTURE["abnormality"].says
    words = [*(["other than"] if items.other else []), show(items.args[0])]
    for op, arg in zip(items.ops, items.args[1:], strict=True):
        words += [JOINS[op].says, show(arg)]
    return " ".join(words)


def _finding(items: Items | None, places: Items | None) -> str:
    found = _items(items) if items else ""
    return f"{found} in {_items(places)}" if places else found


def _filter(item: Filter, encounter: str | None = None) -> str:
    spec, args = FILTERS[item.name], [show(a) for a in item.args]
    if spec.many:
        args = [f" {JOINS['or'].says} ".join(args)]
    if item.other and args:
        args[0] = f"other than {args[0]}"
    number = f" {args[0]}" if spec.which and args else ""
    if spec.slots == ("DATE",):
        args = [_MONTHS.get(args[0], args[0])]
    of_kind = spec.of_kind if encounter is not None else ""
    return (of_kind or spec.says).format(
        *args,
        kind=encounter,
        event=_related(item.event) if item.event else "",
        query=f"({describe(item.query)})" if item.query else "",
        window=" ".join(WINDOWS[w].says.format(*args) for w in (item.window, item.tie) if w),
        finding=_finding(item.items, item.places),
        which=WHICH[item.which].says if item.which else "",
        at=f", at {args[0]}" if spec.at and args else "",
    ) + number
