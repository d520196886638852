"""One way to say each thing: equal forms are made identical before they are printed."""

from __future__ import annotations

from dataclasses import replace

from ehrqa_cli.logical_form.form import Combine, Compare, Event, Filter, Form, Select
from ehrqa_cli.logical_form.grammar import FILTER_NAMES, HEADS


def normalise(form: Form) -> Form:
    """The canonical form with the same meaning."""
    if isinstance(form, Combine):
        return Combine(form.op, normalise(form.left), normalise(form.right))
    if isinstance(form, Compare):
        return Compare(normalise(form.form), form.sign, form.limit)
    if not isinstance(form, Select):
        return form
    rule = _RULES.get(HEADS[form.head].normal)
    return rule(form) if rule else form


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
    filters = [*event.without(item.name).filters, item]
    return replace(event, filters=tuple(sorted(filters, key=_place)))


def _place(item: Filter) -> int:
    return FILTER_NAMES.index(item.name)
