"""One way to say each thing: equal forms are made identical before they are printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ehrqa_cli.logical_form.form import (
    Combine,
    Compare,
    Event,
    Filter,
    Form,
    Ref,
    Select,
    map_events,
)
from ehrqa_cli.logical_form.grammar import (
    CLASSES,
    FILTER_NAMES,
    HEADS,
    REFS,
    RELATIONS,
    STAYS,
    TIME_FILTERS,
    TIMED,
)
from ehrqa_cli.logical_form.word import expand


def normalise(form: Form) -> Form:
    """The canonical form with the same meaning."""
    if isinstance(form, Combine):
        return _as_one(replace(form, left=normalise(form.left), right=normalise(form.right)))
    if isinstance(form, Compare):
        return Compare(normalise(form.form), form.sign, form.limit)
    if not isinstance(form, Select):
        return form
    pairs = form.head in _OF_PAIRS

    def plain(event: Event) -> Event:
        return with_filters(event, (_plain(item, event, pairs) for item in event.filters))

    select = map_events(form, plain)
    assert isinstance(select, Select)
    select = replace(select, event=_left(select.event, select.head, grouped=bool(select.group)))
    rule = _RULES.get(HEADS[select.head].normal)
    return _either_way(_as_visits(_as_times(rule(select) if rule else select)))


_OF_PAIRS = ("name", "top")  # taken over pairs of rows, which a relation makes
_OF_PATIENTS = ("patients", "count_patients")
_DECIDING = {"after": "first", "after_end": "first", "before": "last"}
_PEOPLE = ("patient", "female", "male", "race")


def _plain(item: Filter, event: Event, pairs: bool) -> Filter:
    """After any of several is after the first of them; what is in the same visit as another event
    is in a visit with it."""
    if item.query is not None:
        return _of_listed(item, event)
    inner = item.event
    if inner is None:
        return item
    if item.window in (None, "beyond") and inner.order == _DECIDING.get(item.name, "none"):
        plain = not inner.extreme and inner.kind != "finding" and not item.tie
        return replace(item, event=replace(inner, order=None)) if plain else item
    if item.name == "with" and item.window == "samevisit" and not pairs:
        alone = event.get("icu", *TIME_FILTERS) is None and not (inner.order or inner.extreme)
        return replace(item, name="involving", window=None) if alone else item
    return item


def _left(event: Event, head: str, *, grouped: bool) -> Event:
    """Who was discharged somewhere, or after so long, had an admission that ended so, whenever that
    was; a death in a stay is an admission that ended in it."""
    if event.kind == "death" and head in _OF_STAYS and event.get("involving", "notinvolving"):
        return with_filter(replace(event, kind="admission"), Filter("died"))
    timed = event.order or event.get(*TIME_FILTERS, *RELATIONS)
    if event.kind != "discharge" or head not in _OF_STAYS or timed:
        return event
    ended = event.get("to", "died", "alive", *(() if grouped else ("longer", "shorter")))
    return replace(event, kind="admission") if ended else event


def _of_listed(item: Filter, event: Event) -> Filter:
    """To be among the patients with something is to have it."""
    query = item.query
    if not isinstance(query, Select) or query.head != "patients" or query.group or query.keep:
        return item
    other = query.event
    fixed = (other.order, other.extreme, other.get("visit", "icu", "current", *_PEOPLE))
    if any(fixed) or other.get("times", "times_atleast") or other.kind not in TIMED:
        return item
    if item.name == "notamong":
        return Filter("without", event=other)
    shared = event.get("visit", "icu", *TIME_FILTERS) and not other.get(*TIME_FILTERS)
    return item if shared else Filter("with", event=other)


_OF_STAYS = ("exists", "none", "count", "count_patients", "patients")


def _either_way(select: Select) -> Select:
    """Patients with two things: the one that is named first is asked about."""
    event = select.event
    relations = [item for item in event.filters if item.event]
    if select.head not in _OF_PATIENTS or select.group or len(relations) != 1:
        return select
    (item,) = relations
    inner = item.event
    if item.name not in ("with", "involving") or item.window or inner is None:
        return select
    people = tuple(f for f in event.filters if f.name in _PEOPLE)
    own = tuple(f for f in event.filters if f.name not in _PEOPLE and f is not item)
    both = (*own, *inner.filters)
    fixed = any(f.event or f.query or f.name in _DATED for f in both)
    ordered = event.order or event.extreme or inner.order or inner.extreme
    if fixed or ordered or inner.get(*_PEOPLE) or not _first(inner) < _first(event):
        return select
    asked = replace(item, event=replace(event, filters=own))
    return replace(select, event=with_filters(inner, (*inner.filters, *people, asked)))


def _as_times(select: Select) -> Select:
    """Patients with a number of events, by a filter rather than by groups."""
    group, head = select.group, {"keys": "patients", "count": "count_patients"}
    name = _TIMES.get(group.having or "") if group else None
    if group is None or group.limit is None or name is None or group.finish not in head:
        return select
    plain = select.head == "count" and group.key == "patients" and not (group.cut or group.also)
    if not plain or select.also or select.per or select.event.kind in ("person", "study"):
        return select
    times = Filter(name, (group.limit,))
    event = with_filters(select.event, (*select.event.filters, times))
    return Select(head[group.finish], event)


_TIMES = {"atleast": "times_atleast", "exactly": "times"}


def _as_visits(select: Select) -> Select:
    """Admissions with something are the visits with it; the visits with it in which an admission
    is so and so are such admissions."""
    event = select.event
    relations = [item for item in event.filters if item.event or item.query]
    if len(relations) != 1 or select.group or select.also or relations[0].name != "involving":
        return select
    (item,) = relations
    inner = item.event
    if inner is None or inner.order or inner.extreme or event.order or event.extreme:
        return select
    rest = tuple(f for f in event.filters if f is not item)
    plain = all(f.name in _PEOPLE for f in rest) and not inner.get(*_PEOPLE)
    of_admissions = select.head == "count" and event.kind == "admission"
    if of_admissions and inner.kind in _IN_VISITS and plain:
        return Select("count_visits", with_filters(inner, (*inner.filters, *rest)))
    if select.head == "count_visits" and inner.kind == "admission" and event.kind in _IN_VISITS:
        asked = replace(item, event=replace(event, filters=rest))
        return Select("count", with_filters(inner, (*inner.filters, asked)))
    return select


_IN_VISITS = (*STAYS[1:], *expand("named", CLASSES))
_DATED = ("visit", "icu", "current", "times", "times_atleast", *TIME_FILTERS)
_DATED += ("aged", "older", "younger", "aged_from", "aged_to", "outside", "encounter")


def _first(event: Event) -> int:
    """The number of the first reference of an event's items; more than any without one."""
    refs = (a.n for a in (event.items.args if event.items else ()) if isinstance(a, Ref))
    return min(refs, default=len(REFS) + 1)


def _as_one(form: Combine) -> Form:
    """Patients that are in both of two lists have both things."""
    left, right = form.left, form.right
    if form.op != "intersect" or not (isinstance(left, Select) and isinstance(right, Select)):
        return form
    plain = all(s.head == "patients" and not (s.group or s.keep or s.also) for s in (left, right))
    when = [{f for f in s.event.filters if f.name in TIME_FILTERS} for s in (left, right)]
    whose = [{f for f in s.event.filters if f.name in _PEOPLE} for s in (left, right)]
    ordered = left.event.order or left.event.extreme or left.event.get("visit", "icu")
    if not plain or when[0] != when[1] or whose[0] != whose[1] or ordered:
        return form
    other = right.event.without(*TIME_FILTERS, *_PEOPLE)
    asked = Filter("with", event=other)
    return normalise(replace(left, event=with_filters(left.event, (*left.event.filters, asked))))


def _count_of_stays(select: Select) -> Select:
    """The visits with an admission are the admissions."""
    of_stays = select.event.kind in ("admission", "icustay")
    return replace(select, head="count") if of_stays else select


def _visit_as_order(select: Select) -> Select:
    """ "The age on the last hospital visit" and "the age at the last admission" are one."""
    event = select.event
    name = {"admission": "visit", "discharge": "visit", "icustay": "icu"}.get(event.kind)
    which = event.get(name) if name else None
    if name is None or which is None or which.which is None or event.get("patient") is None:
        return select
    event = event.without(name)
    if which.which != "current":
        event = replace(event, order=event.order or which.which)
    elif event.kind != "discharge":
        event = with_filter(event, Filter("current"))
    return replace(select, event=event)


def _order_as_visit(select: Select) -> Select:
    """ "Was the first visit through the ER?" asks about the first visit, not about the first of
    the visits through the ER."""
    event = select.event
    name = {"admission": "visit", "icustay": "icu"}.get(event.kind)
    if name is None or event.order is None or event.get("patient") is None or event.get(name):
        return select
    visit = Filter(name, which=event.order)
    return replace(select, event=with_filter(replace(event, order=None), visit))


# By the name under which heads ask for them.
_RULES = {"count": _count_of_stays, "stay": _visit_as_order, "visit": _order_as_visit}


def with_filter(event: Event, item: Filter) -> Event:
    """The event with one more filter, at its place in the fixed order."""
    return with_filters(event, (*event.without(item.name).filters, item))


def with_filters(event: Event, filters: Iterable[Filter]) -> Event:
    """The event with these filters, in their fixed order."""
    return replace(event, filters=tuple(sorted(filters, key=_place)))


def _place(item: Filter) -> int:
    return FILTER_NAMES.index(item.name)
