"""One way to say each thing: equal forms are made identical before they are printed."""

from __future__ import annotations

from dataclasses import replace

from ehrqa_cli.logical_form.form import Combine, Event, Filter, Form, Select
from ehrqa_cli.logical_form.grammar import ADMISSION_HEADS, FILTER_NAMES

# "the age on the last hospital visit" and "the age at the last admission" are one.
_OF_ONE_STAY = (*ADMISSION_HEADS, "length", "time", "careunit", "days_since", "hours_since")


def normalise(form: Form) -> Form:
    """The canonical form with the same meaning."""
    if isinstance(form, Combine):
        return Combine(form.op, normalise(form.left), normalise(form.right))
    if not isinstance(form, Select):
        return form
    head, event = form.head, form.event
    if head == "count_visits" and event.kind in ("admission", "icustay"):
        head = "count"
    if head in _OF_ONE_STAY:
        event = _visit_as_order(event)
    elif head in ("exists", "none"):
        event = _order_as_visit(event)
    return replace(form, head=head, event=event)


def _visit_as_order(event: Event) -> Event:
    name = {"admission": "visit", "discharge": "visit", "icustay": "icu"}.get(event.kind)
    which = event.get(name) if name else None
    if name is None or which is None or which.which is None or event.get("patient") is None:
        return event
    event = event.without(name)
    if which.which == "current":
        return with_filter(event, Filter("current")) if event.kind != "discharge" else event
    if event.order is None:
        return replace(event, order=which.which)
    return event


def _order_as_visit(event: Event) -> Event:
    # "Was the first visit through the ER?" asks about the first visit, not about the first of
    # the visits through the ER.
    name = {"admission": "visit", "icustay": "icu"}.get(event.kind)
    if name is None or event.order is None or event.get("patient") is None or event.get(name):
        return event
    return with_filter(replace(event, order=None), Filter(name, which=event.order))


def with_filter(event: Event, item: Filter) -> Event:
    """The event with one more filter, at its place in the fixed order."""
    filters = [*event.without(item.name).filters, item]
    return replace(event, filters=tuple(sorted(filters, key=_place)))


def _place(item: Filter) -> int:
    return FILTER_NAMES.index(item.name)
