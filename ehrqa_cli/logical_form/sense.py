"""Forms that are well formed and still say nothing: the question was misread."""

from __future__ import annotations

from ehrqa_cli.logical_form.form import Combine, Event, Form, Group, Select

# The filter that leaves a group's key only one value.
_FIXES = {
    "patients": ("patient",),
    "gender": ("female", "male"),
    "insurance": ("insured",),
    "language": ("speaks",),
    "marital": ("status",),
    "admission_type": ("type",),
    "admission_location": ("from",),
    "discharge_location": ("to",),
    "route": ("route",),
}


def flaw(form: Form) -> str | None:
    """What makes the form idle, as a short phrase; None for a form that can tell something."""
    if isinstance(form, Combine):
        if form.left == form.right:
            return "it compares a thing with itself"
        return flaw(form.left) or flaw(form.right)
    if isinstance(form, Select) and form.group and _one_group(form.event, form.group):
        return "it groups by what is the same for all"
    return None


def _one_group(event: Event, group: Group) -> bool:
    fixing = event.get(*_FIXES.get(group.key, ()))
    if fixing is not None:
        return len(fixing.args) <= 1
    named = event.items is not None and len(event.items.args) == 1
    return named and group.key == {"transfer": "careunit"}.get(event.kind, "name")
