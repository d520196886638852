"""Numbers with units: turned into the unit in which the record has what they are compared with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ehrqa_cli.concepts.units import convert, find_unit, same
from ehrqa_cli.contracts.concepts import Concept
from ehrqa_cli.contracts.types import Link
from ehrqa_cli.logical_form.compile.layout import turned_units

_MEASURED = frozenset({"lab", "vital", "intake", "output"})
_TO = re.compile(r"\s*(?:-|to|and|or)\s*")
Span = tuple[int, int]


def in_recorded_units(
    text: str, links: Sequence[Link]
) -> tuple[list[Link], list[Span], list[Span]]:
    """The links with their numbers in the units of the record, where the units stand that need not
    be read any more, and those numbers that cannot be converted."""
    found: list[Link] = []
    read: list[Span] = []
    unread: list[Span] = []
    for link in links:
        unit = _unit_of(text, link, links) if link.types == ("num",) else None
        concept = _compared(link, links) if unit else None
        asked = _asked_in(text, link)
        if unit and concept and isinstance(link.value, (int, float)):
            value = _converted(float(link.value), unit[0], concept)
            own = unit[1] > link.end
            if value is None:
                unread += [(link.start, unit[1])] if own else []
            else:
                link = replace(link, value=value)
                read += [(link.end, unit[1])] if own else []
        elif asked:
            link = replace(link, concepts=(asked[0],))
            read.append((link.end, asked[1]))
        found.append(link)
    return found, read, unread


def _unit_of(text: str, number: Link, links: Sequence[Link]) -> tuple[str, int] | None:
    """The unit of a number and where it ends; of the lower end of a range that of the upper."""
    unit = find_unit(text, number.end)
    for upper in links:
        joined = upper.types == ("num",) and _TO.fullmatch(text[number.end : upper.start])
        if unit is None and joined and (found := find_unit(text, upper.end)):
            return found[0], number.end
    return unit


def _compared(number: Link, links: Sequence[Link]) -> Concept | None:
    """What a number is compared with: the measured thing that stands nearest, rather before it."""
    near = [
        (number.start - link.end if link.end <= number.start else 2 * (link.start - number.end), c)
        for link in links
        for c in link.concepts
        if c.kind in _MEASURED
    ]
    return min(near, key=lambda pair: pair[0])[1] if near else None


def _converted(value: float, unit: str, concept: Concept) -> float | int | None:
    here = _unit(concept)
    if not here or same(unit, here):
        return int(value) if value == int(value) else value
    found = convert(value, unit, here, concept.name)
    return None if found is None else float(f"{found:.6g}")


def _unit(concept: Concept) -> str:
    """The unit in which a concept's values are read: where they differ that of the ward."""
    units = dict.fromkeys(item.unit for item in concept.items if item.unit)
    here = next(iter(units), "")
    return turned_units(concept.items).get(here, here)


def _asked_in(text: str, link: Link) -> tuple[Concept, int] | None:
    """The concept with the items of the unit in which its value is asked for ("weight in pounds"),
    and where that unit ends."""
    if not link.concepts or link.concepts[0].kind not in _MEASURED:
        return None
    concept = link.concepts[0]
    start = text.find(" in ", link.end, link.end + 4)
    unit = find_unit(text, start + 3) if start == link.end else None
    if unit is None:
        return None
    items = tuple(item for item in concept.items if item.unit and same(item.unit, unit[0]))
    return (replace(concept, items=items), unit[1]) if items else None
