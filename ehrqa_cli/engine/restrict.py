"""What a question restricts beside what the model reads, put into the form that the model wrote."""

from __future__ import annotations

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.logical_form import Filter, Form, Lit, Select
from ehrqa_cli.logical_form.form import events, map_events, map_selects
from ehrqa_cli.logical_form.grammar import FILTERS
from ehrqa_cli.logical_form.normalise import with_filter


def restricted(form: Form, linked: LinkedQuestion) -> Form:
    """The form with all that the question restricts. Raises FormError where it has no place."""
    for link in linked.restrictions:
        form = _with(form, link)
    return form


def _with(form: Form, link: Link) -> Form:
    """The form with one restriction, at the outermost event of each select that can have it."""
    name, value = link.types[0], str(link.value)
    args = (Lit(value, link.concepts[0] if link.concepts else None),)
    said = Filter(name, args if FILTERS[name].slots else ())

    def limit(select: Select) -> Form:
        inside = events(select.event)
        place = next((event for event in inside if event.kind in FILTERS[name].kinds), None)
        if place is None:
            raise FormError(
                f"nothing that was found in the question can be {name} {value}",
                "ask the question in other words",
            )
        return map_events(select, lambda e: with_filter(e, said) if e == place else e)

    return map_selects(form, limit)
