"""Slips of the model that the question itself mends.

Only where a name or a measure of the question would else be left out, and where there is one way
to put it in.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.logical_form import Event, Form, Items, Ref, Select, used_links
from ehrqa_cli.logical_form.grammar import HEADS, KINDS, RELATIONS

_KIND_OF = {spec.item: kind for kind, spec in KINDS.items() if spec.item}
_VISITS = re.compile(
    r"\b(?:in|during|on|for) how many (?:different |separate )?(?:hospital )?"
    r"(?:admissions|hospitali[sz]ations|visits|stays|encounters)\b"
)
# A number is asked for, and nothing says that it is of each of something.
_NUMBER = re.compile(r"how many (?:different |distinct )?(?:patients|people|admissions|visits)\b")
_EACH = re.compile(r"\b(?:by|per|each|every|broken|split|grouped|respectively|for all|across)\b")


def repaired(form: Form, linked: LinkedQuestion) -> Form:
    """The form with the name that it leaves out where it relates an event to itself, and with
    admissions counted where these are asked for."""
    if not isinstance(form, Select):
        return form
    form = _other_name(replace(form, event=_of_itself(form.event)), linked)
    if form.group and _plain_group(form) and _NUMBER.match(linked.text.lower()):
        form = form if _EACH.search(linked.text.lower()) else replace(form, group=None)
    visits = HEADS["count_visits"].kinds
    if form.head == "count" and form.event.kind in visits and _VISITS.search(linked.text.lower()):
        return replace(form, head="count_visits")
    return form


def _plain_group(form: Select) -> bool:
    group = form.group
    return bool(group and not (group.cut or group.having or group.finish))


def _of_itself(event: Event) -> Event:
    """Of drugs together with antibiotics: antibiotics."""
    relation = event.get("with")
    inner = relation.event if relation and not relation.window else None
    if inner is None or event.items or inner.kind != event.kind or inner.filters:
        return event
    return replace(event.without("with"), items=inner.items)


def _other_name(form: Select, linked: LinkedQuestion) -> Select:
    unused = [
        (number, kind)
        for number, link in enumerate(linked.links, 1)
        if number not in used_links(form) and (kind := _KIND_OF.get(link.types[0]))
    ]
    relation = form.event.get(*RELATIONS)
    if len(unused) != 1 or relation is None or relation.event is None:
        return form
    main = replace(form.event, filters=tuple(f for f in form.event.filters if f is not relation))
    if replace(relation.event, filters=()) != replace(main, filters=()):
        return form
    number, kind = unused[0]
    other = replace(relation, event=Event(kind, items=Items((Ref(number),))))
    filters = tuple(other if f is relation else f for f in form.event.filters)
    return replace(form, event=replace(form.event, filters=filters))
