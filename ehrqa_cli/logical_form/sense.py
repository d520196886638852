"""Forms that are well formed and still say nothing: the question was misread."""

from __future__ import annotations

from ehrqa_cli.logical_form.form import (
    Combine,
    Compare,
    Event,
    Filter,
    Form,
    Group,
    Select,
    print_form,
)
from ehrqa_cli.logical_form.grammar import FILTERS


def flaw(form: Form) -> str | None:
    """What makes the form idle, as a short phrase; None for a form that can tell something."""
    if isinstance(form, Combine):
        if form.left == form.right:
            return "it compares a thing with itself"
        if _lopsided(form):
            return "it compares men and women, and not under the same conditions"
        return flaw(form.left) or flaw(form.right)
    if isinstance(form, Compare):
        return flaw(form.form)
    if not isinstance(form, Select):
        return None
    if form.group and _one_group(form.event, form.group):
        return "it groups by what is the same for all"
    if any(_itself(form.event, item) for item in form.event.filters):
        return "it relates a thing to itself"
    if any(len(set(item.args)) < len(item.args) for item in form.event.filters):
        return "it names a thing twice"
    return None


def _lopsided(form: Combine) -> bool:
    """Men on one side and women on the other, who are not counted alike."""
    left, right = (print_form(side).split() for side in (form.left, form.right))
    sides = {sex: side for side in (left, right) for sex in ("male", "female") if sex in side}
    if len(sides) < 2 or sides["male"] is sides["female"]:
        return False
    plain = [[word for word in side if word not in sides] for side in (left, right)]
    return plain[0] != plain[1]


def _itself(event: Event, item: Filter) -> bool:
    """``rx #1 with ( rx #1 )``: to be together with itself holds of all, or of none. One event
    after another of its kind is a repetition, and a window leaves those beside it."""
    inner = item.event
    if item.name not in ("with", "without") or item.window or inner is None:
        return False
    same = (inner.kind, inner.items, inner.order) == (event.kind, event.items, event.order)
    return same and set(inner.filters) <= set(event.filters)


def _one_group(event: Event, group: Group) -> bool:
    fixing = event.get(*(name for name, spec in FILTERS.items() if spec.fixes == group.key))
    if fixing is not None:
        return len(fixing.args) <= 1
    named = event.items is not None and len(event.items.args) == 1 and event.kind != "finding"
    return named and group.key == {"transfer": "careunit"}.get(event.kind, "name")
