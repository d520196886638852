"""What a question restricts beside what the model reads, put into the form that the model wrote."""

from __future__ import annotations

import re
from dataclasses import replace

from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.types import Link, LinkedQuestion
from ehrqa_cli.logical_form import Event, Filter, Form, Items, Lit, Select
from ehrqa_cli.logical_form.form import events, map_events, map_selects
from ehrqa_cli.logical_form.grammar import FILTERS
from ehrqa_cli.logical_form.normalise import with_filter

_GREW = re.compile(r"\b(?:positive|grew|grow(?:s|n|ing|th)?|turned up)\b")
_IN_HOSPITAL = re.compile(
    r"\b(?:in[- ](?:the )?hospital|during (?:their|the|an?|his|her) (?:hospital )?(?:stay|admission"
    r"|hospitali[sz]ation|visit))\b|\bin-?hospital (?:death|mortality)"
)
_CULTURED = {"specimen": "of_specimen", "mtest": "of_mtest"}


def restricted(form: Form, linked: LinkedQuestion) -> Form:
    """The form with all that the question restricts. Raises FormError where it has no place."""
    form = map_events(form, _same_culture)
    if _IN_HOSPITAL.search(linked.question.lower()):
        form = map_events(form, _died_there)
    if _GREW.search(linked.text.lower()):
        form = map_events(form, _grown)
    for link in linked.restrictions:
        form = _with(form, link)
    return form


def _died_there(event: Event) -> Event:
    """A death in hospital is an admission that ended in it."""
    if event.kind != "death":
        return event
    return with_filter(replace(event, kind="admission"), Filter("died"))


def _same_culture(event: Event) -> Event:
    """A culture with an organism is one of which that organism grew."""
    relation = event.get("with")
    other = relation.event if relation and not relation.window else None
    pair = {event.kind: event, other.kind: other} if other else {}
    grown, culture = pair.get("organism"), next((pair[k] for k in _CULTURED if k in pair), None)
    if relation is None or grown is None or culture is None or not _one(culture.items):
        return event
    rest = [f for e in (event, other) if e for f in e.filters if f is not relation]
    return _of(replace(grown, filters=tuple(rest)), culture)


def _grown(event: Event) -> Event:
    """A positive culture is one of which anything grew."""
    if event.kind not in _CULTURED or event.get("with") or not _one(event.items):
        return event
    return _of(replace(event, kind="organism", items=None), event)


def _one(items: Items | None) -> bool:
    return items is None or len(items.args) == 1


def _of(organism: Event, culture: Event) -> Event:
    if culture.items is None:
        return organism
    return with_filter(organism, Filter(_CULTURED[culture.kind], culture.items.args))


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
