"""What the names of a question were taken to mean, told with the answer: it can be checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ehrqa_cli.concepts.told import how_many
from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.contracts.errors import FormError
from ehrqa_cli.contracts.types import LinkedQuestion
from ehrqa_cli.engine.question_run import Reading
from ehrqa_cli.logical_form import Event, Form, Lit, Ref, Select
from ehrqa_cli.logical_form.compile.layout import concepts, members, turned_units
from ehrqa_cli.logical_form.form import Arg, map_args, map_events, map_selects, selects
from ehrqa_cli.logical_form.grammar import HEADS

SHOWN = 5
_NOUNS = {"dx": "codes", "proc": "codes and items", "drug": "names", "lab": "tests"}
_RECKONED = frozenset({"sum", "avg", "max", "min", "median"})
# How the rows of a drug came to be, by their table.
_COUNTED = {"prescriptions": "ordered", "emar": "administered", "inputevents": "infused"}


def fitted(bound: Form) -> Form:
    """The bound form with what its heads ask of a concept: a dose is that of an order, unless it
    was asked what was given; a route always is. Raises FormError for a route of what was given."""
    bound = map_events(bound, _routed)

    def fit(select: Select) -> Select:
        event = select.event
        if event.kind != "rx" or event.items is None:
            return select
        if select.head in ("sum", "avg") and _twice(event):
            told = "a dose that was administered and infused may stand in both records"
            raise FormError(told, "ask for the amount infused, or for each dose")
        if not HEADS[select.head].of_item:
            return select
        args = tuple(_of_table(arg, "prescriptions") for arg in event.items.args)
        return replace(select, event=replace(event, items=replace(event.items, args=args)))

    return map_selects(bound, fit)


def _twice(event: Event) -> bool:
    """Whether one dose may be counted twice: by the emar and by the pump."""
    tables = members(event).keys()
    return tables >= {"emar", "inputevents"} and "prescriptions" not in tables


def _routed(event: Event) -> Event:
    if event.kind != "rx" or event.items is None or event.get("route") is None:
        return event
    args = tuple(_of_table(arg, "prescriptions") for arg in event.items.args)
    ordered = replace(event, items=replace(event.items, args=args))
    if members(ordered).keys() - {"prescriptions"}:
        raise FormError(
            "records of what was given do not say the route", "ask what was ordered or prescribed"
        )
    return ordered


def _of_table(arg: Arg, table: str) -> Arg:
    if not isinstance(arg, Lit) or arg.concept is None:
        return arg
    items = tuple(item for item in arg.concept.items if item.table == table)
    return replace(arg, concept=replace(arg.concept, items=items)) if items else arg


def several(bound: Form) -> Concept | None:
    """A concept of which one value is asked though it is several things, as blood pressure is."""
    for select in selects(bound):
        for concept in concepts(select.event) if HEADS[select.head].of_item else ():
            if concept.several and len({item.name for item in concept.items}) > 1:
                return concept
    return None


def unlike(bound: Form) -> str | None:
    """What of intake is reckoned together though it is recorded in several units."""
    for select in selects(bound):
        if select.event.kind != "intake" or select.head not in _RECKONED or select.group:
            continue
        if select.event.items is None:
            return "all intake"
        meant = [*concepts(select.event)]
        if len({item.unit for concept in meant for item in concept.items if item.unit}) > 1:
            return ", ".join(concept.name for concept in meant)
    return None


def used(reading: Reading, linked: LinkedQuestion) -> Iterator[tuple[str, Concept]]:
    """(mention, concept) of what is counted under each name of the question."""
    found: dict[tuple[str, str], Concept] = {}
    for arg, meant in zip(_args(reading.form), _args(reading.bound), strict=True):
        if isinstance(arg, Ref) and isinstance(meant, Lit) and meant.concept is not None:
            link = linked.links[arg.n - 1]
            mention = linked.question[link.start : link.end]
            found.setdefault((mention, meant.concept.kind), meant.concept)
    yield from ((mention, concept) for (mention, _), concept in found.items())


def _args(form: Form) -> list[Arg]:
    found: list[Arg] = []

    def note(arg: Arg, _slot: str) -> Arg:
        found.append(arg)
        return arg

    map_args(form, note)
    return found


def as_json(mention: str, concept: Concept) -> dict[str, Any]:
    """The answer's entry for a concept: how many items it has here, and the first of them."""
    return {
        "mention": mention,
        "concept": concept.name,
        "kind": concept.kind,
        "about": concept.about,
        "members": len(concept.items),
        "shown": [
            {"table": i.table, "code": i.code, "name": i.name, "rows": i.rows}
            for i in sorted(concept.items, key=lambda item: -item.rows)[:SHOWN]
        ],
    }


def said(reading: Reading, linked: LinkedQuestion) -> str:
    """What was counted under each name that is not the one item's own, as sentences."""
    return " ".join(text for pair in used(reading, linked) if (text := _said(*pair)))


def _short(about: str) -> str:
    """The first parts of a definition."""
    parts = about.split(", ")
    return ", ".join(parts[:SHOWN]) + (", ..." if len(parts) > SHOWN else "")


def _said(mention: str, concept: Concept) -> str:
    items = concept.items
    names = list(dict.fromkeys(item.name for item in items))
    head = mention[:1].upper() + mention[1:]
    if not items:
        about = f" ({concept.about})" if concept.about else ""
        return f"Nothing in this record is {concept.name}{about}."
    if names == [mention.lower()] and concept.kind != "lab":
        return ""
    if concept.kind == "lab" and len(items) == 1:
        where = ", ".join(x.lower() for x in (items[0].specimen, items[0].category) if x)
        return f"{head}: {names[0]} ({where})." if where else ""
    ways = dict.fromkeys(_COUNTED[i.table] for i in items if i.table in _COUNTED)
    how = f", {' or '.join(ways)}" if concept.kind == "drug" and ways else ""
    if len(names) == 1:
        return f"{head}: “{names[0]}”{how}."
    units = dict.fromkeys(turned_units(items).values())
    how += f", in {' or '.join(units)}" if units else ""
    about = _short(concept.about) or "; ".join(names[:SHOWN]) + (
        "; ..." if len(names) > SHOWN else ""
    )
    return f"{head}: {how_many(concept)} {_NOUNS.get(concept.kind, 'items')} ({about}){how}."
